import BlueZSupport
import BluetoothCore
import DBus
import GATT
import Testing

@testable import BlueZ

@Suite("The central role beside bluetoothd")
struct BlueZCentralTests {
    private typealias Bench = BlueZBench
    private typealias Script = BlueZScript

    // MARK: bluetoothd comes and goes

    @Test("At the launch bluetoothd is asked for what there is, and nothing is said before")
    func launch() {
        var bench = Bench()
        #expect(bench.handle(.wished(Bench.wishes)) == [] && bench.members == [])
        #expect(bench.handle(.bus(.opened)) == [] && bench.members == ["GetNameOwner"])
        #expect(bench.answer("GetNameOwner", [.string(Script.daemon)]) == [])
        #expect(bench.calls.map(\.call.destination) == [Script.daemon])
        #expect(bench.answer("GetManagedObjects", [Script.objects()]) == [.state(.on)])
    }

    @Test("Without bluetoothd, without an adapter, and with one that is off")
    func states() {
        var bench = Bench()
        bench.handle(.bus(.opened))
        #expect(bench.refuse("GetNameOwner", "org.freedesktop.DBus.Error.NameHasNoOwner") == [.state(.absent)])
        #expect(bench.owner(Script.daemon, before: "") == [])
        #expect(bench.answer("GetManagedObjects", [.array(of: "{oa{sa{sv}}}", [])]) == [.state(.noAdapter)])

        bench = Bench()
        #expect(bench.launch(powered: false) == [.state(.off)])
        #expect(bench.powered(true) == [.state(.on)])
        #expect(bench.handle(.bus(.closed)) == [.state(.away)])
    }

    @Test("Why there is no adapter is said for people: nobody on the bus, a refusal, or another adapter")
    func absence() {
        var bench = Bench()
        #expect(bench.machine.absence == nil)
        bench.handle(.bus(.opened))
        bench.refuse("GetNameOwner", "org.freedesktop.DBus.Error.NameHasNoOwner")
        #expect(bench.machine.absence == "no bluetoothd is on the system bus")
        for (error, absence) in [
            (
                "org.freedesktop.DBus.Error.AccessDenied",
                "the system bus's policy for org.bluez does not let this user call bluetoothd"
            ),
            ("org.bluez.Error.Failed", "bluetoothd does not say what it has (org.bluez.Error.Failed)"),
        ] {
            bench.owner(Script.daemon, before: "")
            bench.refuse("GetManagedObjects", error)
            #expect(bench.machine.absence == absence)
        }
        // It is another one's from here on.
        bench.owner(Script.daemon, before: "")
        bench.answer("GetManagedObjects", [.array(of: "{oa{sa{sv}}}", [])])
        #expect(bench.machine.absence == "bluetoothd has no adapter")
        bench.owner("", before: Script.daemon)
        #expect(bench.machine.absence == "no bluetoothd is on the system bus")
        #expect(AdapterChoice.named("hci7").wording == " hci7")
        #expect(AdapterChoice.address(0x001A_7DDA_7113).wording == " of the address 00:1A:7D:DA:71:13")
        bench = Bench()
        bench.launch()
        #expect(bench.machine.absence == nil)
        bench.powered(false)
        #expect(bench.machine.absence == nil)
    }

    @Test("The adapter is the one that is meant, wherever it is plugged in")
    func adapters() {
        let first = BlueZAdapter(path: "/org/bluez/hci0", ["Address": .string("00:00:00:00:00:01")])
        let tenth = BlueZAdapter(
            path: "/org/bluez/hci10", ["Address": .string("00:00:00:00:00:02"), "Powered": .boolean(true)])
        #expect(AdapterChoice.any.chosen(of: [tenth, first]) == tenth)
        #expect(AdapterChoice.any.chosen(of: [first]) == first && AdapterChoice.any.chosen(of: []) == nil)
        #expect(AdapterChoice.named("hci0").chosen(of: [tenth, first]) == first)
        #expect(AdapterChoice.named("hci1").chosen(of: [tenth, first]) == nil)
        #expect(AdapterChoice.address(2).chosen(of: [tenth, first]) == tenth)
    }

    // MARK: Pending connections

    @Test("A wish is a profile with a service that only the lock has, which bluetoothd alone is told of")
    func registration() throws {
        var bench = Bench()
        bench.launch()
        bench.handle(.wished(Bench.wishes))
        let call = try #require(bench.calls.first?.call)
        #expect(call.member == "RegisterApplication" && call.path == Script.adapter)
        func ask(_ sender: String) -> [BlueZCentral.Output] {
            bench.handle(
                .bus(
                    .called(
                        DBusRequestID(rawValue: 1),
                        DBusMessage(
                            sender: sender, path: "/latch/central", interface: "org.freedesktop.DBus.ObjectManager",
                            member: "GetManagedObjects"))))
        }
        guard case .act(.answer(_, let body), nil)? = ask(Script.daemon).first else {
            Issue.record("bluetoothd has no answer")
            return
        }
        let profile = body.first?.objects?["/latch/central/profile"]?["org.bluez.GattProfile1"]
        #expect(profile?["UUIDs"] == .strings([Script.lockService]))
        guard case .act(.refuse(_, let error), nil)? = ask(":1.66").first else {
            Issue.record("somebody else has an answer")
            return
        }
        #expect(error.name == "org.freedesktop.DBus.Error.AccessDenied")
        bench.answer("RegisterApplication")
        #expect(bench.members == [])
    }

    @Test("Whoever has no bond, and whoever is wished for by nobody, is not registered for")
    func unbonded() {
        var bench = Bench()
        bench.launch(lock: ["Paired": .boolean(false)])
        bench.handle(.wished(Bench.wishes))
        #expect(bench.members == [])
        bench.changed(["Paired": .boolean(true)])
        #expect(bench.members == ["RegisterApplication"])
        bench.answer("RegisterApplication")
        bench.handle(.wished(BlueZWishes()))
        #expect(bench.members == ["Disconnect", "UnregisterApplication"])
        bench.answer("Disconnect")
        bench.answer("UnregisterApplication")
        #expect(bench.members == [])
    }

    @Test("A registration that is refused is tried again, later and later, for ever")
    func refusedRegistration() {
        var bench = Bench()
        bench.launch()
        bench.handle(.wished(Bench.wishes))
        var waits: [UInt64] = []
        for _ in 0..<8 {
            bench.refuse("RegisterApplication", "org.bluez.Error.Failed")
            #expect(bench.members == [])
            let wait = bench.deadline.map { $0.milliseconds(since: bench.now) } ?? 0
            waits.append(wait)
            bench.pass(milliseconds: wait)
            #expect(bench.members == ["RegisterApplication"])
        }
        #expect(waits == [1_000, 2_000, 4_000, 8_000, 16_000, 16_000, 16_000, 16_000])
    }

    @Test("Behind a disconnection from this side a wish registers anew; while the link is up it does not")
    func rearm() {
        var bench = Bench.linked()
        bench.answer("StartNotify")
        #expect(bench.handle(.disconnect(link: Script.lock)) == [.disconnected(link: Script.lock)])
        // The wish stands, and the link that is ending is not what is wished for.
        #expect(bench.members == ["Disconnect", "UnregisterApplication"])
        #expect(bench.handle(.wished(Bench.wishes)) == [])
        bench.answer("Disconnect")
        bench.answer("UnregisterApplication")
        #expect(bench.members == ["RegisterApplication"])
        bench.answer("RegisterApplication")
        #expect(bench.changed(["Connected": .boolean(false), "ServicesResolved": .boolean(false)]) == [])
        // bluetoothd makes the next one by itself.
        #expect(bench.comesUp() == [.connected(Bench.info)])
        bench.answer("StartNotify")
        bench.changed(["Connected": .boolean(false), "ServicesResolved": .boolean(false)])
        #expect(bench.members == ["UnregisterApplication"])
    }

    @Test(
        "Another local user's Disconnect ends what bluetoothd does by itself: behind each end this side registers anew")
    func disarmed() {
        for isResolved in [true, false] {
            var bench = Bench.registered()
            bench.changed(["Connected": .boolean(true)])
            if isResolved {
                bench.changed(["ServicesResolved": .boolean(true)])
                bench.answer("StartNotify")
            }
            #expect(bench.members == [])
            // Nothing says who has ended it.
            bench.changed(["Connected": .boolean(false), "ServicesResolved": .boolean(false)])
            #expect(bench.members == ["UnregisterApplication"])
            bench.answer("UnregisterApplication")
            #expect(bench.members == ["RegisterApplication"])
            bench.answer("RegisterApplication")
            #expect(bench.members == [])
            #expect(bench.comesUp() == [.connected(Bench.info)])
        }
    }

    @Test("Behind a power cycle, and with another bluetoothd, everything is asked for anew")
    func anew() {
        var bench = Bench.registered()
        #expect(bench.comesUp() == [.connected(Bench.info)])
        #expect(bench.members == ["StartNotify"])
        bench.answer("StartNotify")
        #expect(
            bench.powered(false) == [
                .state(.off), .disconnected(link: Script.lock),
            ])
        bench.changed(["Connected": .boolean(false), "ServicesResolved": .boolean(false)])
        bench.powered(true)
        #expect(bench.members == ["UnregisterApplication"])
        bench.answer("UnregisterApplication")
        bench.answer("RegisterApplication")
        bench.comesUp()
        bench.answer("StartNotify")
        #expect(bench.members == [])

        #expect(bench.owner("") == [.state(.away), .disconnected(link: Script.lock)])
        #expect(bench.owner(":1.9", before: "") == [])
        #expect(bench.answer("GetManagedObjects", [Script.objects()]) == [.state(.on)])
        #expect(bench.members == ["RegisterApplication"])
        #expect(bench.calls.first?.call.destination == ":1.9")
        // The former one says nothing that counts any more.
        #expect(bench.comesUp() == [])
    }

    // MARK: Links

    @Test("A link is up when its tree is known, and its notifications are asked for before anybody hears of it")
    func link() {
        var bench = Bench.registered()
        #expect(bench.changed(["Connected": .boolean(true)]) == [])
        var outputs: [BlueZCentral.Output] = []
        outputs = bench.changed(["ServicesResolved": .boolean(true)])
        #expect(outputs == [.connected(Bench.info)])
        #expect(bench.members == ["StartNotify"] && bench.calls.first?.call.path == Script.challenge)
        bench.answer("StartNotify")
        #expect(bench.notified([7]) == [.updated(link: Script.lock, Script.challengeValue, [7])])
        #expect(bench.notified([8], by: ":1.66") == [])
    }

    @Test("A link that is unresolved again, for longer than a tree takes, is told to have ended when it is ended")
    func unresolvedAgain() {
        var bench = Bench.registered()
        #expect(bench.comesUp() == [.connected(Bench.info)])
        bench.answer("StartNotify")
        #expect(bench.changed(["ServicesResolved": .boolean(false)]) == [])
        #expect(bench.pass(milliseconds: 30_000) == [.disconnected(link: Script.lock)])
        #expect(bench.members.last == "Disconnect")
        #expect(bench.changed(["Connected": .boolean(false)]) == [])
    }

    @Test(
        "Notifications that bluetoothd refuses, while it ends the link, are asked for again later and later; a new link asks at once"
    )
    func refusedNotifications() {
        var bench = Bench.linked()
        var waits: [UInt64] = []
        for _ in 0..<7 {
            #expect(bench.members == ["StartNotify"])
            bench.refuse("StartNotify", "org.bluez.Error.NotConnected")
            bench.changed(["Trusted": .boolean(true)])
            #expect(bench.members == [])
            let wait = bench.deadline.map { $0.milliseconds(since: bench.now) } ?? 0
            waits.append(wait)
            bench.pass(milliseconds: wait)
        }
        #expect(waits == [200, 400, 800, 1_600, 3_200, 5_000, 5_000])
        bench.refuse("StartNotify", "org.bluez.Error.NotConnected")
        bench.changed(["Connected": .boolean(false), "ServicesResolved": .boolean(false)])
        #expect(bench.members == ["UnregisterApplication"])
        bench.answer("UnregisterApplication")
        bench.answer("RegisterApplication")
        #expect(bench.members == [] && bench.deadline == nil)
        bench.comesUp()
        bench.answer("StartNotify")
        #expect(bench.members == [] && bench.deadline == nil)
        // Granted once, it is refused for the first time again.
        bench.changed(["Connected": .boolean(false), "ServicesResolved": .boolean(false)])
        bench.comesUp()
        bench.refuse("StartNotify", "org.bluez.Error.NotConnected")
        #expect(bench.deadline.map { $0.milliseconds(since: bench.now) } == 200)
    }

    @Test("A link that stands already when it is wished for is told at once, and one that nobody wants is nobody's")
    func standing() {
        var bench = Bench()
        bench.launch(lock: ["Connected": .boolean(true), "ServicesResolved": .boolean(true)])
        #expect(bench.handle(.wished(Bench.wishes)).contains(.connected(Bench.info)))
        #expect(bench.handle(.wished(BlueZWishes())) == [.disconnected(link: Script.lock)])
        #expect(bench.notified([7]) == [])
    }

    @Test("A link that bluetoothd does not end is used again, for the wish that stands and for the next one")
    func notEnded() {
        for wishes in [Bench.wishes, BlueZWishes()] {
            var bench = Bench.linked()
            bench.answer("StartNotify")
            bench.handle(.wished(wishes))
            bench.handle(.disconnect(link: Script.lock))
            let due = BlueZCentral.endingMaximumMilliseconds
            #expect(bench.deadline == bench.now.advanced(byMilliseconds: due))
            #expect(!bench.pass(milliseconds: due - 1).contains(.connected(Bench.info)))
            let isWished = wishes == Bench.wishes
            #expect(bench.pass(milliseconds: 1).contains(.connected(Bench.info)) == isWished)
            #expect(bench.handle(.wished(Bench.wishes)).contains(.connected(Bench.info)) != isWished)
        }
    }

    @Test(
        "A wish that is withdrawn before its link is told disarms its device: bluetoothd would connect with it for nobody"
    )
    func withdrawn() {
        for isComing in [false, true] {
            var bench = Bench.registered()
            if isComing { bench.changed(["Connected": .boolean(true)]) }
            bench.handle(.wished(BlueZWishes()))
            #expect(bench.members == ["Disconnect", "UnregisterApplication"])
            #expect(bench.calls.first?.call.path == Script.lock)
            bench.answer("Disconnect")
            bench.answer("UnregisterApplication")
            #expect(bench.handle(.wished(BlueZWishes())) == [] && bench.members == [])
            // The next wish arms it again, and a link that is ending is not what is wished for.
            bench.handle(.wished(Bench.wishes))
            #expect(bench.members == ["RegisterApplication"])
            if isComing { #expect(bench.changed(["ServicesResolved": .boolean(true)]) == []) }
            bench.answer("RegisterApplication")
            if isComing { bench.changed(["Connected": .boolean(false), "ServicesResolved": .boolean(false)]) }
            bench.answer("UnregisterApplication")
            bench.answer("RegisterApplication")
            #expect(bench.comesUp() == [.connected(Bench.info)])
        }
    }

    @Test("A bus that opens anew, and whose end was not told: nothing that was known on the one before is called")
    func openedAnew() {
        var bench = Bench.registered()
        bench.handle(.bus(.opened))
        bench.handle(.wished(BlueZWishes()))
        #expect(bench.members == ["GetNameOwner"])
    }

    @Test("A link that another bluetoothd has left unresolved is ended, once, and comes back by itself")
    func stuck() {
        var bench = Bench()
        bench.handle(.wished(Bench.wishes))
        bench.launch(lock: ["Connected": .boolean(true)])
        bench.answer("RegisterApplication")
        #expect(bench.deadline == bench.now.advanced(byMilliseconds: 1_500))
        bench.pass(milliseconds: 1_499)
        #expect(bench.members == [])
        bench.pass(milliseconds: 1)
        #expect(bench.members == ["Set", "Disconnect"])
        bench.answer("Set")
        bench.answer("Disconnect")
        bench.pass(milliseconds: 5_000)
        #expect(bench.members == [])
        bench.changed(["Connected": .boolean(false)])
        bench.answer("UnregisterApplication")
        bench.answer("RegisterApplication")
        #expect(bench.comesUp() == [.connected(Bench.info)])
        #expect(bench.members == ["StartNotify"])
    }

    @Test("A link that this side sees being made has all the time that a tree takes")
    func slow() {
        var bench = Bench.registered()
        bench.changed(["Connected": .boolean(true)])
        bench.pass(milliseconds: 29_000)
        #expect(bench.members == [])
        #expect(bench.changed(["ServicesResolved": .boolean(true)]) == [.connected(Bench.info)])
    }

    @Test("A tree that changes is said, and a device that is removed is gone")
    func changes() {
        var bench = Bench.linked()
        func signal(_ member: String, _ body: [DBusValue]) -> [BlueZCentral.Output] {
            bench.handle(
                .bus(
                    .signal(
                        DBusMessage(
                            sender: Script.daemon, path: "/", interface: "org.freedesktop.DBus.ObjectManager",
                            member: member, body: body))))
        }
        let gone: [DBusValue] = [.objectPath(Script.command), .strings(["org.bluez.GattCharacteristic1"])]
        #expect(signal("InterfacesRemoved", gone) == [.treeChanged(link: Script.lock)])
        #expect(
            signal("InterfacesRemoved", [.objectPath(Script.lock), .strings(["org.bluez.Device1"])]) == [
                .disconnected(link: Script.lock)
            ])
        #expect(signal("InterfacesAdded", [.objectPath("/org/bluez"), .string("no interfaces")]) == [])
    }

    @Test("Whoever looks for devices hears of them while they are heard, and bluetoothd looks no longer than that")
    func scanning() {
        var bench = Bench()
        bench.launch()
        bench.handle(.wished(BlueZWishes(isScanning: true)))
        #expect(bench.members == ["SetDiscoveryFilter", "StartDiscovery"])
        bench.answer("SetDiscoveryFilter")
        bench.answer("StartDiscovery")
        let seen = bench.changed(["RSSI": .int16(-61)])
        guard case .seen(let sighting)? = seen.first, seen.count == 1 else {
            Issue.record("\(seen)")
            return
        }
        #expect(sighting.address == Script.lockAddress && sighting.rssi == -61 && sighting.name == "Latch")
        bench.handle(.wished(BlueZWishes()))
        #expect(bench.members == ["StopDiscovery"])
        bench.answer("StopDiscovery")
        #expect(bench.changed(["RSSI": .int16(-62)]) == [] && bench.members == [])
    }

    // MARK: Two adapters

    @Test(
        "Where the adapter in use goes off, everything begins anew on the next one; and stays there when it is on again"
    )
    func nextAdapter() {
        var bench = Bench()
        bench.launch()
        bench.handle(.wished(BlueZWishes(connections: [Script.lockAddress], isScanning: true)))
        bench.answer("RegisterApplication")
        bench.answer("SetDiscoveryFilter")
        bench.answer("StartDiscovery")
        bench.comesUp()
        #expect(bench.handle(.bus(Script.second)) == [])
        let told = bench.powered(false)
        #expect(told == [.state(.off), .disconnected(link: Script.lock), .state(.on)])
        #expect(bench.calls.filter { $0.call.member == "StartDiscovery" }.map(\.call.path) == ["/org/bluez/hci1"])
        bench.answer("SetDiscoveryFilter")
        bench.answer("StartDiscovery")
        #expect(bench.powered(true) == [])
        #expect(!bench.members.contains("StartDiscovery") && !bench.members.contains("StopDiscovery"))
    }
}
