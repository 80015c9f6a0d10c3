import BluetoothCore
import CLinux
import Glibc
import HCI
import TestSupport
import Testing

@testable import HCITransport

private let event: [UInt8] = [4, 0x0E, 4, 1, 3, 0x0C, 0]
private let reset: [UInt8] = [1, 3, 0x0C, 0]

/// No waiting between attempts: a test has no time.
private let atOnce = TransportRecovery.BackOff(firstMilliseconds: 0, maximumMilliseconds: 0)

/// A connection on a loop of its own, and what it told.
private final class Rig {
    let loop: EventLoop
    let connection: ControllerConnection
    var said: [String] = []
    var notices: [TransportNotice] = []
    var failure: TransportError?
    var onOpened: () -> Void = {}
    var onBegin: () -> Void = {}
    var onPacket: () -> Void = {}
    var indicator: UInt8?
    var onOutOfStep: () -> Void = {}

    init(
        canReopen: Bool = true, first: Result<HCIStream, TransportError>,
        next: @escaping () throws(TransportError) -> HCIStream = { () throws(TransportError) in
            throw TransportError(.notFound, "none left")
        }
    ) throws {
        loop = try EventLoop(signals: [])
        connection = ControllerConnection(
            first, name: "test", canReopen: canReopen, loop: loop, backOff: atOnce, reopenedBy: next)
    }

    /// Runs until `condition` holds at an iteration's end.
    func run(until condition: @escaping () -> Bool) throws {
        loop.onDeadline = { [unowned self] in connection.timerFired() }
        connection.start(
            ControllerConnection.Listener(
                begin: { [unowned self] in onBegin() },
                opened: { [unowned self] in
                    said.append("opened")
                    onOpened()
                },
                closed: { [unowned self] in said.append("closed") },
                packet: { [unowned self] type, octets in
                    said.append("packet \(type.rawValue) of \(octets.byteCount)")
                    onPacket()
                },
                outOfStep: { [unowned self] in
                    said.append("out of step")
                    indicator = $0
                    onOutOfStep()
                },
                notice: { [unowned self] in notices.append($0) },
                ended: { [unowned self] in failure = $0 }))
        guard !condition() else { return }
        loop.deadline = connection.deadline
        try loop.run { [unowned self] in
            connection.flush()
            loop.deadline = connection.deadline
            return condition() ? .stop : .wait
        }
    }
}

/// A stream, and the controller's end of it.
private final class Plug {
    let stream: HCIStream
    let controller: OwnedDescriptor

    init() throws(TransportError) {
        let ends: (Int32, Int32)
        do { ends = try makeSocketPair() } catch {
            throw TransportError(system: error.errorNumber, "socketpair")
        }
        controller = OwnedDescriptor(ends.0)
        stream = HCIStream(try Transport.open(.inherited(ends.1)))
    }
}

/// The controller's ends, of which one is kept at a time.
private final class Controllers {
    private(set) var made = 0
    private var current: Plug?
    /// What each one says when it is plugged in, before the next takes its place.
    var greeting: [UInt8] = []
    /// The last of them stays.
    let last: Int

    init(last: Int) { self.last = last }

    func open() throws(TransportError) -> HCIStream {
        let plug = try Plug()
        let stream = plug.stream
        made += 1
        _ = write(plug.controller.rawValue, greeting, greeting.count)
        if made == last { current = plug }
        return stream
    }
}

/// Sockets that this process has open, which every transport of these tests is. Other descriptors come and go with the
/// threads of the system's libraries.
private func openSockets() -> Int {
    guard let folder = opendir("/proc/self/fd") else { return -1 }
    defer { closedir(folder) }
    var count = 0
    while let entry = readdir(folder) {
        let number = withUnsafeBytes(of: entry.pointee.d_name) { octets in
            Int32(String(decoding: octets.prefix { $0 != 0 }, as: UTF8.self))
        }
        var type: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        if let number, getsockopt(number, SOL_SOCKET, SO_TYPE, &type, &length) == 0 { count += 1 }
    }
    return count
}

@Suite("The way to a controller")
struct ControllerConnectionTests {
    @Test("a controller that goes and comes back: closed once, opened again, and what it says is heard")
    func replug() throws {
        let controllers = Controllers(last: 3)
        controllers.greeting = event
        let rig = try Rig(first: .success(controllers.open()), next: controllers.open)
        try rig.run { rig.said.count == 8 }
        #expect(
            rig.said == [
                "opened", "packet 4 of 6", "closed", "opened", "packet 4 of 6", "closed", "opened", "packet 4 of 6",
            ])
        let gone = TransportNotice.lost(reason: "the controller is gone", retryMilliseconds: 0)
        #expect(rig.notices == [gone, .found, gone, .found])
    }

    @Test("a controller that comes later than its host is found, after attempts in vain")
    func late() throws {
        let absent = TransportError(.notFound, "not yet")
        let controllers = Controllers(last: 1)
        var attempts = 0
        let rig = try Rig(first: .failure(absent)) { () throws(TransportError) in
            attempts += 1
            guard attempts == 10 else { throw absent }
            return try controllers.open()
        }
        try rig.run { !rig.said.isEmpty }
        #expect(rig.said == ["opened"])
        #expect(rig.notices == [.unavailable(absent, retryMilliseconds: 0), .found])
    }

    @Test("what is sent while the controller is away goes nowhere, and the next one gets only its own")
    func sentWhileAway() throws {
        let plug = try Plug()
        let stream = plug.stream
        let rig = try Rig(first: .failure(TransportError(.notFound, "not yet"))) { () throws(TransportError) in stream }
        rig.connection.send(event.span.bytes)
        rig.onOpened = { [unowned rig] in rig.connection.send(reset.span.bytes) }
        try rig.run { !rig.said.isEmpty }
        #expect(plug.controller.get() == reset)
    }

    @Test("an inherited descriptor that ends is not opened again: the number may be another's")
    func inherited() throws {
        let controllers = Controllers(last: 2)
        let rig = try Rig(canReopen: false, first: .success(controllers.open()), next: controllers.open)
        try rig.run { rig.failure != nil }
        #expect(rig.said == ["opened", "closed"])
        #expect(controllers.made == 1)
        #expect(rig.failure?.description.contains("cannot be opened again") == true)
    }

    @Test("what comes between the loop's look at the clock and the read is told behind another look at it")
    func clockBehindTheRead() throws {
        let plug = try Plug()
        let rig = try Rig(first: .success(plug.stream))
        var looks = 0
        var looksBeforePackets: [Int] = []
        rig.onBegin = { [unowned plug] in
            looks += 1
            if looks == 1 { _ = write(plug.controller.rawValue, event, event.count) }
        }
        rig.onPacket = { looksBeforePackets.append(looks) }
        _ = write(plug.controller.rawValue, event, event.count)
        try rig.run { rig.said.count == 3 }
        #expect(looksBeforePackets.count == 2 && looksBeforePackets.last ?? 0 > 1, "\(looksBeforePackets)")
    }

    /// A connection to where somebody listens, or has listened, run until it says something.
    private func connect(to port: UInt16) throws -> Rig {
        let address = TransportAddress.tcp(host: "127.0.0.1", port: port)
        let open = { () throws(TransportError) in HCIStream(try Transport.open(address)) }
        let first: Result<HCIStream, TransportError>
        do throws(TransportError) { first = .success(try open()) } catch { first = .failure(error) }
        let rig = try Rig(first: first, next: open)
        try rig.run { !rig.said.isEmpty || !rig.notices.isEmpty }
        return rig
    }

    @Test(
        "Garbage for ever: while no Reset is on its way nothing is read, and the controller blocks instead of this side"
    )
    func garbage() throws {
        let plug = try Plug()
        let isNonblocking = plug.controller.makeNonblocking()
        try #require(isNonblocking)
        let rig = try Rig(first: .success(plug.stream))
        let chunk = [UInt8](repeating: 0x99, count: 4_096)
        var written = 0
        var iterations = 0
        try rig.run {
            // As long as something is taken from it, the controller has more; and the loop goes on.
            while true {
                let count = write(plug.controller.rawValue, chunk, chunk.count)
                guard count > 0 else { break }
                written += count
            }
            rig.loop.mailbox.post {}
            iterations += 1
            return iterations == 100
        }
        #expect(rig.said == ["opened", "out of step"])
        #expect(rig.indicator == 0x99)
        // Two budgets of reading and what the socket holds.
        #expect(written < 2 * HCIStream.readBudgetOctets + 1_048_576)
    }

    @Test("a controller that hangs up while it is not listened to is gone all the same")
    func deafHangup() throws {
        var plug: Plug? = try Plug()
        let rig = try Rig(canReopen: false, first: .success(try #require(plug).stream))
        let octets: [UInt8] = [0x99, 0x99]
        _ = write(try #require(plug).controller.rawValue, octets, octets.count)
        rig.onOutOfStep = { plug = nil }
        try rig.run { rig.failure != nil }
        #expect(rig.said == ["opened", "out of step", "closed"])
    }

    @Test("TCP is accepted while the loop goes on")
    func accepted() throws {
        var port: UInt16 = 0
        let listener = try Listener(loopback: &port)
        #expect(try connect(to: port).said == ["opened"])
        _ = try listener.acceptOne()
    }

    @Test("TCP is refused while the loop goes on")
    func refused() throws {
        var port: UInt16 = 0
        do { _ = try Listener(loopback: &port) }
        let rig = try connect(to: port)
        #expect(rig.said == [])
        guard case .unavailable(let error, _) = rig.notices.first else {
            Issue.record("\(rig.notices)")
            return
        }
        #expect(error.kind == .refused)
        #expect(error.description == "tcp:127.0.0.1:\(port): nobody listens there; start the controller")
    }

    @Test("a thousand replugs leave as many transports open as there were")
    func descriptors() async {
        await #expect(processExitsWith: .success) {
            let controllers = Controllers(last: 1_001)
            let rig = try Rig(first: .success(controllers.open()), next: controllers.open)
            var before = 0
            rig.onOpened = { if before == 0 { before = openSockets() } }
            try rig.run { controllers.made == 1_001 }
            // The last one's other end is kept, those of the others were closed before their stream was.
            let after = openSockets() - 1
            let replugs = rig.said.count(where: { $0 == "closed" })
            guard before > 0, after == before, replugs == 1_000 else {
                print("\(before) sockets before, \(after) after, \(replugs) replugs")
                exit(1)
            }
        }
    }
}
