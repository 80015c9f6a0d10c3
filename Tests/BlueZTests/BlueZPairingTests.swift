import BlueZSupport
import BluetoothCore
import DBus
import Testing

@testable import BlueZ

@Suite("Pairing through bluetoothd")
struct BlueZPairingTests {
    private typealias Bench = BlueZBench
    private typealias Script = BlueZScript

    private static func removed() -> DBusEvent {
        .signal(
            DBusMessage(
                sender: Script.daemon, path: "/", interface: "org.freedesktop.DBus.ObjectManager",
                member: "InterfacesRemoved", body: [.objectPath(Script.lock), .strings(["org.bluez.Device1"])]))
    }

    private static func found(rssi: Int16? = -50) -> DBusEvent {
        var properties: [String: DBusValue] = [
            "Adapter": .objectPath(Script.adapter), "Address": .string("C0:00:00:00:00:01"),
            "AddressType": .string("random"), "Paired": .boolean(false), "Connected": .boolean(false),
        ]
        if let rssi { properties["RSSI"] = .int16(rssi) }
        return .signal(
            DBusMessage(
                sender: Script.daemon, path: "/", interface: "org.freedesktop.DBus.ObjectManager",
                member: "InterfacesAdded",
                body: [
                    .objectPath(Script.lock),
                    .array(of: "{sa{sv}}", [.entry(.string("org.bluez.Device1"), .properties(properties))]),
                ]))
    }

    /// Up to where bluetoothd pairs.
    private static func pairing() -> Bench {
        var bench = Bench()
        bench.launch()
        bench.handle(.pair(Script.lockAddress))
        bench.answer("RemoveDevice")
        bench.handle(.bus(removed()))
        bench.answer("SetDiscoveryFilter")
        bench.answer("StartDiscovery")
        bench.handle(.bus(found()))
        bench.handle(.codeProvided(nil))
        bench.answer("StopDiscovery")
        bench.answer("RegisterAgent")
        return bench
    }

    @Test("The old bond goes, the peer is found, the kernel has the code, and then bluetoothd pairs; its link ends")
    func course() {
        var bench = Bench()
        bench.launch()
        #expect(bench.handle(.pair(Script.lockAddress)) == [] && bench.members == ["RemoveDevice"])
        #expect(bench.calls.first?.call.body == [.objectPath(Script.lock)])
        #expect(bench.answer("RemoveDevice") == [])
        #expect(bench.handle(.bus(Self.removed())) == [] && bench.members == ["SetDiscoveryFilter", "StartDiscovery"])
        bench.answer("SetDiscoveryFilter")
        bench.answer("StartDiscovery")
        // bluetoothd may have met it long ago.
        #expect(bench.handle(.bus(Self.found(rssi: nil))) == [])
        #expect(bench.changed(["RSSI": .int16(-50)]) == [.provideCode(Script.lockAddress, adapter: 0)])
        #expect(bench.members == [])
        #expect(bench.handle(.codeProvided(nil)) == [])
        #expect(bench.members == ["RegisterAgent", "Pair", "StopDiscovery"])
        bench.answer("RegisterAgent")
        bench.answer("StopDiscovery")
        bench.changed(["Connected": .boolean(true), "Paired": .boolean(true)])
        #expect(bench.answer("Pair") == [] && bench.members == ["Disconnect"])
        #expect(bench.changed(["Connected": .boolean(false)]) == [.paired(Script.lockAddress, nil)])
        #expect(bench.members == ["Disconnect", "UnregisterAgent"] && bench.deadline == nil)
    }

    @Test("A peer that is wished for and is paired anew is not disconnected from: the pairing has its own calls")
    func armed() {
        var bench = Bench.registered()
        bench.handle(.pair(Script.lockAddress))
        #expect(bench.members.contains("RemoveDevice") && !bench.members.contains("Disconnect"))
    }

    @Test("Whatever bluetoothd asks meanwhile is refused: the code is the method")
    func questions() {
        var bench = Self.pairing()
        for member in ["RequestPasskey", "RequestConfirmation", "RequestAuthorization", "DisplayPasskey"] {
            let asked = bench.handle(
                .bus(
                    .called(
                        DBusRequestID(rawValue: 1),
                        DBusMessage(
                            sender: Script.daemon, path: "/latch/central/agent", interface: "org.bluez.Agent1",
                            member: member))))
            guard case .act(.refuse(_, let error), nil)? = asked.first else {
                Issue.record("\(member): \(asked)")
                continue
            }
            #expect(error.name == "org.bluez.Error.Rejected")
        }
    }

    @Test("What goes wrong is told, with its reason, and once")
    func failures() {
        let address = Script.lockAddress
        var bench = Self.pairing()
        #expect(
            bench.refuse("Pair", "org.bluez.Error.AuthenticationFailed", "Authentication Failed") == [
                .paired(address, .refused("Authentication Failed"))
            ])
        #expect(bench.members == ["UnregisterAgent"])

        bench = Bench()
        bench.launch()
        bench.handle(.pair(address))
        #expect(bench.handle(.pair(address)) == [.paired(address, .busy)])
        #expect(
            bench.refuse("RemoveDevice", "org.bluez.Error.Failed") == [
                .paired(address, .notForgotten("org.bluez.Error.Failed"))
            ])

        bench = Bench()
        bench.launch(powered: false)
        #expect(bench.handle(.pair(address)) == [.paired(address, .notPoweredOn)])

        bench = Bench()
        bench.launch(lock: ["Paired": .boolean(false), "RSSI": .int16(-50)])
        #expect(bench.handle(.pair(address)) == [.provideCode(address, adapter: 0)])
        #expect(bench.handle(.codeProvided(.codeNotTaken("no"))) == [.paired(address, .codeNotTaken("no"))])

        bench = Self.pairing()
        #expect(bench.owner("").contains(.paired(address, .notPoweredOn)))
    }

    @Test("It takes a minute at most: a peer that is not heard, and one that comes to no end")
    func overdue() {
        let address = Script.lockAddress
        var bench = Bench()
        bench.launch(lock: ["Paired": .boolean(false)])
        bench.handle(.pair(address))
        #expect(bench.pass(milliseconds: 59_999) == [])
        #expect(bench.pass(milliseconds: 1) == [.paired(address, .timedOut)])
        bench = Self.pairing()
        #expect(bench.pass(milliseconds: 60_000) == [.paired(address, .timedOut)])
        #expect(bench.members == ["Pair", "CancelPairing", "UnregisterAgent"])
    }

    @Test("Whoever gives a pairing up leaves no bond behind, hears no more of it, and may pair anew at once")
    func cancelled() {
        let address = Script.lockAddress
        var bench = Self.pairing()
        #expect(bench.handle(.cancelPairing(DeviceAddress(kind: .public, bits: 9))) == [] && bench.members == ["Pair"])
        #expect(bench.handle(.cancelPairing(address)) == [])
        #expect(bench.members == ["Pair", "UnregisterAgent", "RemoveDevice"] && bench.deadline == nil)
        #expect(bench.refuse("Pair", "org.bluez.Error.AuthenticationCanceled") == [])

        // bluetoothd has paired, and nobody was told.
        bench = Self.pairing()
        bench.changed(["Connected": .boolean(true), "Paired": .boolean(true)])
        bench.answer("Pair")
        #expect(bench.handle(.cancelPairing(address)) == [])
        #expect(bench.members == ["Disconnect", "UnregisterAgent", "RemoveDevice"])
        #expect(bench.handle(.bus(Self.removed())) == [])

        // The one before had it removed already.
        bench = Bench()
        bench.launch()
        bench.handle(.pair(address))
        bench.handle(.cancelPairing(address))
        #expect(bench.handle(.pair(address)) == [] && bench.members == ["RemoveDevice", "RemoveDevice"])
        bench.answer("RemoveDevice")
        #expect(bench.refuse("RemoveDevice", "org.bluez.Error.DoesNotExist", "Does Not Exist") == [])
        bench.handle(.bus(Self.removed()))
        #expect(bench.members == ["SetDiscoveryFilter", "StartDiscovery"])
    }

    @Test("A bond that this side gives up goes at bluetoothd too")
    func forgotten() {
        var bench = Bench()
        bench.launch()
        bench.handle(.forget(Script.lockAddress))
        #expect(bench.members == ["RemoveDevice"])
        bench.handle(.bus(Self.removed()))
        bench.handle(.forget(Script.lockAddress))
        #expect(bench.members == ["RemoveDevice"])
    }
}
