import Testing

@testable import L2CAP

private func segmenter(mtu: UInt16 = 100, mps: UInt16 = 23, credits: UInt16 = 100) -> SDUSegmenter {
    SDUSegmenter(ChannelParameters(mtu: mtu, mps: mps, initialCredits: credits), frameOctetsMaximum: 247)
}

private func reassembler(mtu: UInt16 = 100, mps: UInt16 = 23, credits: UInt16 = 100) -> SDUReassembler {
    SDUReassembler(ChannelParameters(mtu: mtu, mps: mps, initialCredits: credits))
}

@Suite("Vol 3, Part A, 3.4.3: SDUs and their K-frames")
struct SegmentationTests {
    @Test("every length up to the MTU goes out in frames of the MPS at most and comes in as it was", arguments: 0...100)
    func everyLength(_ length: Int) throws {
        let sdu = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
        var sender = segmenter()
        var receiver = reassembler()
        try sender.append(sdu)
        #expect(sender.queuedOctets == length + 2)
        var frames = 0
        var received: [[UInt8]] = []
        while let payload = sender.nextPayload() {
            frames += 1
            #expect(payload.count <= 23)
            if frames == 1 { #expect(payload.prefix(2) == [UInt8(length), 0]) }
            if let whole = try receiver.receive(payload) { received.append(whole) }
        }
        #expect(received == [sdu])
        #expect(frames == max(1, (length + 2 + 22) / 23))
        #expect(sender.isEmpty && sender.queuedOctets == 0)
        #expect(sender.credits == 100 - frames && receiver.credits == 100 - frames)
    }

    @Test("an SDU of exactly the MPS in one frame with its length: the length field is no payload")
    func lengthFieldIsNoPayload() throws {
        var receiver = reassembler()
        let sdu = [UInt8](repeating: 9, count: 23)
        #expect(try receiver.receive([23, 0] + sdu) == sdu)
        #expect(throws: ChannelViolation.frameTooLong) { try receiver.receive([24, 0] + sdu + [9]) }
    }

    private static let violations: [(before: [[UInt8]], frame: [UInt8], violation: ChannelViolation)] = [
        ([], [], .missingSDULength),
        ([], [1], .missingSDULength),
        ([], [101, 0], .sduTooLong),
        ([], [0xFF, 0xFF], .sduTooLong),
        ([], [0, 0, 1], .excessOctets),
        ([], [2, 0, 1, 2, 3], .excessOctets),
        ([[4, 0, 1]], [2, 3, 4, 5], .excessOctets),
        ([[100, 0]], [UInt8](repeating: 0, count: 24), .frameTooLong),
    ]

    @Test("a frame that breaks its SDU, and one octet less", arguments: violations)
    func violation(_ row: (before: [[UInt8]], frame: [UInt8], violation: ChannelViolation)) throws {
        var receiver = reassembler()
        for frame in row.before { #expect(try receiver.receive(frame) == nil) }
        #expect(throws: row.violation) { try receiver.receive(row.frame) }
    }

    @Test("the longest SDU is taken, and a frame as long as its SDU has left")
    func bounds() throws {
        var receiver = reassembler(mps: 200)
        #expect(try receiver.receive([100, 0] + [UInt8](repeating: 1, count: 100))?.count == 100)
        #expect(try receiver.receive([4, 0, 1]) == nil)
        #expect(try receiver.receive([2, 3, 4]) == [1, 2, 3, 4])
        #expect(try receiver.receive([4, 0]) == nil)
        #expect(try receiver.receive([]) == nil)
    }

    @Test("10.1: a frame beyond the credits is one too many")
    func credits() throws {
        var receiver = reassembler(credits: 2)
        _ = try receiver.receive([3, 0, 1])
        _ = try receiver.receive([2])
        #expect(throws: ChannelViolation.frameWithoutCredit) { try receiver.receive([3]) }
    }

    @Test("10.1: credits are counted to 65,535 and no further")
    func creditOverflow() throws {
        var sender = segmenter(credits: 0)
        try sender.add(0)
        #expect(sender.credits == 0)
        try sender.add(65_535)
        #expect(throws: ChannelViolation.tooManyCredits) { try sender.add(1) }
        try sender.append([1])
        _ = sender.nextPayload()
        try sender.add(1)
        #expect(sender.credits == 65_535)
    }

    @Test("without credit nothing goes, and each credit is one frame")
    func waitsForCredit() throws {
        var sender = segmenter(credits: 0)
        try sender.append([UInt8](repeating: 7, count: 50))
        #expect(sender.nextPayload() == nil)
        for credits in [1, 1, 2] as [UInt16] {
            try sender.add(credits)
            for _ in 0..<credits where !sender.isEmpty { #expect(sender.nextPayload() != nil) }
            #expect(sender.nextPayload() == nil)
        }
        #expect(sender.isEmpty)
    }

    @Test("an SDU longer than the peer takes is this side's fault, and so is one too many in the queue")
    func sendBounds() throws {
        var sender = segmenter(mtu: 65_535)
        #expect(throws: ChannelSendError.sduTooLong) {
            var short = segmenter(mtu: 23)
            try short.append([UInt8](repeating: 0, count: 24))
        }
        try sender.append([UInt8](repeating: 0, count: 65_535))
        #expect(sender.queuedOctets == SDUSegmenter.queuedOctetsMaximum)
        #expect(throws: ChannelSendError.queueFull) { try sender.append([]) }
        _ = sender.nextPayload()
        try sender.append([UInt8](repeating: 0, count: 21))
        #expect(throws: ChannelSendError.queueFull) { try sender.append([]) }
    }

    /// `consumed`: octets that the app is done with after each SDU.
    @Test(
        "10.1: a receiver that keeps nothing never starves its peer; one that keeps everything stops it at the window")
    func window() throws {
        let own = CreditBasedChannel.ownParameters
        let full = [UInt8](repeating: 1, count: Int(own.mps))
        var receiver = SDUReassembler(own)
        var lots = 0
        for _ in 0..<1000 {
            let sdu = try #require(try receiver.receive([247, 0] + full))
            receiver.consume(sdu.count)
            if receiver.takeGrant() != nil { lots += 1 }
            #expect(receiver.credits > 0)
        }
        #expect((20...60).contains(lots), "credits come in lots: \(lots)")
        receiver = SDUReassembler(own)
        var held = 0
        while receiver.credits > 0 {
            held += try #require(try receiver.receive([247, 0] + full)).count
            _ = receiver.takeGrant()
        }
        #expect(held <= SDUReassembler.windowOctets && held > SDUReassembler.windowOctets - 2 * 247)
        #expect(receiver.takeGrant() == nil)
        receiver.consume(247)
        #expect(receiver.takeGrant() == 1)
        receiver.consume(.max)
        receiver.consume(-1)
        #expect(receiver.takeGrant() == UInt16(SDUReassembler.windowOctets / 247 - 1))
    }

    @Test("10.1: an SDU in the smallest frames gets the credits that it needs before it is complete")
    func manyFrames() throws {
        var receiver = SDUReassembler(CreditBasedChannel.ownParameters)
        #expect(try receiver.receive([0, 8]) == nil)
        for octet in 0..<2047 {
            _ = receiver.takeGrant()
            #expect(try receiver.receive([UInt8(truncatingIfNeeded: octet)]) == nil)
        }
        _ = receiver.takeGrant()
        #expect(try receiver.receive([1])?.count == 2048)
    }
}
