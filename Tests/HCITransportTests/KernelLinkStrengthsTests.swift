import BluetoothCore
import CLinux
import Glibc
import HCI
import Testing

@testable import HCITransport

/// What a kernel would answer comes over a pair of sockets.
@Suite("The strength of the kernel's links")
struct KernelLinkStrengthsTests {
    private final class Rig {
        let loop: EventLoop
        let strengths: KernelLinkStrengths
        private(set) var opened: [UInt16] = []
        var links: [UInt64: Int32] = [:]
        var isConnecting = false
        /// The end of a pause by which it ends.
        private var pauses: [Int32] = []
        /// This side of what was opened last.
        private(set) var peer: Int32 = -1
        var answers: [Int8?] = []

        init() throws {
            loop = try EventLoop(signals: [])
            var rig: Rig?
            strengths = KernelLinkStrengths(
                KernelLinkStrengths.Kernel(
                    open: { number in
                        guard number < 2 else { return nil }
                        var pair: [Int32] = [-1, -1]
                        let type = Int32(SOCK_SEQPACKET.rawValue) | latch_socket_flags()
                        guard socketpair(AF_UNIX, type, 0, &pair) == 0 else { return nil }
                        if let last = rig?.peer, last >= 0 { close(last) }
                        rig?.peer = pair[0]
                        rig?.opened.append(number)
                        return OwnedDescriptor(pair[1])
                    },
                    link: { _, address in rig?.links[address] ?? -1 },
                    isConnecting: { _, _ in rig?.isConnecting ?? false },
                    pause: {
                        var ends: [Int32] = [-1, -1]
                        guard pipe(&ends) == 0 else { return nil }
                        rig?.pauses.append(ends[1])
                        return OwnedDescriptor(ends[0])
                    }), loop: loop)
            rig = self
            forget = { rig = nil }
        }
        private var forget: () -> Void = {}

        func end() {
            if peer >= 0 { close(peer) }
            for end in pauses { close(end) }
            forget()
        }

        func ask(_ address: UInt64, adapter: UInt16 = 0) {
            strengths.read(DeviceAddress(kind: .random, bits: address), adapter: adapter) { [unowned self] in
                answers.append($0)
            }
        }

        /// The pause under way is over. False when there is none.
        func endPause() throws -> Bool {
            guard let end = pauses.popLast() else { return false }
            close(end)
            try turn()
            return true
        }

        func say(_ octets: [UInt8]) { _ = octets.withUnsafeBytes { write(peer, $0.baseAddress, $0.count) } }

        var asked: [UInt8] {
            var octets = [UInt8](repeating: 0, count: 64)
            let count = octets.withUnsafeMutableBytes { read(peer, $0.baseAddress, $0.count) }
            return Array(octets.prefix(max(0, count)))
        }

        /// One turn of the loop.
        func turn() throws {
            loop.mailbox.post {}
            var isOver = false
            try loop.run {
                defer { isOver = true }
                return isOver ? .stop : .atOnce
            }
        }
    }

    private static func rig(_ body: (Rig) throws -> Void) throws {
        let rig = try Rig()
        defer { rig.end() }
        try body(rig)
    }

    @Test("The question is Read RSSI of the kernel's own handle, and the answer is told")
    func answered() throws {
        try Self.rig { rig in
            rig.links = [7: 0x0E41]
            rig.ask(7)
            #expect(rig.asked == [1, 0x05, 0x14, 2, 0x41, 0x0E])
            rig.say([4, 0x0E, 7, 1, 0x05, 0x14, 0, 0x41, 0x0E, 0xBD])
            try rig.turn()
            #expect(rig.answers == [-67])
        }
    }

    @Test("Others' answers, and octets that are none, answer nothing")
    func strangers() throws {
        try Self.rig { rig in
            rig.links = [7: 0x41]
            rig.ask(7)
            for octets in [
                [4, 0x0E, 7, 1, 0x05, 0x14, 0, 0x42, 0x00, 0xBD], [4, 0x0E, 4, 1, 0x03, 0x0C, 0],
                [4, 0x0E, 4, 1, 0x05, 0x14, 0], [4, 0x0E], [2, 0x0E, 7, 1, 0x05, 0x14, 0, 0x41, 0, 0xBD], [4],
                [4, 0x0E, 200, 1, 0x05, 0x14, 0, 0x41, 0, 0xBD], [4, 0x0F, 4, 0, 1, 0x05, 0x14],
            ] as [[UInt8]] { rig.say(octets) }
            try rig.turn()
            #expect(rig.answers == [])
            rig.say([4, 0x0E, 7, 1, 0x05, 0x14, 0, 0x41, 0, 0xBD])
            try rig.turn()
            #expect(rig.answers == [-67])
        }
    }

    @Test("A peer without a link, an adapter that is not there, and a refusal: nobody knows")
    func unknown() throws {
        try Self.rig { rig in
            rig.links = [7: 0x41]
            rig.ask(8)
            rig.ask(7, adapter: 5)
            #expect(rig.answers == [nil, nil])
            rig.ask(7)
            rig.say([4, 0x0E, 7, 1, 0x05, 0x14, 0x02, 0x41, 0, 0])
            try rig.turn()
            rig.ask(7)
            rig.say([4, 0x0F, 4, 0x0C, 1, 0x05, 0x14])
            try rig.turn()
            #expect(rig.answers == [nil, nil, nil, nil])
        }
    }

    @Test("A socket that ends answers what waits, and the next question has another; another adapter too")
    func reopened() throws {
        try Self.rig { rig in
            rig.links = [7: 0x41]
            rig.ask(7)
            shutdown(rig.peer, Int32(SHUT_RDWR))
            try rig.turn()
            #expect(rig.answers == [nil])
            rig.ask(7)
            rig.ask(7, adapter: 1)
            #expect(rig.opened == [0, 0, 1] && rig.answers == [nil, nil])
        }
    }

    @Test("So many wait, and more are told at once that nobody knows")
    func many() throws {
        try Self.rig { rig in
            rig.links = [7: 0x41]
            for _ in 0..<KernelLinkStrengths.questionsMaximum + 3 { rig.ask(7) }
            #expect(rig.answers == [nil, nil, nil])
        }
    }

    @Test("While a link is being made nothing is asked; the question waits, and is asked behind it")
    func connecting() throws {
        try Self.rig { rig in
            rig.links = [7: 0x41, 8: 0x42]
            rig.isConnecting = true
            rig.ask(7)
            rig.ask(8)
            try #require(try rig.endPause())
            #expect(rig.asked == [] && rig.answers == [])
            rig.isConnecting = false
            try #require(try rig.endPause())
            #expect(rig.asked == [1, 0x05, 0x14, 2, 0x41, 0])
            #expect(rig.asked == [1, 0x05, 0x14, 2, 0x42, 0])
            rig.say([4, 0x0E, 7, 1, 0x05, 0x14, 0, 0x41, 0, 0xBD])
            try rig.turn()
            #expect(rig.answers == [-67])
            let isPaused = try rig.endPause()
            #expect(!isPaused, "no question waits")
        }
    }

    @Test(
        "A question that has waited for long enough is told that nobody knows, and one whose link has gone at the next look"
    )
    func neverMade() throws {
        try Self.rig { rig in
            rig.links = [7: 0x41, 8: 0x42]
            rig.isConnecting = true
            rig.ask(7)
            rig.ask(8)
            rig.links[8] = nil
            for number in 1...KernelLinkStrengths.pausesMaximum {
                try #require(try rig.endPause())
                #expect(rig.answers == (number < KernelLinkStrengths.pausesMaximum ? [nil] : [nil, nil]))
            }
            let isPaused = try rig.endPause()
            #expect(!isPaused && rig.asked == [])
        }
    }

    @Test("Those that wait count among those that are not answered")
    func manyWait() throws {
        try Self.rig { rig in
            rig.links = [7: 0x41]
            rig.isConnecting = true
            for _ in 0..<KernelLinkStrengths.questionsMaximum + 2 { rig.ask(7) }
            #expect(rig.answers == [nil, nil])
        }
    }
}
