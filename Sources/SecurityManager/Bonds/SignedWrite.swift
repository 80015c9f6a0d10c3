import BluetoothCore
import BluetoothCrypto

/// What a signed command from a bonded peer turned out to be.
///
/// Core 5.4, Vol 3, Part C, 10.4.2 (Authenticate signed data procedure)
package enum SignedWriteVerdict: Equatable, Sendable {
    /// Authentic and new. The mutation is committed before anything acts on the command.
    case accepted(signCounter: UInt32, BondMutation)
    /// Too short to carry counter and signature: the peer's fault, reaches the command.
    case malformed
    /// The bond is unknown, not confirmed, or has no key of the peer: the command is ignored.
    case notVerifiable
    /// Forged or corrupted. Nothing was learnt from it: the bond's counter is untouched.
    case badSignature
    /// Authentic, but not newer than the last one.
    case replayed(signCounter: UInt32)
}

/// A signed command ready to leave, or why there is none.
package enum SigningOutcome: Equatable, Sendable {
    /// `reserving` is committed before the octets leave.
    case signed([UInt8], reserving: BondMutation?)
    /// The bond is unknown, not confirmed, or this side gave the peer no key.
    case notPossible
    /// Every counter is used: the bond must be renewed.
    case exhausted
}

/// The counters and keyed contexts of one bond's signed commands. A context is made when it is first needed: most bonds
/// are idle, and a launch with a thousand of them is not to wait for two thousand contexts.
struct SigningState {
    /// Counters on disk are reserved this many at a time: a crash skips some and never uses one twice.
    static let reservedCounters: UInt32 = 64

    /// How far a counter goes that is behind by nobody knows how much. More than a key signs in some weeks, and 4 million times of it
    /// are there.
    static let skippedCounters: UInt32 = 1_024

    private(set) var nextCounter: UInt32
    private var signer: DataSigning?
    private var verifier: DataSigning?

    init(_ bond: Bond) { nextCounter = bond.localSignCounterReserved }

    private static func keyed(_ context: inout DataSigning?, _ csrk: Secret?) -> DataSigning? {
        if context == nil { context = csrk.map(DataSigning.init(csrk:)) }
        return context
    }

    mutating func sign(_ message: [UInt8], with bond: inout Bond) -> SigningOutcome {
        guard bond.state == .confirmed, let signer = Self.keyed(&signer, bond.localCSRK) else { return .notPossible }
        guard let (counter, mutation) = takeCounter(&bond) else { return .exhausted }
        var octets = message
        octets.reserveCapacity(message.count + DataSigning.signCounterOctets + DataSigning.signatureOctets)
        withUnsafeBytes(of: counter.littleEndian) { octets.append(contentsOf: $0) }
        octets.append(contentsOf: signer.signature(message: message, signCounter: counter))
        return .signed(octets, reserving: mutation)
    }

    /// A counter that was never used, and what is committed before anything leaves with it; nil once they are spent.
    mutating func takeCounter(_ bond: inout Bond) -> (counter: UInt32, reserving: BondMutation?)? {
        var mutation: BondMutation?
        if nextCounter >= bond.localSignCounterReserved {
            // The bound is exclusive, so that the greatest counter is never used and none wraps.
            guard nextCounter < .max else { return nil }
            let (sum, overflow) = nextCounter.addingReportingOverflow(Self.reservedCounters)
            bond.localSignCounterReserved = overflow ? .max : sum
            mutation = .localSignCounterReserved(bond.id, bound: bond.localSignCounterReserved)
        }
        defer { nextCounter += 1 }
        return (nextCounter, mutation)
    }

    /// The peer has taken this counter, or, with nil, one that nobody knows. The state of this side may be an older one than that of the
    /// peer: then everything up to there is refused as replayed.
    ///
    /// - Returns: What has to be on the disk before the next signature; nil where this side is not behind.
    mutating func advance(beyond counter: UInt32?, with bond: inout Bond) -> BondMutation? {
        guard bond.state == .confirmed else { return nil }
        let (sum, overflow) =
            counter.map { $0.addingReportingOverflow(1) }
            ?? nextCounter.addingReportingOverflow(Self.skippedCounters)
        let next = overflow ? .max : sum
        guard next > nextCounter else { return nil }
        nextCounter = next
        guard next > bond.localSignCounterReserved else { return nil }
        bond.localSignCounterReserved = next
        return .localSignCounterReserved(bond.id, bound: next)
    }

    /// Signature first, counter second: a forged command must not move the counter.
    mutating func verify(_ octets: [UInt8], from bond: inout Bond) -> SignedWriteVerdict {
        guard bond.state == .confirmed, let verifier = Self.keyed(&verifier, bond.remoteCSRK) else {
            return .notVerifiable
        }
        let signatureStart = octets.count - DataSigning.signatureOctets
        let counterStart = signatureStart - DataSigning.signCounterOctets
        guard counterStart > 0 else { return .malformed }
        let all = octets.span
        var counter: UInt32 = 0
        for index in (counterStart..<signatureStart).reversed() { counter = counter << 8 | UInt32(all[index]) }
        let isGenuine = verifier.verify(
            all.extracting(signatureStart..<octets.count), message: all.extracting(0..<counterStart),
            signCounter: counter)
        #if LATCH_PLANTS
        if Plant.active == .counterFirst, !isGenuine {
            bond.lastRemoteSignCounter = max(counter, bond.lastRemoteSignCounter ?? 0)
        }
        guard isGenuine || Plant.active == .mac else { return .badSignature }
        #else
        guard isGenuine else { return .badSignature }
        #endif
        #if LATCH_PLANTS
        if Plant.active == .replay { return .accepted(signCounter: counter, .remoteSignCounter(bond.id, counter)) }
        #endif
        if let last = bond.lastRemoteSignCounter, counter <= last { return .replayed(signCounter: counter) }
        bond.lastRemoteSignCounter = counter
        return .accepted(signCounter: counter, .remoteSignCounter(bond.id, counter))
    }
}
