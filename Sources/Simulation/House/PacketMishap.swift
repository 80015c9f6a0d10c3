import BluetoothCore

/// Does to one wire what a ``PacketFault`` says.
final class PacketMishap {
    private let fault: PacketFault
    private unowned let world: World
    private unowned let agenda: Agenda
    private var seen = 0
    private var dice: Dice
    private var delayedUntil: Instant?

    init(_ fault: PacketFault, _ wire: Wire, _ world: World, _ agenda: Agenda) {
        self.fault = fault
        self.world = world
        self.agenda = agenda
        dice = Dice(seed: fault.chance)
        switch fault.kind {
        case .lostToController: wire.loses = { [self] _ in isHit() }
        case .lostToHost: wire.withholds = { [self] _ in isHit() }
        case .doubled: wire.doubles = { [self] _ in isHit() }
        case .delayed: wire.delays = { [self] _ in isDelayed() }
        case .truncatedToController: wire.outgoing = { [self] in isHit() ? truncated($0) : $0 }
        case .truncatedToHost: wire.rewrites = { [self] in isHit() ? truncated($0) : $0 }
        }
    }

    private func isHit() -> Bool {
        seen += 1
        return seen > fault.spared && seen <= fault.spared + fault.hit
    }

    /// Everything behind the first one that is delayed waits with it: packets do not overtake each other.
    private func isDelayed() -> Bool {
        if let delayedUntil { return world.now < delayedUntil }
        guard isHit() else { return false }
        delayedUntil = world.now.advanced(byMilliseconds: fault.delayMilliseconds)
        agenda.after(fault.delayMilliseconds) { [unowned world] in world.settle() }
        return true
    }

    private func truncated(_ packet: [UInt8]) -> [UInt8] { Array(packet.prefix(1 + dice.below(packet.count))) }
}
