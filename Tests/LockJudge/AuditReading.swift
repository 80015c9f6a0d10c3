import BluetoothCrypto
import LockPeripheral
import LockProtocol

/// Somebody who reads a lock's audit over the air, by docs/PROTOCOL.md and with nothing of the lock's own reading.
///
/// In: the values of Audit Record, in their order, and that a link has ended. Out: what is known of the chain, and what is wrong with it.
package struct AuditReading {
    package private(set) var sequences: [UInt64] = []
    /// What is known up to here; the chain's beginning where nothing is.
    package private(set) var sequence: UInt64 = 0
    private var hash: [UInt8]?
    /// First and last of each cut.
    package private(set) var cuts: [ClosedRange<UInt64>] = []
    /// The last signed end, where the chain comes to it, and all cuts are of the same key.
    package private(set) var signedEnd: UInt64?
    package private(set) var faults: [String] = []
    private var signedCuts: [(message: [UInt8], signature: [UInt8])] = []
    private var begun: (kind: UInt8, octets: [UInt8])?

    /// From `first` on nothing is known of what is before it.
    package init(from first: UInt64 = 1) {
        sequence = first - 1
        if first == 1 { hash = SHA256.digest(Array("latch audit 1".utf8)) }
    }

    /// What is asked for next.
    package var next: UInt64 { sequence + 1 }

    package mutating func linkEnded() { begun = nil }

    package mutating func take(_ value: [UInt8]) {
        guard let header = value.first else { return fail("an empty notification") }
        let (kind, isFirst, isLast) = (header >> 4, header & 1 == 1, header & 2 == 2)
        if header & 0x0C != 0 { fail("unknown flags") }
        if isFirst != (begun == nil) { fail("a part that does not go on where the one before it ended") }
        var octets = begun?.octets ?? []
        if let begun, begun.kind != kind { fail("a part of something else") }
        octets += value.dropFirst()
        begun = isLast ? nil : (kind, octets)
        guard isLast else { return }
        switch kind {
        case 1: takeRecord(octets)
        case 2: takeCut(octets)
        case 3: takeEnd(octets)
        default: fail("an unknown kind")
        }
    }

    private mutating func takeRecord(_ octets: [UInt8]) {
        guard octets.count > 72 else { return fail("a short record") }
        let (content, own) = (Array(octets.dropLast(32)), Array(octets.suffix(32)))
        let number = Self.number(content[0..<8])
        if number != sequence + 1 { fail("record \(number) behind \(sequence)") }
        if let hash, SHA256.digest(hash + content) != own { fail("record \(number) does not continue the chain") }
        sequences.append(number)
        (sequence, hash) = (number, own)
    }

    private mutating func takeCut(_ octets: [UInt8]) {
        guard octets.count == 48 || octets.count == 112 else { return fail("a cut of another length") }
        let (first, last) = (Self.number(octets[0..<8]), Self.number(octets[8..<16]))
        guard first <= last, first <= sequence + 1, last > sequence else {
            return fail("a cut from \(first) to \(last)")
        }
        cuts.append(first...last)
        signedCuts.append((Array("latch audit cut 1".utf8) + octets[0..<48], Array(octets[48...])))
        (sequence, hash) = (last, Array(octets[16..<48]))
    }

    private mutating func takeEnd(_ octets: [UInt8]) {
        guard octets.count == 136, let key = Ed25519PublicKey(Array(octets[104...])) else {
            return fail("an end of another length")
        }
        let isWhole = Self.number(octets[0..<8]) == sequence && Array(octets[8..<40]) == hash
        let isSigned = key.isSigned(
            Array("latch audit checkpoint 1".utf8) + octets[0..<40], Array(octets[40..<104]))
        if !isSigned || !signedCuts.allSatisfy({ key.isSigned($0.message, $0.signature) }) { fail("a wrong signature") }
        signedEnd = isWhole && isSigned ? sequence : nil
    }

    private mutating func fail(_ fault: String) { faults.append(fault) }

    private static func number(_ octets: ArraySlice<UInt8>) -> UInt64 {
        octets.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
