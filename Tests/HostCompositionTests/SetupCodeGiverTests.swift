import BluetoothCore
import BluetoothCrypto
import CLinux
import Glibc
import HCITransport
import SecurityManager
import SetupCodeGiving
import TestSupport
import Testing

@testable import HostComposition

@Suite("Asking the helper to give the kernel a setup code")
struct SetupCodeGiverTests {
    private static let random = (0..<16).map { UInt8($0) }
    private static let address = DeviceAddress(kind: .random, bits: 0xC011_2233_4455)
    private static let confirm: UInt128 = 0xF0F1_F2F3_F4F5_F6F7_F8F9_FAFB_FCFD_FEFF

    private static func data(_ address: DeviceAddress = address) -> OutOfBandData {
        OutOfBandData(address: address, random: Secret(random), confirm: confirm)
    }

    /// The helper's end: where its unit would listen, and the program that asks there.
    private final class Bench {
        private let scratch = ScratchDirectory()
        let path: String
        private let listener: OwnedDescriptor
        let loop: EventLoop
        let giver: SetupCodeGiver
        /// What was told of each code; nil: it was given.
        var heard: [String?] = []

        init() throws {
            path = scratch.path + "/helper.socket"
            listener = OwnedDescriptor(try makeListener(at: path, SOCK_SEQPACKET))
            loop = try EventLoop(signals: [])
            giver = SetupCodeGiver(path: path, loop: loop)
        }

        func give(_ data: OutOfBandData = data(), adapter: UInt16 = 0) {
            giver.give(data, adapter: adapter) { self.heard.append($0) }
        }

        /// Runs the loop until something was told.
        func hear() throws { try loop.run { heard.isEmpty ? .wait : .stop } }

        /// Whether somebody has connected and was not accepted yet.
        var isAsked: Bool {
            var waiting = pollfd(fd: listener.rawValue, events: Int16(POLLIN), revents: 0)
            return poll(&waiting, 1, 0) == 1
        }

        func acceptOne() throws -> OwnedDescriptor {
            try #require(isAsked)
            return OwnedDescriptor(try acceptConnection(listener.rawValue))
        }
    }

    /// The message that is there; empty at the connection's end, nil before one has come.
    private static func message(from connection: borrowing OwnedDescriptor) -> [UInt8]? {
        var octets = [UInt8](repeating: 0, count: 64)
        let raw = connection.rawValue
        let count = octets.withUnsafeMutableBytes { recv(raw, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT)) }
        return count < 0 ? nil : Array(octets.prefix(count))
    }

    @Test(
        "The helper has the code's 41 octets in one message, and what it answers is told",
        arguments: [
            .given, .malformed, .notAllowed, .noKernel, .kernel(ManagementStatus(rawValue: 0x11)),
        ] as [GivingAnswer])
    func answered(answer: GivingAnswer) throws {
        let bench = try Bench()
        bench.give(adapter: 0x0102)
        #expect(bench.heard.isEmpty)
        let connection = try bench.acceptOne()
        #expect(
            Self.message(from: connection)
                == [0x02, 0x01, 0x01, 0xC0, 0x11, 0x22, 0x33, 0x44, 0x55] + Self.random
                + (0..<16).map { UInt8(0xF0 + $0) })
        let octets = answer.octets
        let raw = connection.rawValue
        #expect(octets.withUnsafeBytes { send(raw, $0.baseAddress, $0.count, latch_message_flags()) } == 2)
        try bench.hear()
        #expect(bench.heard == [answer == .given ? nil : "\(answer)"])
        // One code for one connection.
        #expect(Self.message(from: connection) == [])
    }

    @Test(
        "A helper that ends without a word, or says none that is known, is told with where to read why",
        arguments: [[], [9, 9], [0], [0, 0, 0]] as [[UInt8]])
    func unanswered(octets: [UInt8]) throws {
        let bench = try Bench()
        bench.give()
        let connection = try bench.acceptOne()
        let raw = connection.rawValue
        if octets.isEmpty {
            #expect(shutdown(raw, Int32(SHUT_RDWR)) == 0)
        } else {
            let sent = octets.withUnsafeBytes { send(raw, $0.baseAddress, $0.count, latch_message_flags()) }
            #expect(sent == octets.count)
        }
        try bench.hear()
        let said = try #require(bench.heard.first)
        #expect(bench.heard.count == 1, "\(bench.heard)")
        #expect(said?.contains(bench.path) == true && said?.contains("journalctl") == true, "\(bench.heard)")
    }

    @Test("Where nobody listens, or ever did, the remedy is told at once")
    func absent() throws {
        let scratch = ScratchDirectory()
        let loop = try EventLoop(signals: [])
        let ended = scratch.path + "/ended.socket"
        close(try makeListener(at: ended, SOCK_SEQPACKET))
        for path in [scratch.path + "/never.socket", ended] {
            var heard: [String?] = []
            SetupCodeGiver(path: path, loop: loop).give(Self.data(), adapter: 0) { heard.append($0) }
            #expect(
                heard == [
                    "\(path): the helper latch-oob is not there: install it, and \"systemctl start latch-oob.socket\""
                ])
        }
        let long = scratch.path + "/" + String(repeating: "a", count: 200)
        var heard: [String?] = []
        SetupCodeGiver(path: long, loop: loop).give(Self.data(), adapter: 0) { heard.append($0) }
        #expect(heard == ["\(long): File name too long"])
    }

    @Test("What is asked anew takes the place of what has no answer yet")
    func anew() throws {
        let bench = try Bench()
        var heard: [Int] = []
        bench.giver.give(Self.data(), adapter: 1) { _ in heard.append(1) }
        bench.giver.give(Self.data(), adapter: 2) { _ in heard.append(2) }
        let first = try bench.acceptOne()
        let second = try bench.acceptOne()
        #expect(Self.message(from: first)?.first == 1 && Self.message(from: first) == [])
        #expect(Self.message(from: second)?.first == 2)
        #expect(shutdown(second.rawValue, Int32(SHUT_RDWR)) == 0)
        try bench.loop.run { heard.isEmpty ? .wait : .stop }
        #expect(heard == [2])
    }

    @Test("An address that nobody is known by is refused before the helper is asked")
    func noIdentity() throws {
        let bench = try Bench()
        // A resolvable private one.
        bench.give(Self.data(DeviceAddress(kind: .random, bits: 0x4011_2233_4455)))
        #expect(bench.heard == ["\(GivingAnswer.malformed)"] && !bench.isAsked)
    }
}
