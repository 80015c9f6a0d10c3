import BluetoothCore
import CLinux
import DaemonControl
import Glibc
import HCITransport
import LockPeripheral
import LockPersistence
import LockProtocol
import StatePersistence

/// What the lock does for its door when its daemon cannot run: without a radio by the rules of every launch, and without a
/// disk by ``UnrecordedSecuring``.
struct BoltDuty {
    let plan: DaemonPlan
    let travelMilliseconds: UInt64

    func makeBolt() throws -> SimulatedBolt {
        SimulatedBolt(journal: try boltJournal(), travelMilliseconds: travelMilliseconds)
    }

    /// A movement that a kill cut off, a relock that is due: written down like everything else.
    func settle(_ state: StateStore, _ boot: BootID, _ journal: EventJournal) throws {
        try UnattendedBolt.settle(
            store: SQLiteLockStore(state.database), actuator: try makeBolt(), boot: boot,
            surroundings: UnattendedBolt.Surroundings(
                moment: { LockMoment(now: SystemClock.now(), wallClockSeconds: WallClock.seconds()) },
                commit: { try state.database.commit([$0]) }, wait: Self.wait, observe: { journal.record($0) }))
    }

    /// The daemon ends with `error`. If it left the door to be secured, that is done now, and written down where that is
    /// possible.
    func secure(after error: any Error) {
        // Another daemon has the bolt.
        if error is ControlSocketError { return }
        guard let boot = SystemClock.bootIdentifier().map(BootID.init(bits:)),
            let journal = (try? EventJournal(log: plan.log, path: plan.journal))
                ?? (try? EventJournal(log: plan.log, path: nil))
        else { return }
        if Self.mayBeWritten(after: error), let state = try? plan.openState(),
            (try? settle(state, boot, journal)) != nil
        {
            return
        }
        do {
            _ = try UnrecordedSecuring.perform(
                try? SQLiteLockStore.duties(at: plan.database), boot: boot, makeActuator: makeBolt,
                surroundings: UnrecordedSecuring.Surroundings(
                    now: SystemClock.now, wait: Self.wait, observe: { journal.record($0) }))
        } catch {
            journal.record("bolt_not_secured", ["reason": .string(Failure(error).message)], level: .error)
        }
    }

    /// A disk that has just failed is not asked again before the door is secured.
    private static func mayBeWritten(after error: any Error) -> Bool {
        switch error as? StoreError {
        case .busy, .io, .full, .readOnly: false
        default: true
        }
    }

    private static func wait(until: Instant) {
        // poll waits whole milliseconds: rounded up, so that the instant has come.
        _ = poll(nil, 0, Int32(clamping: until.milliseconds(since: SystemClock.now()) + 1))
    }

    private func boltJournal() throws(Failure) -> BoltJournal {
        let path = plan.directory.boltJournal
        do {
            return try BoltJournal(path: path)
        } catch BoltJournal.Failure.damaged(let line) {
            throw Failure(
                .state, "bolt journal \(path) line \(line) is damaged: look where the bolt is, and move the file away")
        } catch BoltJournal.Failure.io(let call, let code) {
            throw Failure(.state, "bolt journal \(path): \(call): \(String(cString: strerror(code)))")
        } catch {
            throw Failure(.state, "bolt journal \(path): \(error)")
        }
    }
}
