import BlueZSupport
import BluetoothCore
import DBus
import Testing

@testable import BlueZ

@Suite("An adapter of bluetoothd's that is pulled out while it is asked for something")
struct BlueZUnpluggedTests {
    private typealias Bench = BlueZBench
    private typealias Script = BlueZScript

    /// Pulled out, plugged in, and on.
    private static func replug(_ bench: inout Bench) {
        for event in Script.unplugged + Script.plugged { bench.handle(.bus(event)) }
        #expect(!bench.machine.isOn)
        bench.powered(true)
        #expect(bench.machine.isOn)
    }

    /// bluetoothd lets the registrations of an adapter that goes fall, and answers none of them.
    @Test("A registration that has no answer has none for ever: with the adapter's return this side registers anew")
    func registering() throws {
        var bench = Bench()
        bench.launch()
        bench.handle(.wished(Bench.wishes))
        let unanswered = try bench.unanswered("RegisterApplication")
        Self.replug(&bench)
        #expect(bench.members == ["RegisterApplication"])
        // Nor does an answer to the first one count as one to the second.
        bench.handle(.bus(.answered(unanswered, .failure(DBusError(name: "org.freedesktop.DBus.Error.NoReply")))))
        bench.answer("RegisterApplication")
        #expect(bench.members == [] && bench.deadline == nil)
        bench.changed(["Connected": .boolean(true)])
        #expect(bench.changed(["ServicesResolved": .boolean(true)]) == [.connected(Bench.info)])
    }

    @Test("What was registered, or was about to leave, at the adapter that is gone is registered anew, once")
    func registered() throws {
        for isLeaving in [false, true] {
            var bench = Bench.linked()
            bench.answer("StartNotify")
            if isLeaving {
                bench.handle(.disconnect(link: Script.lock))
                for member in ["Disconnect", "UnregisterApplication"] { _ = try bench.unanswered(member) }
            }
            Self.replug(&bench)
            // With its devices the adapter has lost what it was registered for.
            let last = isLeaving ? [] : ["UnregisterApplication"]
            #expect(bench.members == last + ["RegisterApplication"], "leaving: \(isLeaving)")
            bench.refuse("UnregisterApplication", "org.freedesktop.DBus.Error.UnknownObject")
            bench.answer("RegisterApplication")
            #expect(bench.members == [])
        }
    }

    @Test("Another adapter that goes leaves the registration as it is")
    func other() {
        var bench = Bench()
        bench.launch()
        bench.handle(.bus(Script.second))
        bench.handle(.wished(Bench.wishes))
        bench.handle(.bus(Script.secondGone))
        #expect(bench.members == ["RegisterApplication"])
        bench.answer("RegisterApplication")
        #expect(bench.members == [])
    }
}
