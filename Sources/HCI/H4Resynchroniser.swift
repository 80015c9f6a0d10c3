import BluetoothCore

/// Finds the way back into a stream that is out of step: looks among the controller's octets for the Command Complete of
/// the HCI_Reset that the host sends, and drops all others.
///
/// Those octets may be anybody's: data of a peer can spell events. So what is found counts only when the line has fallen
/// silent after it, which a controller that was just reset does, since it has no links and has been asked nothing; and
/// of all that came before the silence, nothing but that one answer is handed on. Silence is also where a packet ends.
///
/// Core 5.4, Vol 4, Part A, 4 (Error recovery)
package struct H4Resynchroniser: Sendable {
    /// How long the line is to be silent.
    package static let silenceMilliseconds: UInt64 = 50
    /// What is dropped before the search is given up: more than any controller has buffered when it is reset.
    package static let discardedMaximumOctets = 262_144

    /// Octets dropped so far.
    package private(set) var discardedOctets = 0
    /// When ``answer(now:)`` will have one, unless more octets come.
    package private(set) var deadline: Instant?

    /// The last octets, the newest lowest.
    private var window: UInt64 = 0
    private var allowance: UInt8?

    package init() {}

    /// More has been dropped than ``discardedMaximumOctets``: what is on the line is no controller.
    package var isHopeless: Bool { discardedOctets > Self.discardedMaximumOctets }

    package mutating func receive(_ octets: RawSpan, now: Instant) {
        for offset in 0..<octets.byteCount {
            window = window << 8 | UInt64(octets.unsafeLoad(fromByteOffset: offset, as: UInt8.self))
            if window & Self.mask == Self.pattern { allowance = UInt8(truncatingIfNeeded: window >> 24) }
        }
        discardedOctets += octets.byteCount
        if allowance != nil { deadline = now.advanced(byMilliseconds: Self.silenceMilliseconds) }
    }

    /// Command Complete of HCI_Reset, header included but not the indicator, once the silence has lasted.
    package func answer(now: Instant) -> [UInt8]? {
        guard let allowance, let deadline, deadline <= now else { return nil }
        return [0x0E, 4, allowance, 0x03, 0x0C, 0]
    }

    /// Octets dropped that are not the answer's.
    package var strayOctets: Int { discardedOctets - Self.answerOctets }

    private static let answerOctets = 7

    /// H4 indicator, event code, length, Num_HCI_Command_Packets, opcode, status.
    ///
    /// Core 5.4, Vol 4, Part E, 7.7.14 (Command Complete event); 7.3.2 (Reset command)
    private static let pattern: UInt64 = 0x04_0E_04_00_03_0C_00
    private static let mask: UInt64 = 0xFF_FF_FF_00_FF_FF_FF
}
