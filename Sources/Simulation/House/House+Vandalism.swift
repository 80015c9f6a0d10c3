import BluetoothCore
import LockPeripheral
import LockPersistence
import LockProtocol
import StatePersistence

/// What becomes of a lock whose disk somebody had in hands.
extension House {
    /// The guest's command afterwards opens nothing. Says what was broken.
    func broken(by vandalism: Vandalism) -> [String] {
        guard pockets.count > 1 else { return [] }
        let guest = pockets[1]
        do {
            switch vandalism {
            case .alteredRow:
                door.node.kill()
                try door.disk.alter("UPDATE lock_credential SET role = 1 WHERE role = 4")
            case .olderDatabase:
                let old = door.disk.copy()
                door.node.call { [unowned self] _ in _ = try? door.lock?.administer(guest.name, .removed) }
                agenda.run(milliseconds: 1_000)
                door.node.kill()
                door.disk.replace(with: old)
            }
        } catch {
            return ["\(vandalism): it could not be done: \(error)"]
        }
        agenda.run(milliseconds: downMilliseconds + 1_000)
        let before = door.metal.lines.count
        // A guest has no right to it, an owner would have.
        guest.ask(vandalism == .alteredRow ? .unlatch : .unlock, of: door, waitMilliseconds: 3_000)
        agenda.run(milliseconds: 6_000)
        let moved = door.metal.lines.dropFirst(before).filter { $0.line.movement != .lock }
        return moved.isEmpty ? [] : ["\(vandalism), and the lock opens for it"]
    }
}
