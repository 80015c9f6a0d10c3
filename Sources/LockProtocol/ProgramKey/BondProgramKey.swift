import BluetoothCrypto

/// How far a bond's program is with a key of its own, at either end, as the bond's application secret has it: r of the window's code, and
/// behind it the key. Once the program has shown that it has the key, r is gone.
package enum BondProgramKey: Equatable, Sendable {
    /// Nobody asked for one: the bond's key alone moves the bolt.
    case none
    case awaited(random: Secret)
    /// The answer may not have come to the program: another agreement takes this one's place.
    case agreed(random: Secret, ProgramKey)
    case confirmed(ProgramKey)
    /// What is kept is none of these: the bond proves itself by nothing.
    case unreadable

    package init(secret: Secret?) {
        let random = 0..<SetupCode.randomOctets
        guard let secret else {
            self = .none
            return
        }
        switch secret.count {
        case random.count: self = .awaited(random: secret)
        case ProgramKey.octets: self = ProgramKey(secret).map { .confirmed($0) } ?? .unreadable
        case random.count + ProgramKey.octets:
            let key = ProgramKey(secret.part(random.upperBound..<secret.count))
            self = key.map { .agreed(random: secret.part(random), $0) } ?? .unreadable
        default: self = .unreadable
        }
    }

    /// What is kept of it; nil where there is nothing to keep.
    package var secret: Secret? {
        switch self {
        case .none, .unreadable: nil
        case .awaited(let random): random
        case .agreed(let random, let key): random.followed(by: key.secret)
        case .confirmed(let key): key.secret
        }
    }
}
