import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import VirtualRadio

private let lock: UInt64 = 0xC000_0000_0001
private let key: UInt64 = 0xC000_0000_0002

/// A server on a thread of its own, in a directory of its own.
private final class Service: Sendable {
    let directory: String
    let stopper: RadioServer.Stopper
    private let ended = DispatchSemaphore(value: 0)

    init(pacing: AirConfiguration.Pacing = .immediate, adapters: Int = 0, capture: Bool = false) throws {
        let directory = try temporaryDirectory()
        let started = DispatchSemaphore(value: 0)
        let stopper = Mutex<Result<RadioServer.Stopper, RadioServerError>?>(nil)
        let ended = self.ended
        let configuration = RadioServer.Configuration(
            socketPath: directory + "/radio", adapters: adapters, controlPath: directory + "/control",
            air: AirConfiguration(pacing: pacing), captureDirectory: capture ? directory : nil)
        Thread.detachNewThread {
            do throws(RadioServerError) {
                var server = try RadioServer(configuration: configuration)
                let handle = server.stopper
                stopper.withLock { $0 = .success(handle) }
                started.signal()
                try server.run()
            } catch {
                stopper.withLock { $0 = .failure(error) }
                started.signal()
            }
            ended.signal()
        }
        started.wait()
        self.directory = directory
        self.stopper = try #require(stopper.withLock { $0 }).get()
    }

    func stop() {
        stopper.stop()
        ended.wait()
    }

    func client(_ name: String = "radio") throws -> Client { try Client(directory + "/" + name) }
}

private func temporaryDirectory() throws -> String {
    var template = Array("/tmp/latch-radio-XXXXXX".utf8CString)
    return String(cString: try #require(mkdtemp(&template)))
}

/// A blocking socket with a timeout that only a broken server meets.
private final class Client {
    static let patienceMilliseconds = 20_000

    let descriptor: Int32
    private var inbound: [UInt8] = []

    init(_ path: String) throws {
        descriptor = try makeConnection(to: path)
        setPatience(milliseconds: Self.patienceMilliseconds)
    }

    deinit { close(descriptor) }

    func send(_ octets: [UInt8]) { #expect(write(descriptor, octets, octets.count) == octets.count) }

    /// How long a read waits.
    func setPatience(milliseconds: Int) {
        var patience = timeval(tv_sec: milliseconds / 1000, tv_usec: milliseconds % 1000 * 1000)
        #expect(
            setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size)) == 0)
    }

    /// What a read came to.
    private enum Reading {
        case octets
        case timeout
        case end
    }

    private func fill() -> Reading {
        var buffer = [UInt8](repeating: 0, count: 65536)
        var count = 0
        // Only a read that fails sets `errno`: one that comes to the end leaves there what was there before.
        var error: Int32 = 0
        repeat {
            count = read(descriptor, &buffer, buffer.count)
            error = count < 0 ? errno : 0
        } while error == EINTR
        guard count > 0 else { return error == EAGAIN ? .timeout : .end }
        inbound += buffer[..<count]
        return .octets
    }

    func packet() -> String? {
        while true {
            if inbound.count >= 3 {
                let length = inbound[0] == 4 ? 3 + Int(inbound[2]) : 5 + Int(inbound[3])
                if inbound.count >= length {
                    defer { inbound.removeFirst(length) }
                    return hex(inbound[..<length])
                }
            }
            guard fill() == .octets else { return nil }
        }
    }

    func command(_ opcode: UInt16, _ parameters: [UInt8] = []) -> String? {
        send([1] + little(UInt64(opcode), 2) + [UInt8(parameters.count)] + parameters)
        return packet()
    }

    func bringUp(_ address: UInt64) {
        let all = [UInt8](repeating: 0xFF, count: 8)
        #expect(command(Opcode.reset) == complete(Opcode.reset))
        #expect(command(Opcode.setEventMask, all) == complete(Opcode.setEventMask))
        #expect(command(Opcode.leSetEventMask, little(0x1F, 8)) == complete(Opcode.leSetEventMask))
        #expect(command(Opcode.leSetRandomAddress, little(address, 6)) == complete(Opcode.leSetRandomAddress))
    }

    func ask(_ line: String) -> String? {
        send(Array((line + "\n").utf8))
        while true {
            if let end = inbound.firstIndex(of: 0x0A) {
                defer { inbound.removeFirst(end + 1) }
                return String(decoding: inbound[..<end], as: UTF8.self)
            }
            guard fill() == .octets else { return nil }
        }
    }

    /// Whether the server has closed, after everything it had to say.
    var isClosed: Bool {
        while true {
            switch fill() {
            case .octets: continue
            case .timeout: return false
            case .end: return true
            }
        }
    }
}

private func connectPair(_ a: Client, _ b: Client, timeout: UInt16 = 20) {
    a.bringUp(lock)
    b.bringUp(key)
    _ = a.command(Opcode.leSetAdvertisingParameters, advertisingParameters())
    _ = a.command(Opcode.leSetAdvertisingEnable, [1])
    #expect(
        b.command(Opcode.leCreateConnection, createConnection(lock, timeout: timeout))
            == status(Opcode.leCreateConnection))
    #expect(b.packet()?.hasPrefix("043E130100010000") == true)
    #expect(a.packet()?.hasPrefix("043E130100010001") == true)
}

@Suite("the radio as a process", .serialized)
struct ServerTests {
    @Test(arguments: [AirConfiguration.Pacing.paced, .immediate])
    func `two hosts over sockets: connect, exchange, lose each other`(pacing: AirConfiguration.Pacing) throws {
        let service = try Service(pacing: pacing)
        defer { service.stop() }
        let b = try service.client()
        do {
            let a = try service.client()
            connectPair(a, b)
            b.send(octets(data(1, flags: 0, [1, 2, 3])))
            #expect(a.packet() == data(1, flags: 2, [1, 2, 3]))
            #expect(b.packet() == completed(1, 1))
        }
        // The lock's socket is closed: 200 ms later its controller is found to be gone.
        #expect(b.packet() == disconnected(1, 0x08))
    }

    @Test func `a packet in pieces, and several in one`() throws {
        let service = try Service()
        defer { service.stop() }
        let client = try service.client()
        for octet in [1, 3, 0x0C] as [UInt8] { client.send([octet]) }
        client.send([0, 1, 9, 0x10, 0, 1])
        client.send([3, 0x0C, 0])
        #expect(client.packet() == complete(0x0C03))
        #expect(client.packet()?.hasPrefix("040E0A04091000") == true)
        #expect(client.packet() == complete(0x0C03))
    }

    @Test(arguments: ["00", "FF", "040E0401030C00"])
    func `octets that are no packet: Hardware Error, and the connection is closed`(octets text: String) throws {
        let service = try Service()
        defer { service.stop() }
        let client = try service.client()
        client.send(octets(text))
        #expect(client.packet() == "04100102")
        #expect(client.isClosed)
        #expect(try service.client().command(Opcode.reset) == complete(Opcode.reset))
    }

    @Test func `the control socket answers each line with one`() throws {
        let service = try Service()
        defer { service.stop() }
        let control = try service.client("control")
        #expect(control.ask("list") == "ok")
        let a = try service.client()
        let b = try service.client()
        connectPair(a, b, timeout: 3200)
        let listing = try #require(control.ask("list"))
        #expect(listing.contains("random=C0:00:00:00:00:01 on links=") && listing.contains(":central:0x1:-50dBm"))
        for (line, answer) in [
            ("distance C0:00:00:00:00:01 C0:00:00:00:00:02 10", "ok"), ("loss 1 2 5", "ok"), ("loss 1 2 0", "ok"),
            ("cut C0:00:00:00:00:01 C0:00:00:00:00:99", "ok"), ("join 1 2", "ok"), ("seed 7", "ok"),
            ("power 2 on", "ok"), ("help", "ok " + ControlCommand.summary),
            ("distance 1 9 10", "error no controller goes by that name"),
            ("distance 1 2", "error distance with 2 operands; try help"),
            ("distance 1 2 far", "error far is no number of metres from 0.0 to 1000000.0"),
            ("cut 1 1", "error 1 twice"), ("", "error an empty line; try help"),
            ("dance", "error dance is no command; try help"),
            ("capture 1 /nowhere/x", "error cannot write /nowhere/x: No such file or directory"),
        ] {
            #expect(control.ask(line) == answer)
        }
        #expect(b.command(Opcode.readRSSI, [1, 0]) == complete(Opcode.readRSSI, 0, "0100 B5"))
        #expect(control.ask("unplug C0:00:00:00:00:01") == "ok")
        #expect(a.isClosed)
    }

    @Test func `the end of a connection is told from a read that timed out before it`() throws {
        let service = try Service()
        defer { service.stop() }
        let control = try service.client("control")
        let client = try service.client()
        #expect(client.command(Opcode.reset) == complete(Opcode.reset))
        client.setPatience(milliseconds: 1)
        #expect(!client.isClosed)
        client.setPatience(milliseconds: Client.patienceMilliseconds)
        #expect(control.ask("unplug 1") == "ok")
        #expect(client.isClosed)
    }

    @Test func `faults by the control socket: Hardware Error, garbage, and the same controller plugged in again`()
        throws
    {
        let service = try Service()
        defer { service.stop() }
        let control = try service.client("control")
        let a = try service.client()
        let address = try #require(a.command(Opcode.readBDADDR))
        #expect(control.ask("hardware-error 1 66") == "ok")
        #expect(a.packet() == "04100142")
        #expect(control.ask("garbage 1 04FF01AA") == "ok")
        #expect(a.packet() == "04FF01AA")
        #expect(control.ask("replug 1") == "ok")
        #expect(a.isClosed)
        #expect(try service.client().command(Opcode.readBDADDR) == address)
        #expect(try service.client().command(Opcode.readBDADDR) != address)
    }

    @Test func `an adapter has one address for each of its hosts, and the last to come is the one`() throws {
        let service = try Service(adapters: 2)
        defer { service.stop() }
        let control = try service.client("control")
        let first = try service.client("radio.1")
        #expect(first.command(Opcode.readBDADDR) == complete(Opcode.readBDADDR, 0, "010001414C02"))
        #expect(try service.client("radio.2").command(Opcode.readBDADDR)?.hasSuffix("020001414C02") == true)
        #expect(try service.client().command(Opcode.readBDADDR)?.hasSuffix("000041414C02") == false)
        let second = try service.client("radio.1")
        #expect(second.command(Opcode.readBDADDR) == complete(Opcode.readBDADDR, 0, "010001414C02"))
        #expect(first.isClosed)
        // What was said of it holds for whoever has it.
        let other = try service.client()
        let ordinal = try #require(control.ask("list")?.split(separator: " ").last { $0.hasPrefix("public=") })
        connectPair(other, second)
        #expect(control.ask("distance 02:4C:41:01:00:01 \(ordinal.dropFirst(7)) 10") == "ok")
        #expect(second.command(Opcode.readRSSI, [1, 0]) == complete(Opcode.readRSSI, 0, "0100 B5"))
    }

    @Test("a line of the control socket without an end is refused")
    func endlessLine() throws {
        let service = try Service()
        defer { service.stop() }
        let control = try service.client("control")
        control.send([UInt8](repeating: 0x61, count: ControlCommand.maximumLineOctets + 1))
        #expect(control.isClosed)
    }

    @Test func `captures are btsnoop that others can read, of both directions, for their owner alone`() throws {
        let service = try Service(capture: true)
        let client = try service.client()
        #expect(client.command(Opcode.reset) == complete(Opcode.reset))
        service.stop()
        let path = service.directory + "/controller-1.btsnoop"
        let file = [UInt8](try #require(FileManager.default.contents(atPath: path)))
        #expect(hex(file[..<16]) == "6274736E6F6F700000000001000003EA")
        #expect(hex(file[16..<32]) == "00000004000000040000000200000000")
        #expect(hex(file[40..<44]) == "01030C00")
        #expect(hex(file[44..<60]) == "00000007000000070000000300000000")
        #expect(hex(file[68...]) == complete(Opcode.reset))
        let microseconds = file[32..<40].reduce(0) { $0 << 8 | UInt64($1) } - BTSnoop.epochMicroseconds
        #expect(abs(Double(microseconds) / 1e6 - Date().timeIntervalSince1970) < 60)
        var status = stat()
        #expect(lstat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
    }

    @Test func `socket files: stale ones are replaced, others are left alone, none stays behind`() throws {
        let service = try Service()
        let path = service.directory + "/radio"
        var status = stat()
        #expect(lstat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(throws: RadioServerError(description: "\(path) is in use")) { _ = try UnixListener(path: path) }
        service.stop()
        #expect(lstat(path, &status) != 0)

        let stale = service.directory + "/stale"
        let abandoned = try makeSocket()
        try bindSocket(abandoned, to: stale)
        close(abandoned)
        _ = try UnixListener(path: stale)

        let file = service.directory + "/file"
        #expect(FileManager.default.createFile(atPath: file, contents: Data([1])))
        #expect(throws: RadioServerError(description: "\(file) is in the way and is no socket")) {
            _ = try UnixListener(path: file)
        }
        #expect(FileManager.default.contents(atPath: file) == Data([1]))
        let nowhere = service.directory + "/no/where"
        #expect(throws: RadioServerError(description: "cannot listen on \(nowhere): No such file or directory")) {
            _ = try UnixListener(path: nowhere)
        }
        let long = "/" + String(repeating: "x", count: 108)
        #expect(throws: RadioServerError(description: "\(long) is no path for a unix socket")) {
            _ = try UnixListener(path: long)
        }
    }

    @Test func `a host that does not read stops its peer, not the radio`() throws {
        let service = try Service()
        defer { service.stop() }
        let a = try service.client()
        let b = try service.client()
        connectPair(a, b, timeout: 3200)
        // Twenty at a time, as the buffers allow, until no credit comes back.
        let packet = octets(data(1, flags: 0, [UInt8](repeating: 7, count: 27)))
        b.setPatience(milliseconds: 500)
        var sent = 0
        var credited = 0
        while sent < 1_000_000 {
            while sent - credited < 20 {
                b.send(packet)
                sent += 1
            }
            guard let event = b.packet() else { break }
            credited += Int(octets(event)[6])
        }
        #expect(sent < 1_000_000)
        // Another host is served all the while, and nothing is lost once the first one reads.
        #expect(try service.client().command(Opcode.reset) == complete(Opcode.reset))
        for _ in 0..<sent { #expect(a.packet() == data(1, flags: 2, [UInt8](repeating: 7, count: 27))) }
    }
}

@Suite("H4 and control lines")
struct TextAndStreamTests {
    @Test(
        "Core 5.4, Vol 4, Part A, 2: where packets end",
        arguments: [
            ("", PacketBoundary.incomplete), ("01", .incomplete), ("01030C", .incomplete), ("01030C01", .incomplete),
            ("01030C00", .packet(count: 4)), ("01030C0001", .packet(count: 4)), ("02010002", .incomplete),
            ("0201000100", .incomplete), ("020100010009", .packet(count: 6)), ("0201000001", .incomplete),
            ("03010000", .packet(count: 4)), ("0501000000", .packet(count: 5)), ("04", .malformed), ("00", .malformed),
            ("06", .malformed),
        ])
    func boundaries(text: String, expected: PacketBoundary) {
        #expect(PacketBoundary(octets(text).span, from: 0) == expected)
        #expect(PacketBoundary(([0xEE] + octets(text)).span, from: 1) == expected)
    }

    @Test(arguments: [
        ("replug 1", ControlCommand.replug(.ordinal(ControllerID(ordinal: 1)))),
        ("hardware-error 1 255", .hardwareError(.ordinal(ControllerID(ordinal: 1)), code: 255)),
        ("garbage 1 00fF", .garbage(.ordinal(ControllerID(ordinal: 1)), [0, 0xFF])),
        ("list", ControlCommand.list), ("  help ", .help),
        (
            "distance 1 C0:00:00:00:00:01 2.5",
            .distance(.ordinal(ControllerID(ordinal: 1)), .address(lock), metres: 2.5)
        ),
        ("loss c0:00:00:00:00:01 2 100", .loss(.address(lock), .ordinal(ControllerID(ordinal: 2)), percent: 100)),
        ("power 1 off", .power(.ordinal(ControllerID(ordinal: 1)), isOn: false)),
        ("capture 1 /tmp/a b", .capture(.ordinal(ControllerID(ordinal: 1)), path: "/tmp/a b")),
        ("capture all /tmp", .captureAll(directory: "/tmp")), ("seed 18446744073709551615", .seed(.max)),
    ])
    func lines(line: String, expected: ControlCommand) throws {
        #expect(try ControlCommand(line) == expected)
    }

    @Test(arguments: [
        "distance 1 2 -1", "distance 1 2 nan", "distance 1 2 inf", "distance 1 2 1000001", "loss 1 2 101", "power 1 up",
        "cut 0 1", "cut -1 1", "cut C0:00:00:00:00 1", "cut C0:00:00:00:00:0G 1", "cut C0:00:00:00:00:+1 1",
        "cut C0:00:00:00:00:-0 1",
        "cut +1 2", "seed -1", "seed -0", "seed +1", "hardware-error 1 +5",
        "list 1", "unplug", "capture 1", "replug", "hardware-error 1 256", "hardware-error 1", "garbage 1 0",
        "garbage 1 0G",
    ])
    func refusedLines(line: String) {
        #expect(throws: ControlError.self) { try ControlCommand(line) }
    }
}
