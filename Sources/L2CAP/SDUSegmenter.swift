/// Why an SDU was not taken. This side's fault; it reaches the SDU.
package enum ChannelSendError: Error, Equatable, Sendable {
    /// The channel is not open, or no longer.
    case notOpen
    /// Longer than the peer takes.
    case sduTooLong
    /// The queue has no room for it: try again once it is said to have.
    case queueFull
}

/// The sending half of a credit-based channel: SDUs that wait, cut into K-frames as the peer's credits allow.
///
/// Core 5.4, Vol 3, Part A, 3.4.3 (Connection-oriented channels in LE credit based flow control mode), 10.1
package struct SDUSegmenter: Sendable {
    /// Octets that may wait on one channel, each SDU's length field among them: the longest SDU that there is fits.
    package static let queuedOctetsMaximum = 65_537
    /// Core 5.4, Vol 3, Part A, 10.1: a count beyond it ends the channel.
    package static let creditsMaximum = 65_535

    /// The longest SDU that the peer takes, in octets.
    package let mtu: Int
    /// Octets of the longest K-frame that is sent, the SDU's length field among them. What the peer would take beyond
    /// `frameOctetsMaximum` is not used: what else the link carries would wait for it.
    private let frameOctets: Int
    package private(set) var credits: Int
    private var sdus: [[UInt8]] = []
    /// Of the first SDU that is not sent whole.
    private var head = 0
    /// Octets of that SDU which are sent, its length field among them.
    private var sent = 0
    package private(set) var queuedOctets = 0

    package init(_ peer: ChannelParameters, frameOctetsMaximum: Int) {
        mtu = Int(peer.mtu)
        frameOctets = min(Int(peer.mps), frameOctetsMaximum)
        credits = Int(peer.initialCredits)
    }

    package var isEmpty: Bool { head == sdus.count }
    package var canSend: Bool { !isEmpty && credits > 0 }

    package mutating func append(_ sdu: [UInt8]) throws(ChannelSendError) {
        guard sdu.count <= mtu else { throw .sduTooLong }
        let octets = sdu.count + SDUReassembler.lengthFieldOctets
        guard queuedOctets + octets <= Self.queuedOctetsMaximum else { throw .queueFull }
        queuedOctets += octets
        sdus.append(sdu)
    }

    package mutating func add(_ more: UInt16) throws(ChannelViolation) {
        guard credits + Int(more) <= Self.creditsMaximum else { throw .tooManyCredits }
        credits += Int(more)
    }

    /// The next K-frame's payload; nil while there is none, or no credit for it.
    package mutating func nextPayload() -> [UInt8]? {
        guard canSend else { return nil }
        credits -= 1
        var payload: [UInt8] = []
        let sdu = sdus[head]
        payload.reserveCapacity(min(frameOctets, sdu.count + SDUReassembler.lengthFieldOctets))
        if sent == 0 {
            payload.append(UInt8(truncatingIfNeeded: sdu.count))
            payload.append(UInt8(truncatingIfNeeded: sdu.count >> 8))
            sent = SDUReassembler.lengthFieldOctets
            queuedOctets -= SDUReassembler.lengthFieldOctets
        }
        let begin = sent - SDUReassembler.lengthFieldOctets
        let end = min(sdu.count, begin + frameOctets - payload.count)
        payload.append(contentsOf: sdu[begin..<end])
        queuedOctets -= end - begin
        sent += end - begin
        if end == sdu.count { finishFirst() }
        return payload
    }

    private mutating func finishFirst() {
        sent = 0
        head += 1
        guard head == sdus.count || head >= Self.compactionThreshold && head * 2 >= sdus.count else { return }
        sdus.removeSubrange(0..<head)
        head = 0
    }

    private static let compactionThreshold = 32
}
