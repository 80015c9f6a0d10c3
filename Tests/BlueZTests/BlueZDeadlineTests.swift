import BlueZSupport
import BluetoothCore
import DBus
import GATT
import Testing

@testable import BlueZ

/// What a loop waits for. A deadline that stays in the past has it turn without end: ``BlueZBench`` looks for one behind each event of each
/// test, and these are the states that keep something for later and do not know when.
@Suite("What the central role beside bluetoothd waits for")
struct BlueZDeadlineTests {
    private typealias Bench = BlueZBench
    private typealias Script = BlueZScript

    private static func wait(_ bench: Bench) -> UInt64 { bench.deadline.map { $0.milliseconds(since: bench.now) } ?? 0 }

    @Test("Notifications that a peer has refused are asked for once more, and nothing is waited for before the answer")
    func unansweredNotify() {
        var bench = Bench.linked()
        bench.refuse("StartNotify", "org.bluez.Error.Failed")
        #expect(Self.wait(bench) == 200)
        bench.pass(milliseconds: 200)
        #expect(bench.members == ["StartNotify"] && bench.deadline == nil)
        bench.pass(milliseconds: 30_000)
        bench.refuse("StartNotify", "org.bluez.Error.Failed")
        #expect(Self.wait(bench) == 400, "later and later")
    }

    @Test("Notifications that were refused wait with a link whose tree is unknown again, and are asked for behind it")
    func unresolvedRefusal() {
        var bench = Bench.linked()
        bench.refuse("StartNotify", "org.bluez.Error.Failed")
        bench.changed(["ServicesResolved": .boolean(false)])
        #expect(Self.wait(bench) == 30_000)
        bench.pass(milliseconds: 1_000)
        #expect(bench.members == [] && Self.wait(bench) == 29_000)
        bench.changed(["ServicesResolved": .boolean(true)])
        #expect(bench.members == ["StartNotify"] && bench.deadline == nil)
        // Refused behind that.
        bench.changed(["ServicesResolved": .boolean(false)])
        bench.refuse("StartNotify", "org.bluez.Error.Failed")
        bench.pass(milliseconds: 1_000)
        #expect(bench.members == [] && Self.wait(bench) == 29_000)
    }

    @Test("Notifications that an app asks for itself meanwhile are not waited for twice")
    func appsOwnNotify() {
        var bench = Bench.linked()
        bench.refuse("StartNotify", "org.bluez.Error.Failed")
        bench.handle(.operation(1, link: Script.lock, .configure(Script.challengeConfiguration, .notification)))
        #expect(bench.members == ["StartNotify"])
        bench.pass(milliseconds: 200)
        #expect(bench.members == ["StartNotify"] && bench.deadline == nil)
    }

    @Test("A registration that has no answer is taken back and asked for anew, and its late answer counts for nothing")
    func unansweredRegistration() throws {
        var bench = Bench()
        bench.launch()
        bench.handle(.wished(Bench.wishes))
        let unanswered = try bench.unanswered("RegisterApplication")
        bench.pass(milliseconds: 29_999)
        #expect(bench.members == [] && Self.wait(bench) == 1)
        bench.pass(milliseconds: 1)
        #expect(bench.members == ["UnregisterApplication"])
        bench.handle(.bus(.answered(unanswered, .success([]))))
        bench.refuse("UnregisterApplication", "org.bluez.Error.DoesNotExist")
        #expect(bench.members == ["RegisterApplication"])
        bench.answer("RegisterApplication")
        #expect(bench.members == [] && bench.deadline == nil)
        bench.pass(milliseconds: 60_000)
        #expect(bench.members == [])
    }

    @Test("What was to leave and has no answer is taken for gone")
    func unansweredLeaving() throws {
        var bench = Bench.linked()
        bench.answer("StartNotify")
        bench.handle(.disconnect(link: Script.lock))
        let unanswered = try bench.unanswered("UnregisterApplication")
        bench.answer("Disconnect")
        bench.changed(["Connected": .boolean(false)])
        bench.pass(milliseconds: 30_000)
        #expect(bench.members == ["RegisterApplication"])
        bench.handle(.bus(.answered(unanswered, .success([]))))
        bench.answer("RegisterApplication")
        #expect(bench.members == [] && bench.deadline == nil)
    }

    @Test(
        "An answer that is waited for while the adapter is off is given up, too, and nothing is asked before it is on")
    func unansweredAndOff() throws {
        var bench = Bench()
        bench.launch()
        bench.handle(.wished(Bench.wishes))
        _ = try bench.unanswered("RegisterApplication")
        bench.powered(false)
        // It may have registered them.
        bench.answer("Disconnect")
        #expect(Self.wait(bench) == 30_000)
        bench.pass(milliseconds: 30_000)
        #expect(bench.members == [] && bench.deadline == nil)
        bench.powered(true)
        #expect(bench.members == ["UnregisterApplication"])
        bench.answer("UnregisterApplication")
        #expect(bench.members == ["RegisterApplication"])
    }

    @Test("A stranger who falls silent while a call waits is waited for without a clock, and called once heard again")
    func silentStranger() {
        var bench = Bench()
        bench.launch(lock: ["Paired": .boolean(false), "RSSI": .int16(-60)])
        bench.handle(.wished(BlueZWishes(strangers: [Script.lockAddress])))
        bench.refuse("Connect", "org.bluez.Error.Failed")
        #expect(Self.wait(bench) == 2_000)
        bench.handle(
            .bus(
                .signal(
                    DBusMessage(
                        sender: Script.daemon, path: Script.lock, interface: DBusName.properties,
                        member: "PropertiesChanged",
                        body: [.string("org.bluez.Device1"), .properties([:]), .strings(["RSSI"])]))))
        bench.pass(milliseconds: 2_000)
        #expect(!bench.members.contains("Connect") && bench.deadline == nil)
        bench.changed(["RSSI": .int16(-61)])
        #expect(bench.members.contains("Connect"))
        bench.refuse("Connect", "org.bluez.Error.Failed")
        #expect(Self.wait(bench) == 4_000, "later and later")
    }

    @Test("A registration that was refused is not waited for when its wish has gone, or its adapter is off")
    func refusedRegistration() {
        for isOff in [false, true] {
            var bench = Bench()
            bench.launch()
            bench.handle(.wished(Bench.wishes))
            bench.refuse("RegisterApplication", "org.bluez.Error.Failed")
            #expect(Self.wait(bench) == 1_000)
            if isOff { bench.powered(false) } else { bench.handle(.wished(BlueZWishes())) }
            // It may be armed all the same.
            #expect(bench.takeCall("Disconnect") != nil)
            bench.pass(milliseconds: 1_000)
            #expect(bench.members == [] && bench.deadline == nil)
            if isOff { bench.powered(true) } else { bench.handle(.wished(Bench.wishes)) }
            #expect(bench.members == ["RegisterApplication"])
        }
    }
    @Test("A bluetoothd that has not said what it has is asked again, until it does or is another one")
    func refusedObjects() {
        let reason = "bluetoothd does not say what it has (org.freedesktop.DBus.Error.LimitsExceeded)"
        var bench = Bench()
        bench.handle(.wished(Bench.wishes))
        bench.handle(.bus(.opened))
        for _ in 0..<3 {
            bench.answer("GetNameOwner", [.string(Script.daemon)])
            bench.refuse("GetManagedObjects", "org.freedesktop.DBus.Error.LimitsExceeded")
            #expect(bench.machine.absence == reason && Self.wait(bench) == 30_000)
            #expect(bench.pass(milliseconds: 29_999) == [] && bench.members == [])
            #expect(bench.pass(milliseconds: 1) == [] && bench.members == ["GetNameOwner"])
            #expect(bench.machine.absence == reason && bench.deadline == nil)
        }
        bench.answer("GetNameOwner", [.string(Script.daemon)])
        #expect(bench.answer("GetManagedObjects", [Script.objects()]) == [.state(.on)])
        #expect(bench.machine.absence == nil && bench.members == ["RegisterApplication"])

        bench = Bench()
        bench.handle(.bus(.opened))
        bench.answer("GetNameOwner", [.string(Script.daemon)])
        bench.refuse("GetManagedObjects", "org.freedesktop.DBus.Error.AccessDenied")
        bench.pass(milliseconds: 30_000)
        bench.refuse("GetNameOwner", "org.freedesktop.DBus.Error.NameHasNoOwner")
        #expect(bench.machine.absence == "no bluetoothd is on the system bus" && bench.deadline == nil)
        bench.owner(Script.daemon, before: "")
        bench.refuse("GetManagedObjects", "org.freedesktop.DBus.Error.AccessDenied")
        bench.owner(":1.9")
        #expect(bench.members == ["GetManagedObjects"] && bench.deadline == nil)
    }
}
