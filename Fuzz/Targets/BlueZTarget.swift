import ATT
import BlueZ
import BluetoothCore
import DBus
import GATT

/// The central role beside a bluetoothd, and a bus, that say anything: nobody is touched that nobody wishes for, links are told as they are,
/// and everything that is asked ends once.
@Sendable func fuzzBlueZ(_ octets: [UInt8]) {
    var input = FuzzInput(octets)
    var world = BlueZWorld()
    while let event = input.nextEvent() { world.happen(event, &input) }
    world.finish()
}

private struct BlueZWorld {
    private static let adapters = ["/org/bluez/hci0", "/org/bluez/hci1"]
    /// The last one is never wished for.
    private static let devices = 4
    private static let nobodysDevice = 3
    private static let tokensMaximum: UInt64 = 512

    private var machine = BlueZCentral()
    private var now = Instant(nanoseconds: 0)
    private var owner = ":1.1"
    private var isOpen = false
    private var calls: [(id: DBusCallID, call: DBusCall)] = []
    private var links: Set<String> = []
    private var operations: Set<UInt64> = []
    private var nextToken: UInt64 = 1
    private var pairing: DeviceAddress?
    /// Calls that have a time.
    private var dated: Set<DBusCallID> = []
    private var state = BlueZState.unknown

    // MARK: What happens

    mutating func happen(_ event: UInt8, _ input: inout FuzzInput) {
        switch event & 15 {
        case 0: open(event & 0x80 == 0)
        case 1: changeOwner(input.octet())
        case 2: wish(input.octet(), input.octet())
        case 3, 4: changeDevice(input.octet(), input.octet(), input.octet())
        case 5: add(input.octet(), input.octet())
        case 6: remove(input.octet())
        case 7: value(input.octet(), input.chunk())
        case 8, 9, 10: answer(event >> 4, input.octet())
        case 11: operate(input.octet(), input.octet(), input.chunk())
        case 12: disconnect(input.octet())
        case 13: pair(input.octet())
        case 14:
            now = now.advanced(byMilliseconds: input.milliseconds())
            hand(.timerFired)
        default: call(input.octet())
        }
    }

    private mutating func open(_ isOpen: Bool) {
        self.isOpen = isOpen
        calls = []
        hand(.bus(isOpen ? .opened : .closed))
    }

    private mutating func changeOwner(_ choice: UInt8) {
        let before = owner
        if choice & 1 == 0 { owner = ":1.\(choice)" }
        signal(
            choice & 2 == 0 ? DBusName.bus : ":1.99", DBusName.busPath, DBusName.bus, "NameOwnerChanged",
            [.string(BlueZCentral.busName), .string(before), .string(choice & 4 == 0 ? owner : "")])
    }

    private mutating func wish(_ bonded: UInt8, _ strangers: UInt8) {
        func chosen(_ mask: UInt8) -> Set<DeviceAddress> {
            Set((0..<Self.nobodysDevice).filter { mask & 1 << UInt8($0) != 0 }.map(Self.address))
        }
        var wishes = BlueZWishes(
            connections: chosen(bonded), strangers: chosen(strangers), isScanning: strangers & 0x80 != 0)
        for address in wishes.connections where bonded & 0x80 != 0 {
            wishes.notifications[address] = [AttributeHandle(0x12), AttributeHandle(0x22)]
        }
        hand(.wished(wishes))
    }

    private mutating func changeDevice(_ device: UInt8, _ what: UInt8, _ how: UInt8) {
        let value: DBusValue = how & 0x80 == 0 ? .boolean(how & 1 != 0) : Self.anything(how)
        let names = ["Connected", "ServicesResolved", "Paired", "Trusted"]
        let property: (String, DBusValue)
        switch what & 15 {
        case 0...3: property = (names[Int(what & 3)], value)
        case 4: property = ("RSSI", how & 0x80 == 0 ? .int16(-Int16(how)) : Self.anything(how))
        case 5: property = ("UUIDs", .strings(["180f", "180d", String(how, radix: 16)]))
        case 6: property = ("Adapter", .objectPath(Self.adapters[Int(how & 1)]))
        // Nobody's device never has the address of one that is wished for: it would be that one.
        case 7:
            let known = Int(device) % Self.devices == Self.nobodysDevice ? Self.nobodysDevice : Int(how >> 1 & 3)
            property = ("Address", .string(how & 1 == 0 ? Self.text(known) : "nonsense"))
        case 8: property = ("ManufacturerData", Self.anything(how))
        case 9: property = ("ServiceData", Self.anything(how))
        case 10: return adapterChanged(Int(how & 1), ["Powered": .boolean(how & 2 != 0)])
        case 11: property = ("AdvertisingFlags", .octets(how & 1 == 0 ? [] : [how]))
        default: property = ("Name", Self.anything(how))
        }
        changed(
            Self.path(device), "org.bluez.Device1", [property.0: property.1], gone: what & 0x80 != 0 ? ["RSSI"] : [])
    }

    private mutating func adapterChanged(_ number: Int, _ properties: [String: DBusValue]) {
        changed(Self.adapters[number], "org.bluez.Adapter1", properties)
    }

    private mutating func changed(
        _ path: String, _ interface: String, _ properties: [String: DBusValue], gone: [String] = []
    ) {
        signal(
            owner, path, DBusName.properties, "PropertiesChanged",
            [.string(interface), .properties(properties), .strings(gone)])
    }

    /// A device, or an attribute of one.
    private mutating func add(_ device: UInt8, _ what: UInt8) {
        let (path, interface) = Self.object(device, what)
        signal(
            owner, "/", DBusName.objectManager, "InterfacesAdded",
            [.objectPath(path), Self.interfaces(interface, Self.properties(device, interface, what))])
    }

    private mutating func remove(_ what: UInt8) {
        let (path, interface) = Self.object(what, what >> 3)
        signal(
            owner, "/", DBusName.objectManager, "InterfacesRemoved", [.objectPath(path), .strings([interface])])
    }

    private mutating func value(_ device: UInt8, _ octets: [UInt8]) {
        let properties: [String: DBusValue] =
            device & 0x80 == 0 ? ["Value": .octets(octets)] : ["MTU": .uint16(UInt16(octets.count))]
        changed("\(Self.path(device))/service0010/char0011", "org.bluez.GattCharacteristic1", properties)
    }

    private mutating func answer(_ place: UInt8, _ how: UInt8) {
        guard !calls.isEmpty else { return }
        let (id, call) = calls.remove(at: Int(place) % calls.count)
        let failures = [
            "org.bluez.Error.Failed", "org.bluez.Error.InProgress", "org.freedesktop.DBus.Error.NoReply",
            "org.bluez.Error.NotPermitted",
        ]
        // The bus itself is believed.
        let result: Result<[DBusValue], DBusError> =
            how & 0x80 == 0
            ? .success(body(of: call, how))
            : .failure(DBusError(name: failures[Int(how & 3)], text: "Operation failed with ATT error: 0x0\(how & 7)"))
        hand(.bus(.answered(id, result)))
    }

    private func body(of call: DBusCall, _ how: UInt8) -> [DBusValue] {
        switch call.member {
        case "GetNameOwner": [.string(owner)]
        case "GetManagedObjects": [how & 1 == 0 ? Self.objects(how) : Self.anything(how)]
        case "ReadValue": [how & 1 == 0 ? .octets([how]) : Self.anything(how)]
        default: how & 1 == 0 ? [] : [Self.anything(how)]
        }
    }

    private mutating func operate(_ device: UInt8, _ kind: UInt8, _ value: [UInt8]) {
        guard nextToken <= Self.tokensMaximum else { return }
        let (token, handle) = (nextToken, AttributeHandle(UInt16(kind >> 3) + 0x10))
        nextToken += 1
        let operation: GATTClientOperation =
            switch kind & 7 {
            case 0: .read(handle, offset: value.count)
            case 1: .write(handle, value)
            case 2: .writeWithoutResponse(handle, value)
            case 3: .configure(handle, .notification)
            case 4: .configure(handle, [])
            case 5: .discoverDatabase
            case 6: .readByUUID(BluetoothUUID(0x180F), ATTHandleRange())
            default: .exchangeMTU
            }
        operations.insert(token)
        let until = kind & 7 == 2 && device & 0x80 != 0 ? now : nil
        hand(.operation(token, link: Self.path(device), operation, until: until))
        // It may have to wait for its turn.
        guard until != nil, let place = calls.lastIndex(where: { dated.contains($0.id) }) else { return }
        hand(.lapsed(calls.remove(at: place).id))
    }

    private mutating func disconnect(_ device: UInt8) {
        guard links.contains(Self.path(device)) else { return }
        hand(.disconnect(link: Self.path(device)))
    }

    private mutating func pair(_ choice: UInt8) {
        let address = Self.address(Int(choice) % Self.nobodysDevice)
        switch choice >> 6 {
        case 0 where pairing == nil:
            pairing = address
            hand(.pair(address))
        case 0:
            if pairing == address { pairing = nil }
            hand(.cancelPairing(address))
        case 1: hand(.codeProvided(nil))
        case 2: hand(.codeProvided(.codeNotTaken("x")))
        default: hand(.forget(address))
        }
    }

    /// Of bluetoothd, or of anybody.
    private mutating func call(_ choice: UInt8) {
        let members = ["GetManagedObjects", "Release", "Cancel", "RequestPasskey"]
        let paths = ["/latch/central", "/latch/central/profile", "/latch/central/agent", "/"]
        let interfaces = [DBusName.objectManager, "org.bluez.GattProfile1", "org.bluez.Agent1", "x"]
        hand(
            .bus(
                .called(
                    DBusRequestID(rawValue: UInt64(choice)),
                    DBusMessage(
                        sender: choice & 0x80 == 0 ? owner : ":1.99", path: paths[Int(choice & 3)],
                        interface: interfaces[Int(choice >> 2 & 3)], member: members[Int(choice >> 4 & 3)]))))
    }

    private mutating func signal(
        _ sender: String, _ path: String, _ interface: String, _ member: String, _ body: [DBusValue]
    ) {
        hand(
            .bus(
                .signal(DBusMessage(sender: sender, path: path, interface: interface, member: member, body: body))))
    }

    // MARK: What is promised

    private mutating func hand(_ event: BlueZCentral.Event) {
        var outputs: [BlueZCentral.Output] = []
        machine.handle(event, now: now, into: &outputs)
        for output in outputs { take(output) }
        require(machine.deadline.map { $0 > now } ?? true, "a timer that has passed: the loop would turn without end")
    }

    private mutating func take(_ output: BlueZCentral.Output) {
        switch output {
        case .act(.call(let id, let call), let until):
            if until != nil { dated.insert(id) }
            require(isOpen, "\(call.member) is called without a bus")
            let isForBus = call.destination == DBusName.bus
            require(isForBus || call.destination.hasPrefix(":"), "\(call.member) goes to whoever has a name")
            require(
                isForBus || !call.path.hasPrefix(Self.path(UInt8(Self.nobodysDevice))),
                "\(call.member) of a device that nobody wishes for")
            calls.append((id, call))
        case .act(.answer, _), .act(.refuse, _): break
        case .state(let new):
            require(new != state, "a state is told twice")
            state = new
        case .connected(let info):
            require(state == .on, "a link without an adapter")
            require(links.insert(info.path).inserted, "a link is told twice")
            require(info.path != Self.path(UInt8(Self.nobodysDevice)), "a link that nobody wishes for")
            require(23...517 ~= info.mtu, "an MTU of \(info.mtu)")
        case .disconnected(let link): require(links.remove(link) != nil, "the end of a link that was never told")
        case .treeChanged(let link), .updated(let link, _, _): require(links.contains(link), "news of no link")
        case .completed(let token, _): require(operations.remove(token) != nil, "an operation ends twice")
        case .lapsed(let token):
            require(!operations.contains(token), "a write lapses before it is said to be on its way")
        case .identified(let old, let identity): require(old != identity.address, "a peer that moves nowhere")
        case .seen: require(state == .on, "somebody is heard without an adapter")
        case .provideCode(let address, _): require(pairing == address, "a code without a pairing")
        case .paired(let address, _):
            require(pairing == address, "a pairing ends twice, or behind its cancelling")
            pairing = nil
        }
    }

    /// The bus goes: everything is over.
    mutating func finish() {
        open(false)
        now = now.advanced(byMilliseconds: 120_000)
        hand(.timerFired)
        require(links.isEmpty, "links outlive their bus")
        require(operations.isEmpty, "operations are forgotten")
        require(pairing == nil, "a pairing is forgotten")
        require(machine.deadline == nil, "a timer without a bus")
    }

    // MARK: Objects

    private static func path(_ device: UInt8) -> String { "\(adapters[0])/dev_0\(Int(device) % devices)" }

    private static func text(_ device: Int) -> String { "C0:00:00:00:00:0\(device)" }

    private static func address(_ device: Int) -> DeviceAddress {
        DeviceAddress(kind: .random, bits: 0xC000_0000_0000 | UInt64(device))
    }

    private static func object(_ device: UInt8, _ what: UInt8) -> (path: String, interface: String) {
        let device = path(device)
        return switch what & 7 {
        case 0, 1: (device, "org.bluez.Device1")
        case 2: ("\(device)/service0010", "org.bluez.GattService1")
        case 3: ("\(device)/service0010/char0011", "org.bluez.GattCharacteristic1")
        case 4: ("\(device)/service0010/char0011/desc0013", "org.bluez.GattDescriptor1")
        case 5: ("\(device)/service0020", "org.bluez.GattService1")
        case 6: (adapters[Int(what >> 3 & 1)], "org.bluez.Adapter1")
        default: ("\(device)/serviceFFFF/charFFFF/desc0000", "org.bluez.GattCharacteristic1")
        }
    }

    private static func properties(_ device: UInt8, _ interface: String, _ what: UInt8) -> [String: DBusValue] {
        switch interface {
        case "org.bluez.Device1":
            [
                "Adapter": .objectPath(adapters[0]), "Address": .string(text(Int(device) % devices)),
                "AddressType": .string("random"), "Paired": .boolean(what & 8 != 0),
                "Connected": .boolean(what & 16 != 0), "ServicesResolved": .boolean(what & 32 != 0),
                "UUIDs": .strings(["180f", "180d"]),
            ]
        case "org.bluez.Adapter1": ["Address": .string("00:00:00:00:00:01"), "Powered": .boolean(what & 8 != 0)]
        default:
            [
                "UUID": .string("180f"), "Primary": .boolean(what & 8 != 0), "Flags": .strings(["read", "notify"]),
                "Includes": .array(of: "o", [.objectPath("\(path(device))/service0020")]),
                "MTU": .uint16(UInt16(what) << 2),
            ]
        }
    }

    private static func interfaces(_ name: String, _ properties: [String: DBusValue]) -> DBusValue {
        .array(of: "{sa{sv}}", [.entry(.string(name), .properties(properties))])
    }

    private static func objects(_ how: UInt8) -> DBusValue {
        let all = [UInt8](0..<4).map { object($0, 0) } + [object(0, 2), object(0, 3), object(0, 4), object(0, 6)]
        return .array(
            of: "{oa{sa{sv}}}",
            all.enumerated().map { place, object in
                .entry(
                    .objectPath(object.path),
                    interfaces(object.interface, properties(UInt8(place & 3), object.interface, how | 8)))
            })
    }

    private static func anything(_ how: UInt8) -> DBusValue {
        switch how >> 1 & 7 {
        case 0: .array(of: "{qv}", [.entry(.uint16(UInt16(how)), .variant(.octets([how])))])
        case 1: .properties(["180f": .octets([how]), "x": .string("y")])
        case 2: .array(of: "{oa{sa{sv}}}", [.entry(.string("/"), .byte(how))])
        case 3: .structure([])
        case 4: .octets([])
        case 5: .string("")
        case 6: .array(of: "{qv}", [.entry(.string("a"), .byte(1)), .byte(2)])
        default: .int64(.min)
        }
    }
}
