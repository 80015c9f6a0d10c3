import BluetoothCore
import HCI
import Testing

private func at(_ milliseconds: UInt64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

extension H4Resynchroniser {
    fileprivate mutating func take(_ octets: [UInt8], at milliseconds: UInt64 = 0) {
        receive(octets.span.bytes, now: HCITests.at(milliseconds))
    }
}

@Suite("Core 5.4, Vol 4, Part A, 4 (Error recovery)")
struct H4ResynchroniserTests {
    /// Command Complete of HCI_Reset, indicator first.
    private static let answer: [UInt8] = [4, 0x0E, 4, 1, 3, 0x0C, 0]

    @Test("the answer to a Reset is found behind any octets, cut anywhere, once the line is silent", arguments: 0...7)
    func found(cut: Int) {
        for garbage: [UInt8] in [
            [], [0x99], [4], [4, 0x0E], [4, 0x0E, 4, 1, 3, 0x0C], [2, 0x40, 0x20, 0xFF, 0xFF, 0],
        ] {
            var seeker = H4Resynchroniser()
            let octets = garbage + Self.answer
            seeker.take(Array(octets.dropLast(cut)))
            seeker.take(Array(octets.suffix(cut)))
            #expect(seeker.answer(now: at(49)) == nil)
            #expect(seeker.answer(now: at(50)) == Array(Self.answer.dropFirst()))
            #expect(seeker.deadline == at(50))
            #expect(seeker.discardedOctets == octets.count)
        }
    }

    @Test("what it hands on is what the codec calls the Reset's answer, with the controller's allowance")
    func decodes() throws {
        var seeker = H4Resynchroniser()
        seeker.take([4, 0x0E, 4, 9, 3, 0x0C, 0])
        let answer = try #require(seeker.answer(now: at(50)))
        guard case .commandComplete(let complete) = try HCIEvent(exactly: answer) else {
            Issue.record("no answer")
            return
        }
        #expect(complete.opcode == HCIReset.opcode)
        #expect(complete.numHCICommandPackets == 9)
        #expect(complete.returnParameters == [0])
    }

    @Test("each octet after it begins the silence anew")
    func silence() {
        var seeker = H4Resynchroniser()
        seeker.take(Self.answer)
        seeker.take([0], at: 49)
        #expect(seeker.answer(now: at(98)) == nil)
        #expect(seeker.answer(now: at(99)) != nil)
    }

    @Test("silence without an answer is none")
    func nothing() {
        var seeker = H4Resynchroniser()
        #expect(seeker.deadline == nil)
        seeker.take([4, 0x0E, 4, 1, 1, 0x10, 0] + [4, 0x0E, 4, 1, 3, 0x0C, 0x0C])
        #expect(seeker.deadline == nil, "another command's answer, or a Reset that failed")
        #expect(seeker.answer(now: at(1_000_000)) == nil)
    }

    @Test("one octet more than may be dropped is hopeless")
    func bound() {
        var seeker = H4Resynchroniser()
        seeker.take([UInt8](repeating: 0x99, count: H4Resynchroniser.discardedMaximumOctets))
        #expect(!seeker.isHopeless)
        seeker.take([0x99])
        #expect(seeker.isHopeless)
    }
}
