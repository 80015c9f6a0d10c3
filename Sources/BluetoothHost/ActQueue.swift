import BluetoothCore
import DBus
import HCI
import SecurityManager

/// What an iteration asked for and does once it is on disk, in order. The packets lie behind each other in one storage
/// that is used again, so that an act costs no allocation of its own.
package struct ActQueue {
    private enum Entry {
        case command(octets: Int)
        case packet(octets: Int, ACLPacket)
        /// A packet of a link that has ended since. Its octets are skipped.
        case dropped(octets: Int)
        case bus(DBusAct, until: Instant?)
        case code(OutOfBandData, adapter: UInt16)
        case strength(DeviceAddress, adapter: UInt16)
        case controllerFailed(ControllerFailure, ControllerRemedy)
        case call(() -> Void)
    }

    /// What was not let go, since it would have left too late.
    enum Late {
        case packet(ACLPacket)
        case call(DBusCallID)
    }

    private enum Report {
        case notice(HostNotice)
        case call(() -> Void)
    }

    private var entries: [Entry] = []
    /// Words for people, behind everything that somebody waits for.
    private var reports: [Report] = []
    private var octets = ByteWriter()

    var isEmpty: Bool { entries.isEmpty && reports.isEmpty }

    mutating func append(command packet: [UInt8]) {
        octets.write(packet)
        entries.append(.command(octets: packet.count))
    }

    /// The next ACL packet that the controller has a buffer for. False when there is none.
    mutating func appendPacket(from controller: inout Controller, now: Instant) -> Bool {
        let start = octets.bytes.count
        guard let packet = controller.writeNextPacket(now: now, into: &octets) else { return false }
        entries.append(.packet(octets: octets.bytes.count - start, packet))
        return true
    }

    /// The link at `handle` is over: nothing of it may leave to the next link that a controller gives this handle.
    mutating func dropPackets(of handle: ConnectionHandle) {
        for index in entries.indices {
            if case .packet(let octets, let packet) = entries[index], packet.handle == handle {
                entries[index] = .dropped(octets: octets)
            }
        }
    }

    mutating func append(_ act: DBusAct, until: Instant?) { entries.append(.bus(act, until: until)) }

    mutating func append(code data: OutOfBandData, adapter: UInt16) { entries.append(.code(data, adapter: adapter)) }

    mutating func append(strengthOf peer: DeviceAddress, adapter: UInt16) {
        entries.append(.strength(peer, adapter: adapter))
    }

    mutating func append(_ failure: ControllerFailure, _ remedy: ControllerRemedy) {
        entries.append(.controllerFailed(failure, remedy))
    }

    mutating func append(_ notice: HostNotice) { reports.append(.notice(notice)) }

    mutating func append(report: @escaping () -> Void) { reports.append(.call(report)) }

    mutating func append(call: @escaping () -> Void) { entries.append(.call(call)) }

    /// In order, reports last. Ends early when `perform` throws. `clock` is read anew for whatever must not leave later than it says; what
    /// would goes to `late`.
    func forEach<E: Error>(
        clock: () -> Instant, late: (Late) -> Void, onNotice: ((HostNotice) -> Void)?,
        _ perform: (borrowing Host.Act) throws(E) -> Void
    ) throws(E) {
        var start = 0
        for entry in entries {
            switch entry {
            case .command(let count):
                try perform(.packet(octets.bytes.span.bytes.extracting(start..<start + count)))
                start += count
            case .dropped(let count): start += count
            case .packet(let count, let packet):
                #if LATCH_PLANTS
                let isInTime = packet.until.map { clock() < $0 } ?? true || Plant.active == .held
                #else
                let isInTime = packet.until.map { clock() < $0 } ?? true
                #endif
                if isInTime {
                    try perform(.packet(octets.bytes.span.bytes.extracting(start..<start + count)))
                } else {
                    late(.packet(packet))
                }
                start += count
            case .bus(let act, let until):
                if case .call(let id, _) = act, let until, clock() >= until {
                    late(.call(id))
                } else {
                    try perform(.bus(act))
                }
            case .code(let data, let adapter): try perform(.code(data, adapter: adapter))
            case .strength(let peer, let adapter): try perform(.strength(peer, adapter: adapter))
            case .controllerFailed(let failure, let remedy): try perform(.controllerFailed(failure, remedy))
            case .call(let call): try perform(.call(call))
            }
        }
        for report in reports {
            switch report {
            case .notice(let notice): try perform(.call { onNotice?(notice) })
            case .call(let call): try perform(.call(call))
            }
        }
    }

    mutating func removeAll() {
        entries.removeAll(keepingCapacity: true)
        reports.removeAll(keepingCapacity: true)
        octets.removeAll()
    }
}
