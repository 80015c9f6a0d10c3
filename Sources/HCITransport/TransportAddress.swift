import BluetoothCore

/// Where a controller is, as configuration and command lines write it.
package enum TransportAddress: Hashable, Sendable {
    /// `unix:PATH`: H4 over a stream socket.
    case unix(path: String)
    /// `tcp:HOST:PORT`, the host as a number, IPv6 in brackets: H4 over TCP.
    case tcp(host: String, port: UInt16)
    /// `serial:DEVICE[,BAUD][,rtscts]`: H4 over a UART.
    case serial(device: String, baud: UInt32, flowControl: Bool)
    /// `hci:N`, `hci:ADDRESS` or `hci:usb-PORT`: an adapter of the kernel's, taken over through its user channel. With `,take` behind it
    /// it is taken even from a bluetoothd that has it up.
    case userChannel(AdapterName, takes: Bool)
    /// `fd:N`: a descriptor that whoever started this process opened.
    case inherited(Int32)

    package static let defaultBaud: UInt32 = 115_200
    private static let takeOption: Substring = "take"

    /// Reads an address in one of the forms above.
    ///
    /// - Throws: ``TransportError`` of the kind `malformedAddress`, which names the forms.
    package init(parsing text: String) throws(TransportError) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[1].isEmpty else { throw Self.malformed(text) }
        let rest = parts[1]
        let address: Self? =
            switch parts[0] {
            case "unix": rest.utf8.contains(0) ? nil : .unix(path: String(rest))
            case "tcp": Self.tcp(rest)
            case "serial": Self.serial(rest)
            case "hci": Self.adapter(rest)
            case "fd": Int32(digits: rest).map(Self.inherited)
            default: nil
            }
        guard let address else { throw Self.malformed(text) }
        self = address
    }

    /// The kernel's adapters, least number first.
    package static func adapters() -> [Self] { adapters(in: KernelAdapters.folder) }

    static func adapters(in folder: String) -> [Self] {
        KernelAdapters(in: folder).numbers().map { .userChannel(.number($0), takes: false) }
    }

    /// Whether it can be opened a second time: an inherited descriptor is gone once it is closed, and its number may be
    /// another file's.
    package var canReopen: Bool {
        switch self {
        case .unix, .tcp, .serial, .userChannel: true
        case .inherited: false
        }
    }

    private static func adapter(_ text: Substring) -> Self? {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard let name = AdapterName(parts[0]), parts.count == 1 || parts.dropFirst() == [takeOption] else {
            return nil
        }
        return .userChannel(name, takes: parts.count > 1)
    }

    private static func tcp(_ text: Substring) -> Self? {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(digits: text[text.index(after: colon)...]),
            port > 0
        else { return nil }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        // Brackets stand around a host, never in it.
        guard !host.isEmpty, !host.contains(where: { $0 == "[" || $0 == "]" }) else { return nil }
        return .tcp(host: String(host), port: port)
    }

    private static func serial(_ text: Substring) -> Self? {
        var options = text.split(separator: ",", omittingEmptySubsequences: false)
        let device = options.removeFirst()
        var baud = defaultBaud
        var flowControl = false
        if let first = options.first, first != "rtscts" {
            guard let value = UInt32(digits: first), value > 0 else { return nil }
            baud = value
            options.removeFirst()
        }
        if options.first == "rtscts" {
            flowControl = true
            options.removeFirst()
        }
        guard !device.isEmpty, options.isEmpty else { return nil }
        return .serial(device: String(device), baud: baud, flowControl: flowControl)
    }

    private static func malformed(_ text: String) -> TransportError {
        TransportError(
            .malformedAddress,
            "\"\(text)\" is no controller: write unix:PATH, tcp:ADDRESS:PORT, serial:DEVICE[,BAUD][,rtscts],"
                + " hci:N, hci:ADDRESS or hci:usb-PORT, each with or without \",take\" behind it, or fd:N")
    }
}

extension TransportAddress: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unix(let path): "unix:\(path)"
        case .tcp(let host, let port): host.contains(":") ? "tcp:[\(host)]:\(port)" : "tcp:\(host):\(port)"
        case .serial(let device, let baud, let flowControl): "serial:\(device),\(baud)\(flowControl ? ",rtscts" : "")"
        case .userChannel(let name, let takes): "hci:\(name)" + (takes ? ",\(Self.takeOption)" : "")
        case .inherited(let number): "fd:\(number)"
        }
    }
}
