import LockProtocol

/// Whom a key of a house belongs to, and what for.
struct Tenant: Hashable, Sendable {
    /// Of the credential, which is called as its key.
    let name: String
    let role: Role
    let kind: UserKind
    /// Whose device it is.
    let user: String

    /// It ends with an opening, or some time behind the first one.
    var isPassing: Bool {
        switch kind {
        case .disposable, .expiring: true
        case .ordinary, .duress: false
        }
    }
}

/// Who lives in a house: an owner and a guest, and where it is a household two more, of any role and kind. The last one may be a
/// further device of the one before.
enum Tenants {
    static let plain = 2
    static let household = 4

    static func of(_ seed: UInt64, keys: Int) -> [Tenant] {
        var dice = Dice(seed: seed, part: .max)
        var tenants = [
            Tenant(name: name(of: 0), role: .owner, kind: .ordinary, user: name(of: 0)),
            Tenant(name: name(of: 1), role: .guest, kind: .ordinary, user: name(of: 1)),
        ]
        while tenants.count < keys {
            let (number, last) = (tenants.count, tenants[tenants.count - 1])
            let isFurther = number > plain && dice.oneIn(3)
            tenants.append(
                Tenant(
                    name: name(of: number),
                    role: dice.choice([.administrator, .resident, .lockOnly, .guest, .administrator, .owner]),
                    kind: isFurther ? last.kind : kind(&dice), user: isFurther ? last.user : name(of: number)))
        }
        return Array(tenants.prefix(keys))
    }

    static func name(of key: Int) -> String { "pocket \(key)" }

    private static func kind(_ dice: inout Dice) -> UserKind {
        dice.choice([.ordinary, .ordinary, .disposable, .expiring(minutes: 1), .duress])
    }
}
