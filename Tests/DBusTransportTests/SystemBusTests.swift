import BusSupport
import DBus
import Dispatch
import Foundation
import HCITransport
import Synchronization
import TestSupport
import Testing

@testable import DBusTransport

/// Against the reference implementation of the bus.
@Suite("A connection to a bus", .timeLimit(.minutes(30)))
struct SystemBusTests {
    private static let name = "org.latch.Test"

    private static func parties(
        _ bus: PrivateBus, _ loop: EventLoop, clientServesAnybody: Bool = false
    ) throws -> (client: Party, server: Party) {
        let matches = ["type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(name)'"]
        let client = Party(at: bus.address, loop, matches: matches, servesAnybody: clientServesAnybody)
        let server = Party(at: bus.address, loop, servesAnybody: true)
        client.start()
        server.start()
        let owned = server.callBus("RequestName", [.string(name), .uint32(0)])
        try loop.run([client, server]) { server.answer(to: owned) != nil }
        #expect(server.answer(to: owned) == .success([.uint32(1)]))
        return (client, server)
    }

    /// One of each type, nested as deep as bluetoothd's are and deeper.
    private static let values: [DBusValue] = [
        .byte(255), .boolean(true), .boolean(false), .int16(-32_768), .uint16(65_535), .int32(.min), .uint32(.max),
        .int64(.min), .uint64(.max), .double(-0.25), .string("Tür"), .string(""), .objectPath("/org/bluez/hci0"),
        .signature("a{sv}"), .octets([]), .octets([0, 1, 255]), .array(of: "s", []), .strings(["a", "b"]),
        .structure([.byte(7), .octets([1])]), .variant(.variant(.uint16(5))),
        .properties(["Value": .octets([9]), "Name": .string("x"), "Empty": .properties([:])]),
        .array(
            of: "{oa{sa{sv}}}",
            [
                .entry(
                    .objectPath("/a"),
                    .array(of: "{sa{sv}}", [.entry(.string("i"), .properties(["RSSI": .int16(-60)]))]))
            ]),
        .array(of: "(yyay)", [.structure([.byte(0), .byte(7), .octets([1, 2])])]),
    ]

    @Test("What is called comes as it was said, and so does the answer, whatever the types are")
    func values() throws {
        let (bus, loop) = (try PrivateBus(), try EventLoop(signals: []))
        let (client, server) = try Self.parties(bus, loop)
        server.service = { .success($0.body) }
        let call = client.call(Self.name, "/a/b", "org.latch.Echo", "Say", Self.values)
        try loop.run([client, server]) { client.answer(to: call) != nil }
        #expect(client.answer(to: call) == .success(Self.values))
        let heard = server.events.compactMap { event -> DBusMessage? in
            if case .called(_, let message) = event { message } else { nil }
        }
        #expect(heard.map(\.body) == [Self.values] && heard.first?.path == "/a/b" && heard.first?.member == "Say")
        #expect(heard.first?.interface == "org.latch.Echo" && heard.first?.sender.hasPrefix(":1.") == true)
    }

    @Test("Whether somebody has a name is asked of the bus, and nobody has one where there is no bus")
    func owned() throws {
        let (bus, loop) = (try PrivateBus(), try EventLoop(signals: []))
        let place = SystemBus.Place.address(bus.address)
        #expect(!SystemBus.isOwned(Self.name, at: place))
        let parties = try Self.parties(bus, loop)
        withExtendedLifetime(parties) { #expect(SystemBus.isOwned(Self.name, at: place)) }
        #expect(!SystemBus.isOwned("no name", at: place))
        #expect(!SystemBus.isOwned(Self.name, at: .address("unix:path=/nowhere/bus")))
    }

    @Test(
        "Whether somebody has a name is said by the bus alone, also on one that lets forged answers through",
        arguments: [false, true])
    func forgedOwner(isOwned: Bool) throws {
        let (bus, loop) = (try PrivateBus(passesEverything: true), try EventLoop(signals: []))
        let parties = isOwned ? try Self.parties(bus, loop) : nil
        let relay = try Relay(to: bus.address)
        let place = SystemBus.Place.address(relay.address)
        let inquiry = Inquiry { SystemBus.isOwned(Self.name, at: place, waitMilliseconds: 60_000) }
        try relay.begin()
        // Nobody has a connection's name before the bus has given it.
        try relay.pass { $0.contains("NameAcquired") }
        let victim = try #require(relay.said.firstMatch(of: /:1\.[0-9]+/).map { String($0.0) })
        let forger = try Forger(at: bus.address)
        for number: UInt32 in 1...64 {
            if isOwned { forger.refuse(victim, number, "org.latch.Forged") }
            forger.answer(victim, number, !isOwned)
        }
        // Behind them on the same connection.
        forger.call(victim, "Last")
        try relay.pass { $0.contains("Last") }
        relay.letGo()
        try relay.pass { _ in false }
        #expect(inquiry.answer == isOwned)
        withExtendedLifetime(parties) {}
    }

    /// A question that waits, on a thread of its own.
    private final class Inquiry: Sendable {
        private let said = Mutex<Bool?>(nil)
        private let isSaid = DispatchSemaphore(value: 0)

        init(_ ask: @escaping @Sendable () -> Bool) {
            Thread.detachNewThread { [self] in
                let answer = ask()
                said.withLock { $0 = answer }
                isSaid.signal()
            }
        }

        var answer: Bool? {
            isSaid.wait()
            return said.withLock { $0 }
        }
    }

    @Test("A refusal has its name and its text, and what nobody has is refused by the bus")
    func refusals() throws {
        let (bus, loop) = (try PrivateBus(), try EventLoop(signals: []))
        let (client, server) = try Self.parties(bus, loop)
        let error = DBusError(name: "org.bluez.Error.Failed", text: "Operation failed with ATT error: 0x0e")
        server.service = { _ in .failure(error) }
        let refused = client.call(Self.name, "/", "a.b", "C")
        let nobody = client.call("org.latch.Nobody", "/", "a.b", "C")
        try loop.run([client, server]) { client.answer(to: refused) != nil && client.answer(to: nobody) != nil }
        #expect(client.answer(to: refused) == .failure(error))
        guard case .failure(let unknown)? = client.answer(to: nobody) else {
            Issue.record("somebody answered")
            return
        }
        #expect(unknown.name == "org.freedesktop.DBus.Error.ServiceUnknown")
    }

    @Test("What no message can carry is refused here, and the connection stays")
    func unsendable() throws {
        let (bus, loop) = (try PrivateBus(), try EventLoop(signals: []))
        let (client, server) = try Self.parties(bus, loop)
        server.service = { .success($0.body) }
        let bad = [
            client.call(Self.name, "no path", "a.b", "C"), client.call(Self.name, "/", "a.b", "C", [.objectPath("no")]),
            client.call(Self.name, "/", "a.b", "C", [.string("a\0b")]),
        ]
        let good = client.call(Self.name, "/", "a.b", "C", [.byte(1)])
        try loop.run([client, server]) { (bad + [good]).allSatisfy { client.answer(to: $0) != nil } }
        #expect(
            bad.allSatisfy {
                client.answer(to: $0) == .failure(DBusError(name: "org.freedesktop.DBus.Error.InvalidArgs"))
            })
        #expect(client.answer(to: good) == .success([.byte(1)]))
    }

    @Test("Signals that are matched are heard, with the name of whoever has sent them")
    func signals() throws {
        let (bus, loop) = (try PrivateBus(), try EventLoop(signals: []))
        let (client, server) = try Self.parties(bus, loop)
        func owners() -> [[DBusValue]] {
            client.events.compactMap { event in
                guard case .signal(let signal) = event, signal.member == "NameOwnerChanged" else { return nil }
                return signal.sender == "org.freedesktop.DBus" ? signal.body : nil
            }
        }
        try loop.run([client, server]) { owners().count == 1 }
        let unique = owners()[0][2]
        #expect(owners()[0][0] == .string(Self.name) && owners()[0][1] == .string(""))
        server.bus.end()
        try loop.run([client, server]) { owners().count == 2 }
        #expect(owners()[1] == [.string(Self.name), unique, .string("")])
    }

    @Test("A bus that goes is said, what was called has no answer, and the connection is made again when there is one")
    func reopened() throws {
        let (folder, loop) = (ScratchDirectory(), try EventLoop(signals: []))
        let address = "unix:path=\(folder.path)/bus"
        let client = Party(at: address, loop)
        client.start()
        #expect(client.events == [] && !client.hasEnded)
        guard case .unavailable(let error, _)? = client.notices.first else {
            Issue.record("\(client.notices)")
            return
        }
        #expect(error.kind == .notFound && error.description.hasPrefix("the bus at \(address): "))
        let first = try PrivateBus.begin(at: address)
        try loop.run([client]) { client.events == [.opened] }
        let known = client.callBus("GetNameOwner", [.string("org.freedesktop.DBus")])
        try loop.run([client]) { client.answer(to: known) != nil }
        first.signal(9)
        first.wait()
        try loop.run([client]) { client.events.last == .closed }
        let unheard = client.callBus("GetNameOwner", [.string("org.freedesktop.DBus")])
        let second = try PrivateBus.begin(at: address)
        try loop.run([client]) { client.events.last == .opened }
        #expect(client.answer(to: unheard) == nil && second.isRunning)
        let again = client.callBus("GetNameOwner", [.string("org.freedesktop.DBus")])
        try loop.run([client]) { client.answer(to: again) != nil }
        #expect(client.answer(to: again) == .success([.string("org.freedesktop.DBus")]))
    }

    @Test("More messages than one iteration takes come all the same, in order")
    func many() throws {
        let (bus, loop) = (try PrivateBus(), try EventLoop(signals: []))
        let (client, server) = try Self.parties(bus, loop)
        var heard: [DBusValue] = []
        server.service = { message in
            heard += message.body
            return .success([])
        }
        let calls = (0..<UInt32(1_000)).map { client.call(Self.name, "/", "a.b", "C", [.uint32($0)]) }
        try loop.run([client, server]) { calls.last.flatMap { client.answer(to: $0) } != nil }
        #expect(heard == (0..<1_000).map { .uint32($0) })
    }

    @Test("So many calls of others wait for an answer, and one more is refused; one that is answered makes room")
    func requests() throws {
        let (bus, loop) = (try PrivateBus(), try EventLoop(signals: []))
        let (client, server) = try Self.parties(bus, loop)
        let calls = (0...SystemBus.requestsMaximum).map { _ in client.call(Self.name, "/", "a.b", "C") }
        let last = try #require(calls.last)
        try loop.run([client, server]) { client.answer(to: last) != nil }
        guard case .failure? = client.answer(to: last), calls.dropLast().allSatisfy({ client.answer(to: $0) == nil })
        else {
            Issue.record("\(calls.map { client.answer(to: $0) })")
            return
        }
        server.bus.perform(.answer(DBusRequestID(rawValue: 1), []))
        let next = client.call(Self.name, "/", "a.b", "C")
        try loop.run([client, server]) {
            client.answer(to: calls[0]) != nil
                && server.events.count { if case .called = $0 { true } else { false } } == 65
        }
        #expect(client.answer(to: next) == nil)
    }

    enum Destination: CaseIterable { case name, owner, bus }

    @Test(
        "An answer that another connection forges, on a bus that lets it through, is none: the call's own counts",
        arguments: Destination.allCases)
    func forgedAnswer(to destination: Destination) throws {
        let (bus, loop) = (try PrivateBus(passesEverything: true), try EventLoop(signals: []))
        // By a call the forger says when it has said all.
        let (client, server) = try Self.parties(bus, loop, clientServesAnybody: true)
        let owner = try Self.owner(client, server, loop)
        var calls: [DBusCallID] = []
        switch destination {
        case .name: calls.append(client.call(Self.name, "/", "a.b", "C"))
        case .owner: calls.append(client.call(owner, "/", "a.b", "C"))
        // It answers at once, and nothing else is to be heard of these.
        case .bus: break
        }
        func requests() -> [(DBusRequestID, sender: String)] {
            server.events.compactMap { if case .called(let id, let message) = $0 { (id, message.sender) } else { nil } }
        }
        // Whoever is called knows who has called.
        if calls.isEmpty { client.call(owner, "/", "a.b", "Here") }
        try loop.run([client, server]) { !requests().isEmpty }
        let victim = requests()[0].sender
        let forger = try Forger(at: bus.address)
        for number: UInt32 in 1...64 {
            forger.answer(victim, number, "forged")
            forger.refuse(victim, number, "org.latch.Forged")
        }
        if destination == .bus { calls.append(client.callBus("GetNameOwner", [.string(Self.name)])) }
        // Behind them on the same connection.
        forger.call(victim, "Last")
        try loop.run([client, server]) {
            client.events.contains { if case .called(_, let message) = $0 { message.member == "Last" } else { false } }
        }
        if destination != .bus {
            #expect(client.answer(to: calls[0]) == nil)
            server.bus.perform(.answer(requests()[0].0, [.string("true")]))
        }
        try loop.run([client, server]) { client.answer(to: calls[0]) != nil }
        #expect(client.answer(to: calls[0]) == .success([.string(destination == .bus ? owner : "true")]))
    }

    private static func owner(_ client: Party, _ server: Party, _ loop: EventLoop) throws -> String {
        let asked = client.callBus("GetNameOwner", [.string(name)])
        try loop.run([client, server]) { client.answer(to: asked) != nil }
        guard case .success(let body)? = client.answer(to: asked) else { return "" }
        return try #require(body.first?.text)
    }

    @Test("A name that a service gets after the call: its answer counts, and a later owner's of a later call")
    func lateOwner() throws {
        let (bus, loop) = (try PrivateBus(), try EventLoop(signals: []))
        let (_, server) = try Self.parties(bus, loop)
        // Without matches of its own: what it hears of owners it has asked for by itself.
        let client = Party(at: bus.address, loop)
        client.start()
        server.service = { _ in .success([.byte(1)]) }
        let first = client.call(Self.name, "/", "a.b", "C")
        try loop.run([client, server]) { client.answer(to: first) != nil }
        let next = Party(at: bus.address, loop, servesAnybody: true)
        next.start()
        next.service = { _ in .success([.byte(2)]) }
        let released = server.callBus("ReleaseName", [.string(Self.name)])
        try loop.run([client, server, next]) { server.answer(to: released) != nil }
        let owned = next.callBus("RequestName", [.string(Self.name), .uint32(0)])
        try loop.run([client, server, next]) { next.answer(to: owned) != nil }
        let second = client.call(Self.name, "/", "a.b", "C")
        try loop.run([client, server, next]) { client.answer(to: second) != nil }
        #expect(client.answer(to: first) == .success([.byte(1)]) && client.answer(to: second) == .success([.byte(2)]))
    }
}
