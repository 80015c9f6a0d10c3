/// One line of the control socket.
enum ControlCommand: Equatable, Sendable {
    case help
    case list
    case distance(RadioName, RadioName, metres: Double)
    case loss(RadioName, RadioName, percent: Double)
    case cut(RadioName, RadioName)
    case join(RadioName, RadioName)
    case power(RadioName, isOn: Bool)
    case unplug(RadioName)
    /// As unplug, but the next host to connect gets a controller of the same public address.
    case replug(RadioName)
    case hardwareError(RadioName, code: UInt8)
    case garbage(RadioName, [UInt8])
    case capture(RadioName, path: String)
    case captureAll(directory: String)
    case seed(UInt64)

    static let maximumLineOctets = 1024

    static let summary =
        "list; distance A B METRES; loss A B PERCENT; cut A B; join A B; power A off|on; unplug A; replug A; "
        + "hardware-error A CODE; garbage A HEX; capture A PATH; capture all DIRECTORY; seed N; help. A and B are ordinals, or addresses such as C0:00:00:00:00:01, which "
        + "still hold when a host comes back"

    init(_ line: String) throws(ControlError) {
        let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
        guard let verb = words.first else { throw ControlError("an empty line; try help") }
        let rest = Array(words.dropFirst())
        switch (String(verb), rest.count) {
        case ("help", 0): self = .help
        case ("list", 0): self = .list
        case ("distance", 3):
            let (a, b) = try Self.pair(rest)
            self = .distance(a, b, metres: try Self.number(rest[2], in: 0...1_000_000, "metres"))
        case ("loss", 3):
            let (a, b) = try Self.pair(rest)
            self = .loss(a, b, percent: try Self.number(rest[2], in: 0...100, "percent"))
        case ("cut", 2):
            let (a, b) = try Self.pair(rest)
            self = .cut(a, b)
        case ("join", 2):
            let (a, b) = try Self.pair(rest)
            self = .join(a, b)
        case ("power", 2):
            guard rest[1] == "on" || rest[1] == "off" else { throw ControlError("power is on or off, not \(rest[1])") }
            self = .power(try Self.name(rest[0]), isOn: rest[1] == "on")
        case ("unplug", 1): self = .unplug(try Self.name(rest[0]))
        case ("replug", 1): self = .replug(try Self.name(rest[0]))
        case ("hardware-error", 2):
            guard let code: UInt8 = Self.integer(rest[1]) else { throw ControlError("\(rest[1]) is no hardware code") }
            self = .hardwareError(try Self.name(rest[0]), code: code)
        case ("garbage", 2): self = .garbage(try Self.name(rest[0]), try Self.octets(rest[1]))
        case ("capture", 2...):
            let path = rest.dropFirst().joined(separator: " ")
            self = rest[0] == "all" ? .captureAll(directory: path) : .capture(try Self.name(rest[0]), path: path)
        case ("seed", 1):
            guard let seed: UInt64 = Self.integer(rest[0]) else { throw ControlError("\(rest[0]) is no seed") }
            self = .seed(seed)
        case ("help", _), ("list", _), ("distance", _), ("loss", _), ("cut", _), ("join", _), ("power", _),
            ("unplug", _), ("replug", _), ("hardware-error", _), ("garbage", _), ("capture", _), ("seed", _):
            throw ControlError("\(verb) with \(rest.count) operands; try help")
        default: throw ControlError("\(verb) is no command; try help")
        }
    }

    private static func pair(_ words: [Substring]) throws(ControlError) -> (RadioName, RadioName) {
        let pair = (try name(words[0]), try name(words[1]))
        guard pair.0 != pair.1 else { throw ControlError("\(words[0]) twice") }
        return pair
    }

    private static func name(_ word: Substring) throws(ControlError) -> RadioName {
        if let value = RadioAddress.parseValue(word) { return .address(value) }
        guard let ordinal: Int = integer(word), ordinal > 0 else {
            throw ControlError("\(word) is neither an ordinal nor an address")
        }
        return .ordinal(ControllerID(ordinal: ordinal))
    }

    /// Digits alone: Swift takes a sign too, and `-0` even for an unsigned number.
    private static func integer<Integer: FixedWidthInteger>(_ word: Substring) -> Integer? {
        word.first?.isNumber == true ? Integer(word) : nil
    }

    private static func octets(_ word: Substring) throws(ControlError) -> [UInt8] {
        let digits = word.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue.map { UInt8($0) } }
        guard !word.isEmpty, digits.count == word.utf8.count, digits.count.isMultiple(of: 2) else {
            throw ControlError("\(word) is no octets in hexadecimal")
        }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    private static func number(_ word: Substring, in range: ClosedRange<Double>, _ unit: String)
        throws(ControlError) -> Double
    {
        guard let number = Double(word), range.contains(number) else {
            throw ControlError("\(word) is no number of \(unit) from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}

/// Why a line was not done.
struct ControlError: Error, Equatable {
    let message: String
    init(_ message: String) { self.message = message }
}

extension Air {
    /// Does what a line asks, but for captures, which are files, and for replugging, which is sockets; the rest of the "ok" line.
    mutating func perform(_ command: ControlCommand) throws(ControlError) -> String {
        switch command {
        case .help: return ControlCommand.summary
        case .list: return listing
        case .distance(let a, let b, let metres):
            try check(a, b)
            setDistance(a, b, metres: metres)
        case .loss(let a, let b, let percent):
            try check(a, b)
            setLoss(a, b, percent: percent)
        case .cut(let a, let b):
            try check(a, b)
            setCut(a, b, true)
        case .join(let a, let b):
            try check(a, b)
            setCut(a, b, false)
        case .power(let name, let isOn): setPower(try controller(name), on: isOn)
        case .unplug(let name): removeController(try controller(name))
        case .hardwareError(let name, let code): failHardware(of: try controller(name), code: code)
        case .garbage(let name, let octets): injectOctets(octets, to: try controller(name))
        case .seed(let seed): random = RandomSource(seed: seed)
        case .replug, .capture, .captureAll: throw ControlError("that is the server's")
        }
        return ""
    }

    /// The controller that goes by a name now.
    func controller(_ name: RadioName) throws(ControlError) -> ControllerID {
        guard let controller = controllers.first(where: { $0.names.contains(name) }) else {
            throw ControlError("no controller goes by that name")
        }
        return controller.id
    }

    /// An address may be one that is yet to come, an ordinal not.
    private func check(_ names: RadioName...) throws(ControlError) {
        guard !terrain.isFull else {
            throw ControlError("no more than \(Terrain.maximumSettings) pairs are remembered")
        }
        for name in names {
            if case .ordinal = name { _ = try controller(name) }
        }
    }

    /// `1 public=02:4C:41:00:00:01 random=C0:00:00:00:00:01 on links=2:central:0x0001:-50dBm; 2 …`
    private var listing: String {
        controllers.map { controller -> String in
            let connections = controller.connections.compactMap { connection -> String? in
                guard let slot = slot(of: connection.link) else { return nil }
                let peer = links[slot][connection.role.other].controller
                let handle = "0x" + String(connection.handle, radix: 16)
                return "\(peer):\(connection.role):\(handle):\(links[slot].path.rssi)dBm"
            }
            let random = controller.host.randomAddress.map(\.description) ?? "-"
            return "\(controller.id) public=\(controller.publicAddress) random=\(random) "
                + "\(controller.isPowered ? "on" : "off") links=\(connections.isEmpty ? "-" : connections.joined(separator: ","))"
        }.joined(separator: "; ")
    }
}
