import BluetoothCore

/// A link whose fragments do not fit together. The link layer loses nothing, so this is the peer's fault or its
/// controller's, and it reaches the link: what comes next cannot be trusted to be a PDU.
package enum RecombinationError: Error, Equatable, Sendable {
    /// A PDU starts before the one before it is complete.
    case startInsidePDU
    /// A fragment continues nothing.
    case continuationOutsidePDU
    /// A fragment holds more than the PDU that it ends.
    case excessOctets(count: Int)
}

/// What fragments add up to.
package enum RecombinedPDU: Equatable, Sendable {
    case whole(BasicFrame)
    /// Longer than any channel of this link takes: the channel decides what becomes of it, and needs no more of the
    /// payload than its beginning.
    case oversized(ChannelIdentifier, length: Int, head: [UInt8])
}

/// How a fragment relates to its PDU, as far as recombination cares.
package enum Fragment: Sendable, CaseIterable { case start, continuation }

/// Puts one link's PDUs together from the fragments that its controller hands over.
///
/// Core 5.4, Vol 3, Part A, 7.2.2 (Recombination of L2CAP PDUs)
package struct Recombiner: Sendable {
    private enum State: Sendable {
        case idle
        /// Fewer than ``BasicFrame/headerOctets`` octets so far.
        case inHeader([UInt8])
        case inPayload(ChannelIdentifier, length: Int, received: Int)
    }

    private let maximumPayloadOctets: Int
    private var state = State.idle
    /// The payload so far, no more of it than `maximumPayloadOctets`. Handed out with the whole PDU, and its storage reused once the receiver has let go of it.
    private var payload: [UInt8] = []

    /// `maximumPayloadOctets`: the greatest MTU among the link's channels.
    package init(maximumPayloadOctets: Int) { self.maximumPayloadOctets = maximumPayloadOctets }

    /// Whether a PDU has begun and is not complete.
    package var isMidPDU: Bool {
        if case .idle = state { false } else { true }
    }

    /// Takes the next fragment; returns the PDU that it completes. After an error the recombiner is idle.
    package mutating func receive(
        _ fragment: Fragment, _ octets: RawSpan
    ) throws(RecombinationError) -> RecombinedPDU? {
        do throws(RecombinationError) {
            switch (state, fragment) {
            case (.idle, .start):
                return try begin(octets)
            case (.inHeader(var header), .continuation):
                octets.withUnsafeBytes { header.append(contentsOf: $0) }
                return try begin(header.span.bytes)
            case (.inPayload(let channel, let length, let received), .continuation):
                return try take(octets, channel, length, received)
            case (.inHeader, .start), (.inPayload, .start):
                throw .startInsidePDU
            case (.idle, .continuation):
                throw .continuationOutsidePDU
            }
        } catch {
            state = .idle
            throw error
        }
    }

    private mutating func begin(_ octets: RawSpan) throws(RecombinationError) -> RecombinedPDU? {
        guard octets.byteCount >= BasicFrame.headerOctets else {
            state = .inHeader(octets.withUnsafeBytes { Array($0) })
            return nil
        }
        func field(at offset: Int) -> UInt16 {
            UInt16(littleEndian: octets.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self))
        }
        let length = Int(field(at: 0))
        payload.removeAll(keepingCapacity: true)
        let rest = octets.extracting(BasicFrame.headerOctets..<octets.byteCount)
        return try take(rest, ChannelIdentifier(rawValue: field(at: 2)), length, 0)
    }

    private mutating func take(
        _ octets: RawSpan, _ channel: ChannelIdentifier, _ length: Int, _ received: Int
    ) throws(RecombinationError) -> RecombinedPDU? {
        let total = received + octets.byteCount
        guard total <= length else { throw .excessOctets(count: total - length) }
        let kept = octets.extracting(0..<min(octets.byteCount, maximumPayloadOctets - payload.count))
        kept.withUnsafeBytes { payload.append(contentsOf: $0) }
        guard total == length else {
            state = .inPayload(channel, length: length, received: total)
            return nil
        }
        state = .idle
        guard length <= maximumPayloadOctets else { return .oversized(channel, length: length, head: payload) }
        return .whole(BasicFrame(channel: channel, payload: payload))
    }
}
