/// What becomes of some packets between a host and its controller.
package struct PacketFault: Sendable {
    package enum Kind: Sendable, CaseIterable {
        case lostToController, lostToHost, doubled, delayed, truncatedToController, truncatedToHost
    }

    package let kind: Kind
    /// How many packets of that direction are spared, and how many are hit then.
    package let spared: Int
    package let hit: Int
    package let delayMilliseconds: UInt64
    /// Where its own chance begins.
    package let chance: UInt64

    init(_ dice: inout Dice) {
        kind = dice.choice(Kind.allCases)
        spared = dice.below(60)
        hit = dice.choice([1, 1, 1, 3])
        delayMilliseconds = dice.choice([20, 300, 3_000])
        chance = dice.next()
    }
}

extension PacketFault: CustomStringConvertible {
    package var description: String {
        let packets = "\(hit == 1 ? "a packet" : "\(hit) packets") of HCI behind \(spared)"
        return switch kind {
        case .lostToController: "\(packets) never comes to the controller"
        case .lostToHost: "\(packets) never comes to the host"
        case .doubled: "\(packets) comes to the host twice"
        case .delayed: "\(packets) comes to the host \(delayMilliseconds) ms late"
        case .truncatedToController: "\(packets) comes to the controller cut short"
        case .truncatedToHost: "\(packets) comes to the host cut short"
        }
    }
}
