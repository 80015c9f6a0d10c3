/// What a peer did on a credit-based channel that it must not do. It reaches the channel, which is disconnected.
package enum ChannelViolation: Error, Equatable, Sendable {
    /// A K-frame that nothing allowed.
    case frameWithoutCredit
    /// More credits than can be counted.
    case tooManyCredits
    /// An SDU longer than this end's MTU.
    case sduTooLong
    /// A K-frame longer than this end's MPS.
    case frameTooLong
    /// K-frames that together hold more than their SDU.
    case excessOctets
    /// The first K-frame of an SDU is too short to say how long that is.
    case missingSDULength
    /// A response that opens a channel with what no channel may have.
    case unacceptableParameters
    /// A response that gives the channel an end that another one has: nobody could tell the two apart.
    case destinationCIDAlreadyAllocated
}

/// The receiving half of a credit-based channel: puts SDUs together from K-frames, and says how many more may come.
///
/// Core 5.4, Vol 3, Part A, 3.4.3 (Connection-oriented channels in LE credit based flow control mode), 10.1
package struct SDUReassembler: Sendable {
    /// The field that begins an SDU's first K-frame.
    static let lengthFieldOctets = 2
    /// Octets that a channel may hold on its receiver's side: those of its SDUs that nobody has consumed, those of the SDU
    /// that is under way, and what the peer has credit to send.
    package static let windowOctets = 16_384

    private let mtu: Int
    private let mps: Int
    /// K-frames that the peer may still send.
    package private(set) var credits: Int
    private var sdu: [UInt8] = []
    /// Of the SDU that is under way.
    private var length: Int?
    /// Octets handed out that nobody has said to be done with.
    private var unconsumed = 0

    package init(_ own: ChannelParameters) {
        mtu = Int(own.mtu)
        mps = Int(own.mps)
        credits = Int(own.initialCredits)
    }

    /// Takes a K-frame's payload; returns the SDU that it completes.
    package mutating func receive(_ payload: [UInt8]) throws(ChannelViolation) -> [UInt8]? {
        guard credits > 0 else { throw .frameWithoutCredit }
        credits -= 1
        var information = payload[...]
        if length == nil {
            guard payload.count >= Self.lengthFieldOctets else { throw .missingSDULength }
            let announced = Int(payload[0]) | Int(payload[1]) << 8
            guard announced <= mtu else { throw .sduTooLong }
            length = announced
            information = payload[Self.lengthFieldOctets...]
        }
        guard information.count <= mps else { throw .frameTooLong }
        guard let length, sdu.count + information.count <= length else { throw .excessOctets }
        sdu.append(contentsOf: information)
        guard sdu.count == length else { return nil }
        self.length = nil
        unconsumed += length
        defer { sdu = [] }
        return sdu
    }

    /// The app is done with octets that it was given.
    package mutating func consume(_ octets: Int) { unconsumed -= min(max(octets, 0), unconsumed) }

    /// Credits to give to the peer now, in lots, so that not every frame is answered by a credit; nil for none.
    ///
    /// Core 5.4, Vol 3, Part A, 10.1: they may be returned at any time, and an SDU may need more than there were at first.
    package mutating func takeGrant() -> UInt16? {
        let free = Self.windowOctets - unconsumed - sdu.count - credits * mps
        let grant = free / mps
        guard grant > 0, credits == 0 || grant * 2 >= Self.windowOctets / mps else { return nil }
        credits += grant
        return UInt16(truncatingIfNeeded: grant)
    }
}
