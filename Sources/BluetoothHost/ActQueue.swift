import BluetoothCore

/// What an iteration asked for and does once it is on disk, in order. The packets lie behind each other in one storage
/// that is used again, so that an act costs no allocation of its own.
package struct ActQueue {
    private enum Entry {
        case packet(octets: Int)
        case controllerFailed(ControllerFailure, ControllerRemedy)
        case call(() -> Void)
    }

    private var entries: [Entry] = []
    private var octets = ByteWriter()

    var isEmpty: Bool { entries.isEmpty }

    mutating func append(packet: [UInt8]) {
        octets.write(packet)
        entries.append(.packet(octets: packet.count))
    }

    /// `write` appends one whole packet; false says that it has appended none.
    mutating func appendPacket(_ write: (inout ByteWriter) -> Bool) -> Bool {
        let start = octets.bytes.count
        guard write(&octets) else { return false }
        entries.append(.packet(octets: octets.bytes.count - start))
        return true
    }

    mutating func append(_ failure: ControllerFailure, _ remedy: ControllerRemedy) {
        entries.append(.controllerFailed(failure, remedy))
    }

    mutating func append(call: @escaping () -> Void) { entries.append(.call(call)) }

    /// Ends early when `perform` throws.
    func forEach<E: Error>(_ perform: (borrowing Host.Act) throws(E) -> Void) throws(E) {
        var start = 0
        for entry in entries {
            switch entry {
            case .packet(let count):
                try perform(.packet(octets.bytes.span.bytes.extracting(start..<start + count)))
                start += count
            case .controllerFailed(let failure, let remedy): try perform(.controllerFailed(failure, remedy))
            case .call(let call): try perform(.call(call))
            }
        }
    }

    mutating func removeAll() {
        entries.removeAll(keepingCapacity: true)
        octets.removeAll()
    }
}
