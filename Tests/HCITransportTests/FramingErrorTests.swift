import BluetoothCore
import CLinux
import Glibc
import HCI
import Testing

@testable import HCITransport

private let reset: [UInt8] = [1, 3, 0x0C, 0]
private let answer: [UInt8] = [4, 0x0E, 4, 1, 3, 0x0C, 0]
/// LE Connection Complete, of a link that nobody has.
private let forgery: [UInt8] = [4, 0x3E, 19, 1, 0, 0x33, 0, 1, 1, 1, 2, 3, 4, 5, 0xC6, 24, 0, 0, 0, 200, 0, 0]
/// What a controller may say in a while: reports, data of a peer, counts.
private let talk: [[UInt8]] = [
    [4, 0x13, 5, 1, 0x40, 0, 1, 0], [2, 0x40, 0x20, 7, 0, 3, 0, 4, 0, 0x0A, 3, 0],
    [4, 0x3E, 15, 2, 1, 0, 1, 1, 2, 3, 4, 5, 0xC6, 3, 2, 1, 6, 0xC0], [2, 0x40, 0x10, 2, 0, 1, 2], [4, 0xFF, 0],
]

/// A stream, its controller's end, and a clock that stands until it is moved.
private final class Line {
    private let pair: Pair
    private var now = Instant(nanoseconds: 0)
    private let clock: Clock

    private final class Clock { var now = Instant(nanoseconds: 0) }

    private(set) var packets: [[UInt8]] = []
    private(set) var isInStep = true
    private(set) var indicators: [UInt8?] = []
    private(set) var discarded: [Int] = []

    init(framing: Transport.Framing = .stream) throws {
        let clock = Clock()
        self.clock = clock
        pair = try Pair(framing: framing, now: { clock.now })
    }

    var stream: HCIStream { pair.stream }

    func says(_ octets: [UInt8]) throws {
        try pair.controller.put(octets)
        try stream.readAvailable { take($0) }
    }

    /// Long enough for whatever waits for silence.
    func falls(silentFor milliseconds: UInt64 = H4Resynchroniser.silenceMilliseconds) {
        clock.now = clock.now.advanced(byMilliseconds: milliseconds)
        stream.timerFired { take($0) }
    }

    private func take(_ input: HCIStreamInput) {
        switch input {
        case .packet(let type, let octets): packets.append(HCIStream.whole(type, octets))
        case .outOfStep(let indicator):
            isInStep = false
            indicators.append(indicator)
        case .inStep(let octets):
            isInStep = true
            discarded.append(octets)
        }
    }

    /// What a host does: it sends HCI_Reset, which reaches the controller whole.
    func resets() throws {
        try stream.send(reset.span.bytes)
        try stream.flush()
        #expect(pair.controller.get() == reset)
    }

    func forget() { packets = [] }
}

@Suite("Core 5.4, Vol 4, Part A, 4 (Error recovery): octets that are no HCI")
struct FramingErrorTests {
    @Test("a wrong indicator: nothing more is handed on until a Reset is answered, and the line is silent")
    func wrongIndicator() throws {
        let line = try Line()
        try line.says(talk[0] + [0x99] + talk[1])
        #expect(line.packets == [talk[0]])
        #expect(line.indicators == [0x99])
        #expect(!line.stream.wantsRead)
        try line.says(talk[2])
        try line.resets()
        #expect(line.stream.wantsRead)
        try line.says(talk[3] + answer)
        #expect(line.packets == [talk[0]])
        line.falls(silentFor: H4Resynchroniser.silenceMilliseconds - 1)
        #expect(!line.isInStep)
        line.falls(silentFor: 1)
        #expect(line.isInStep)
        #expect(line.discarded == [talk[3].count])
        try line.says(talk[1] + talk[2])
        #expect(line.packets == [talk[0], answer, talk[1], talk[2]])
    }

    enum Damage: CaseIterable { case noIndicator, data, event, dropped, doubled, flipped }

    private static func damaged(_ octets: [UInt8], _ damage: Damage, at offset: Int) -> [UInt8] {
        var octets = octets
        switch damage {
        case .noIndicator: octets.insert(0x99, at: offset)
        case .data: octets.insert(2, at: offset)
        case .event: octets.insert(4, at: offset)
        case .dropped: octets.remove(at: offset)
        case .doubled: octets.insert(octets[offset], at: offset)
        case .flipped: octets[offset] ^= 0xFF
        }
        return octets
    }

    @Test(
        "damage at every offset of a stream: one Reset, and every packet after it is whole", arguments: Damage.allCases)
    func everyOffset(_ damage: Damage) throws {
        let octets = talk.flatMap(\.self)
        for offset in octets.indices {
            let line = try Line()
            try line.says(Self.damaged(octets, damage, at: offset))
            // By now the host knows, from the framing error or because an answer is missing.
            try line.resets()
            try line.says(answer)
            line.falls()
            #expect(line.packets.last == answer, "offset \(offset)")
            line.forget()
            try line.says(octets)
            #expect(line.packets == talk, "offset \(offset)")
        }
    }

    @Test("a Reset sent while the rest of a damaged stream is still to come: at most a second one is needed")
    func everyCut() throws {
        let octets = Self.damaged(talk.flatMap(\.self), .data, at: 3)
        for cut in octets.indices {
            let line = try Line()
            try line.says(Array(octets.prefix(cut)))
            try line.resets()
            try line.says(Array(octets.dropFirst(cut)) + answer)
            line.falls()
            if line.packets.last != answer {
                try line.resets()
                try line.says(answer)
                line.falls()
            }
            #expect(line.packets.last == answer, "cut \(cut)")
            line.forget()
            try line.says(talk[0])
            #expect(line.packets == [talk[0]], "cut \(cut)")
        }
    }

    @Test("Forged events: a peer's data that spells the answer and a new link after it is data, and is dropped")
    func forgedEvents() throws {
        let line = try Line()
        try line.says([0x99])
        try line.resets()
        // The tail of an ACL packet whose head was lost, in one read and octet by octet.
        try line.says(answer + forgery)
        for octet in answer + forgery { try line.says([octet]) }
        try line.says(answer)
        line.falls()
        #expect(line.packets == [answer])
        try line.says(talk[0])
        #expect(line.packets == [answer, talk[0]])
    }

    @Test("a read that should be one packet and is not: the same, and the next read is a packet again")
    func packetDescriptor() throws {
        let line = try Line(framing: .packets)
        try line.says(Array(talk[0].dropLast()))
        #expect(line.indicators == [nil])
        try line.resets()
        try line.says(talk[1])
        try line.says(answer)
        line.falls()
        try line.says(talk[0])
        #expect(line.packets == [answer, talk[0]])
    }

    @Test("a controller that never stops: what is read without an answer is bounded, and one octet more ends it")
    func endless() throws {
        let line = try Line()
        try line.says([0x99])
        try line.resets()
        let chunk = [UInt8](repeating: 0x99, count: 4_096)
        for _ in 0..<H4Resynchroniser.discardedMaximumOctets / chunk.count { try line.says(chunk) }
        #expect(throws: HCIStreamError.noSynchronisation(discardedOctets: 262_145)) { try line.says([0x99]) }
    }

    @Test("in step, a Reset is answered without any silence")
    func ordinaryReset() throws {
        let line = try Line()
        try line.says(talk[0])
        try line.resets()
        try line.says(answer)
        #expect(line.packets == [talk[0], answer])
        #expect(line.stream.deadline == nil)
    }
}
