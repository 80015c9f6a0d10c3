import BusSupport
import DBus
import HCITransport
import Testing

@testable import DBusTransport

/// Anybody who may connect to a bus may send to any connection on it, as much as the bus lets through: 32 MiB a message where it is the
/// system's.
@Suite("Attacks on a connection to a bus", .timeLimit(.minutes(30)))
struct SystemBusAttackTests {
    private static let name = "org.latch.Test"
    private static let tooMuch: Result<[DBusValue], DBusError> = .failure(
        DBusError(name: "org.freedesktop.DBus.Error.LimitsExceeded"))

    private static let short: (signature: String, octets: [UInt8]) = ("y", [7])

    /// A number within so many variants: each is the signature of what it holds, and that.
    private static func nested(_ depth: Int) -> (signature: String, octets: [UInt8]) {
        let variant = [1, UInt8(ascii: "v"), 0]
        return ("v", Array(repeatElement(variant, count: depth - 1).joined()) + [1, UInt8(ascii: "y"), 0, 7])
    }

    /// Asks the bus, whose answer comes behind all that was sent to this connection before.
    private static func catchUp(_ client: Party, _ loop: EventLoop) throws {
        let asked = client.callBus("GetNameOwner", [.string(DBusName.bus)])
        try loop.run([client]) { client.answer(to: asked) != nil }
    }

    private static func said(to client: Party, by sender: String) -> [String] {
        client.events.compactMap { event in
            switch event {
            case .signal(let message), .called(_, let message): message.sender == sender ? message.member : nil
            case .opened, .closed, .answered: nil
            }
        }
    }

    /// What a client hears of a service that answers each call, by the call's member.
    private static func answers(
        to members: [String], by answer: @escaping (String) -> [DBusValue]
    ) throws -> [Result<[DBusValue], DBusError>?] {
        let (bus, loop) = (try PrivateBus(), try EventLoop(signals: []))
        let (client, server) = (Party(at: bus.address, loop), Party(at: bus.address, loop, servesAnybody: true))
        client.start()
        server.start()
        let owned = server.callBus("RequestName", [.string(name), .uint32(0)])
        try loop.run([client, server]) { server.answer(to: owned) != nil }
        server.service = { .success(answer($0.member)) }
        let calls = members.map { client.call(name, "/", "a.b", $0) }
        try loop.run([client, server]) { calls.allSatisfy { client.answer(to: $0) != nil } }
        return calls.map { client.answer(to: $0) }
    }

    @Test("A signal or a call of somebody whom this side has not called is refused before anybody reads what is in it")
    func strangers() throws {
        let (bus, loop) = (try PrivateBus(), try EventLoop(signals: []))
        let client = Party(at: bus.address, loop)
        client.start()
        try Self.catchUp(client, loop)
        // The bus tells each connection its name.
        let names = client.events.compactMap { event -> String? in
            guard case .signal(let signal) = event, signal.member == "NameAcquired" else { return nil }
            return signal.body.first?.text
        }
        let victim = try #require(names.first)
        let forger = try Forger(at: bus.address)
        forger.signal(victim, "Stranger", Self.short)
        // Deeper than what is read of anybody: refused for its sender all the same.
        forger.call(victim, "Stranger", Self.nested(DBusReader.depthMaximum + 1))
        forger.settle()
        try Self.catchUp(client, loop)
        try #require(Self.said(to: client, by: forger.name) == [])
        var refusal = ""
        forger.hear {
            refusal = $0
            return $0.contains("Error.AccessDenied") || $0.contains("Error.LimitsExceeded")
        }
        #expect(refusal.contains("Error.AccessDenied"))

        // From here on it is somebody whom this side has called.
        client.call(forger.name, "/", "a.b", "C")
        try Self.catchUp(client, loop)
        forger.signal(victim, "Signal", Self.short)
        forger.call(victim, "Call", Self.short)
        forger.signal(victim, "DeepSignal", Self.nested(DBusReader.depthMaximum + 1))
        forger.call(victim, "DeepCall", Self.nested(DBusReader.depthMaximum + 1))
        forger.settle()
        try Self.catchUp(client, loop)
        #expect(Self.said(to: client, by: forger.name) == ["Signal", "Call"])
        forger.hear { $0.contains("Error.LimitsExceeded") }
    }

    enum Bound: CaseIterable {
        case values, octets, texts, signatures, depth

        /// As much as is read, or a bit more.
        func body(isOver: Bool) -> [DBusValue] {
            let more = isOver ? 1 : 0
            return switch self {
            // The array is one too.
            case .values:
                [.array(of: "n", Array(repeating: .int16(0), count: DBusReader.valuesMaximum - 1 + more))]
            // Its signature, too, has one.
            case .octets: [.octets([UInt8](repeating: 0, count: DBusReader.octetsMaximum - 1 + more))]
            case .texts:
                [
                    .string(String(repeating: "x", count: DBusReader.octetsMaximum / 2)),
                    .string(String(repeating: "x", count: DBusReader.octetsMaximum / 2 + more)),
                ]
            // Each array within another says what it would hold, also where it holds nothing.
            case .signatures:
                [
                    .array(
                        of: "a" + Self.long,
                        Array(
                            repeating: .array(of: Self.long, []),
                            count: DBusReader.octetsMaximum / Self.long.utf8.count - 2 + 2 * more))
                ]
            case .depth:
                [(1...DBusReader.depthMaximum + more).reduce(DBusValue.byte(7)) { value, _ in .variant(value) }]
            }
        }

        private static let long = "(" + String(repeating: "y", count: 126) + ")"
    }

    @Test(
        "An answer is read up to a bound of values, of octets and of depth; more is an error, and the connection stays",
        arguments: Bound.allCases)
    func bounds(bound: Bound) throws {
        let answers = try Self.answers(to: ["Full", "Over", "Full"]) { bound.body(isOver: $0 == "Over") }
        let full = Result<[DBusValue], DBusError>.success(bound.body(isOver: false))
        // Compared by itself: what is compared is printed where it differs.
        let isAsSaid = answers == [full, Self.tooMuch, full]
        #expect(isAsSaid)
    }

    @Test("A thousand devices of bluetoothd's, and the trees of some, are within what is read")
    func thousandDevices() throws {
        let objects = Self.objects()
        let answers = try Self.answers(to: ["GetManagedObjects"]) { _ in [objects] }
        let isAsSaid = answers == [.success([objects])]
        #expect(isAsSaid)
    }

    /// As bluetoothd has them: each with the properties that a device can have, and forty with a tree of sixty attributes.
    private static func objects() -> DBusValue {
        let service = "0000180f-0000-1000-8000-00805f9b34fb"
        let device: [String: DBusValue] = [
            "Address": .string("C0:00:00:00:00:01"), "AddressType": .string("random"), "Name": .string("A device"),
            "Alias": .string("A device"), "Class": .uint32(0), "Appearance": .uint16(0), "Icon": .string("phone"),
            "Paired": .boolean(true), "Bonded": .boolean(true), "Trusted": .boolean(true), "Blocked": .boolean(false),
            "LegacyPairing": .boolean(false), "RSSI": .int16(-60), "TxPower": .int16(4), "Connected": .boolean(true),
            "UUIDs": .strings(Array(repeating: service, count: 30)), "Modalias": .string("usb:v1D6Bp0246d0542"),
            "Adapter": .objectPath("/org/bluez/hci0"), "ServicesResolved": .boolean(true),
            "WakeAllowed": .boolean(true), "AdvertisingFlags": .octets([6]),
            "ManufacturerData": .array(
                of: "{qv}", (0..<4).map { .entry(.uint16($0), .variant(.octets([UInt8](repeating: 0, count: 24)))) }),
            "ServiceData": .properties(["1": .octets([1]), "2": .octets([2])]),
        ]
        let attribute: [String: DBusValue] = [
            "UUID": .string(service), "Service": .objectPath("/org/bluez/hci0/dev_0/service0010"),
            "Flags": .strings(["read", "write", "notify", "indicate"]), "Value": .octets([]),
            "Notifying": .boolean(false), "MTU": .uint16(517), "NotifyAcquired": .boolean(false),
        ]
        func object(_ path: String, _ interface: String, _ properties: [String: DBusValue]) -> DBusValue {
            .entry(
                .objectPath(path),
                .array(
                    of: "{sa{sv}}",
                    [
                        .entry(.string("org.freedesktop.DBus.Introspectable"), .properties([:])),
                        .entry(.string(interface), .properties(properties)),
                        .entry(.string(DBusName.properties), .properties([:])),
                    ]))
        }
        let devices = (0..<1_000).map { object("/org/bluez/hci0/dev_\($0)", "org.bluez.Device1", device) }
        let attributes = (0..<40).flatMap { device in
            (0..<60).map {
                object("/org/bluez/hci0/dev_\(device)/char\($0)", "org.bluez.GattCharacteristic1", attribute)
            }
        }
        return .array(of: "{oa{sa{sv}}}", devices + attributes)
    }
}
