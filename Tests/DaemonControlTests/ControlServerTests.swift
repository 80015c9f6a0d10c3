import BluetoothCore
import CLinux
import Glibc
import TestSupport
import Testing

@testable import DaemonControl

/// A directory that goes with the test.
private final class Directory {
    let path: String

    init() {
        var template = Array("/tmp/latch-control-XXXXXX".utf8CString)
        path = mkdtemp(&template).map { String(cString: $0) } ?? "/nonexistent"
    }

    var socket: String { path + "/s.sock" }

    deinit {
        for name in ["s.sock", "s.sock.lock"] { unlink("\(path)/\(name)") }
        rmdir(path)
    }
}

/// A client that says exactly these octets.
private struct RawClient: ~Copyable {
    let descriptor: Int32

    init(_ path: String) {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | latch_socket_flags(), 0)
        try? connectSocket(descriptor, to: path)
    }

    deinit { close(descriptor) }

    func say(_ octets: [UInt8]) { _ = send(descriptor, octets, octets.count, latch_message_flags()) }
    func say(_ text: String) { say(Array(text.utf8)) }

    /// Everything that is there, and whether the server has hung up.
    func hear() -> (lines: [ControlReply], isClosed: Bool) {
        var octets: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else {
                let lines = octets.split(separator: UInt8(ascii: "\n")).compactMap { ControlReply(line: Array($0)) }
                return (lines, count == 0 || errno != EAGAIN)
            }
            octets += buffer[..<count]
        }
    }
}

@Suite("Control socket")
struct ControlServerTests {
    private let directory = Directory()
    private let loop = PollLoop()

    /// Answers `now` at once and keeps every other exchange.
    private final class Handler {
        var kept: [ControlExchange] = []
        var lines: [[UInt8]] = []

        func handle(_ line: [UInt8], _ exchange: ControlExchange) {
            lines.append(line)
            if line == Array("now".utf8) { exchange.finish(["answer": "now"]) } else { kept.append(exchange) }
        }
    }

    private func serve(_ handler: Handler) throws -> ControlServer {
        try ControlServer(path: directory.socket, loop: loop, release: { $0() }) { handler.handle($0, $1) }
    }

    @Test("a request is answered by events and then one result")
    func exchange() throws {
        let handler = Handler()
        let server = try serve(handler)
        let client = RawClient(directory.socket)
        client.say("later\n")
        loop.settle()
        let exchange = try #require(handler.kept.first)
        exchange.event("bolt", ["state": "unlocking"])
        exchange.finish(["done": true])
        exchange.event("never", [:])
        exchange.finish([:])
        #expect(client.hear() == ([.event("bolt", ["state": "unlocking"]), .result(["done": true])], false))
        client.say("now\nnow\n")
        loop.settle()
        #expect(client.hear().lines.count == 2)
        server.close()
        #expect(client.hear().isClosed)
    }

    @Test("a client hears the end at once, though a process that was forked just now has the connection open still")
    func endBesideAFork() throws {
        let handler = Handler()
        let server = try serve(handler)
        let client = RawClient(directory.socket)
        client.say("now\n")
        loop.settle()
        let forked = ForkedDescriptors(loop.descriptors)
        #expect(forked.copies.count == 2, "the socket, and the connection")
        server.close()
        #expect(client.hear() == ([.result(["answer": "now"])], true))
    }

    /// An iteration of a daemon that has not been committed yet.
    private final class Iteration {
        var held: [() -> Void] = []
        func commit() {
            for reply in held { reply() }
            held = []
        }
    }

    @Test(
        "nothing is said before it is on disk: events, results and failures wait for the commit, and keep their order")
    func behindTheCommit() throws {
        let iteration = Iteration()
        let server = try ControlServer(path: directory.socket, loop: loop, release: { iteration.held.append($0) }) {
            line, exchange in
            exchange.event("heard", [:])
            if line == Array("bad".utf8) {
                exchange.fail(ControlFailure(.refused, "no"))
            } else {
                exchange.finish(["answer": "yes"])
            }
        }
        let client = RawClient(directory.socket)
        client.say("good\nbad\n")
        loop.settle()
        #expect(client.hear() == ([], false))
        iteration.commit()
        let heard = ControlReply.event("heard", [:])
        let refused = ControlReply.error(ControlFailure(.refused, "no"))
        #expect(client.hear() == ([heard, .result(["answer": "yes"]), heard, refused], false))
        client.say("good\n")
        loop.settle()
        server.close()
        #expect(client.hear() == ([], true), "what was never committed is never said")
        iteration.commit()
    }

    @Test("a refusal waits its turn: behind the reply to what came before it, though that waits for the commit")
    func refusalsInOrder() throws {
        let iteration = Iteration()
        let server = try ControlServer(path: directory.socket, loop: loop, release: { iteration.held.append($0) }) {
            _, exchange in exchange.finish(["answer": "yes"])
        }
        let client = RawClient(directory.socket)
        client.say("good\n" + String(repeating: "x", count: LineFramer.maximumLineOctets + 1))
        loop.settle()
        #expect(client.hear() == ([], false))
        iteration.commit()
        let heard = client.hear()
        #expect(heard.isClosed && heard.lines.count == 2 && heard.lines.first == .result(["answer": "yes"]))
        server.close()
    }

    @Test("the socket is its owner's alone, and its name goes with the server")
    func mode() throws {
        var server: ControlServer? = try serve(Handler())
        var information = stat()
        #expect(stat(directory.socket, &information) == 0)
        #expect(information.st_mode & 0o777 == 0o600)
        server?.close()
        server = nil
        #expect(stat(directory.socket, &information) != 0)
    }

    @Test("a socket left behind by a kill is replaced; one in use is not")
    func successor() throws {
        // What a kill leaves: a name without a lock.
        let leftover = try makeSocket()
        try bindSocket(leftover, to: directory.socket)
        close(leftover)
        let server = try serve(Handler())
        let error = #expect(throws: ControlSocketError.self) { try serve(Handler()) }
        #expect(error?.reason == .alreadyRunning)
        let client = RawClient(directory.socket)
        client.say("now\n")
        loop.settle()
        #expect(client.hear().lines == [.result(["answer": "now"])])
        server.close()
    }

    @Test("the next daemon has the name at once, though a process that was forked just now has the lock open still")
    func nextBesideAFork() throws {
        var server: ControlServer? = try serve(Handler())
        let forked = ForkedDescriptors(ofFile: directory.socket + ".lock")
        #expect(forked.copies.count == 1)
        server?.close()
        server = nil
        _ = try serve(Handler())
    }

    @Test("a path that no socket can have is refused with its limit")
    func longPath() {
        let path = directory.path + "/" + String(repeating: "a", count: 120)
        let error = #expect(throws: ControlSocketError.self) {
            try ControlServer(path: path, loop: loop, release: { $0() }) { _, _ in }
        }
        #expect(error?.description.contains("107") == true)
    }

    @Test("attack: a line without end costs its client the connection")
    func endlessLine() throws {
        let handler = Handler()
        let server = try serve(handler)
        let client = RawClient(directory.socket)
        client.say([UInt8](repeating: 0x61, count: LineFramer.maximumLineOctets + 1))
        loop.settle()
        let (lines, isClosed) = client.hear()
        guard case .error(let failure) = lines.first else {
            Issue.record("no error")
            return
        }
        #expect(failure.code == .malformed)
        #expect(isClosed)
        #expect(handler.lines.isEmpty)
        #expect(server.clientCount == 0)
    }

    @Test("attack: half a line is nothing, and goes with its client")
    func halfALine() throws {
        let handler = Handler()
        let server = try serve(handler)
        do {
            let client = RawClient(directory.socket)
            client.say("no")
            loop.settle()
            #expect(server.clientCount == 1)
        }
        loop.settle()
        #expect(server.clientCount == 0)
        #expect(handler.lines.isEmpty)
    }

    @Test("attack: a second request before the first is answered is refused, and the first lives on")
    func pipelining() throws {
        let handler = Handler()
        let server = try serve(handler)
        let client = RawClient(directory.socket)
        client.say("later\nnow\n")
        loop.settle()
        handler.kept.first?.finish([:])
        let lines = client.hear().lines
        #expect(lines.count == 2)
        guard case .error(let failure) = lines.first else {
            Issue.record("no error")
            return
        }
        #expect(failure.code == .busy)
        #expect(lines.last == .result([:]))
        server.close()
    }

    @Test("attack: a thousand connections hold no more than the bound, and operators still get in")
    func thousandConnections() throws {
        let server = try serve(Handler())
        // Held open from this side, so that it is the server that closes them.
        var held: [Int32] = []
        for _ in 0..<1000 {
            let raw = RawClient(directory.socket)
            raw.say("x")
            loop.settle()
            #expect(server.clientCount <= ControlServer.maximumClients)
            held.append(latch_fcntl(raw.descriptor, F_DUPFD_CLOEXEC, 0))
            if held.count > 4 * ControlServer.maximumClients { close(held.removeFirst()) }
        }
        let client = RawClient(directory.socket)
        client.say("now\n")
        loop.settle()
        #expect(client.hear().lines == [.result(["answer": "now"])])
        held.forEach { close($0) }
        server.close()
    }

    @Test("clients that all wait are not displaced: one more is turned away with `busy`")
    func fullOfWaiting() throws {
        let handler = Handler()
        let server = try serve(handler)
        var descriptors: [Int32] = []
        for _ in 0..<ControlServer.maximumClients {
            let client = RawClient(directory.socket)
            client.say("later\n")
            loop.settle()
            descriptors.append(latch_fcntl(client.descriptor, F_DUPFD_CLOEXEC, 0))
        }
        #expect(handler.kept.count == ControlServer.maximumClients)
        let late = RawClient(directory.socket)
        loop.settle()
        let (lines, isClosed) = late.hear()
        #expect(isClosed)
        guard case .error(let failure) = lines.first else {
            Issue.record("no error")
            return
        }
        #expect(failure.code == .busy)
        descriptors.forEach { close($0) }
        server.close()
    }

    @Test("attack: a client that never reads loses its connection at the bound, and the exchange hears of it")
    func neverReads() throws {
        let handler = Handler()
        let server = try serve(handler)
        let client = RawClient(directory.socket)
        client.say("events\n")
        loop.settle()
        let exchange = try #require(handler.kept.first)
        var isAbandoned = false
        exchange.onAbandoned = { isAbandoned = true }
        let fields: JSONObject = ["text": .string(String(repeating: "x", count: 1024))]
        for _ in 0..<4096 where exchange.isOpen { exchange.event("flood", fields) }
        #expect(!exchange.isOpen)
        #expect(isAbandoned)
        #expect(server.clientCount == 0)
    }

    @Test("an answer of the greatest length is heard, and one octet more is said to be too long")
    func longAnswer() throws {
        let handler = Handler()
        let server = try serve(handler)
        defer { server.close() }
        let frame = ControlReply.result(["text": ""]).line.count - 1
        for excess in [0, 1] {
            var client = try ControlClient(connectingTo: directory.socket)
            let deadline = Instant(nanoseconds: latch_boottime_nanoseconds()).advanced(byMilliseconds: 10_000)
            try client.send(PeripheralRequest.status, deadline: deadline)
            loop.settle()
            let text = String(repeating: "x", count: ControlReply.maximumLineOctets - frame + excess)
            handler.kept.last?.finish(["text": .string(text)])
            let reply = try client.next(deadline: deadline)
            if excess == 0 {
                #expect(reply == .result(["text": .string(text)]))
            } else {
                guard case .error(let failure) = reply else {
                    Issue.record("\(reply)")
                    return
                }
                #expect(failure.code == .tooLong)
            }
        }
    }

    @Test("a client that goes away abandons its exchange, once")
    func abandoned() throws {
        let handler = Handler()
        let server = try serve(handler)
        var count = 0
        do {
            let client = RawClient(directory.socket)
            client.say("later\n")
            loop.settle()
            handler.kept.first?.onAbandoned = { count += 1 }
        }
        loop.settle()
        #expect(count == 1)
        #expect(handler.kept.first?.isOpen == false)
        handler.kept.first?.finish([:])
        server.close()
        #expect(count == 1)
    }

    @Test("a closing server tells those who wait")
    func closing() throws {
        let handler = Handler()
        let server = try serve(handler)
        let client = RawClient(directory.socket)
        client.say("later\n")
        loop.settle()
        var isAbandoned = false
        handler.kept.first?.onAbandoned = { isAbandoned = true }
        server.close()
        let (lines, isClosed) = client.hear()
        #expect(isClosed && !isAbandoned, "the client has not gone")
        guard case .error(let failure) = lines.first else {
            Issue.record("no error")
            return
        }
        #expect(failure.code == .stopping)
    }

    @Test("a client says what is not there, and what does not answer")
    func clientErrors() throws {
        let path = directory.socket
        #expect(throws: ControlClientError.notRunning(path: path)) {
            _ = try ControlClient.ask(path, PeripheralRequest.status, deadline: nil) { _, _ in }
        }
        let server = try serve(Handler())
        let past = Instant(nanoseconds: 1)
        #expect(throws: ControlClientError.timeout(path: path)) {
            _ = try ControlClient.ask(path, PeripheralRequest.status, deadline: past) { _, _ in }
        }
        server.close()
    }
}
