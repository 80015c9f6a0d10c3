import BlueZ
import BluetoothCore
import BluetoothCrypto
import SecurityManager

/// The air where bluetoothd keeps the adapter: what it was told is wanted, and which links are its.
struct BlueZSide {
    struct Pairing {
        let manager: ManagerID
        let peer: PeerIdentifier
        let data: OutOfBandData
        let credential: String
        let applicationSecret: Secret?
    }

    var machine: BlueZCentral
    /// What is wanted may be something else than it was told.
    var isUnsettled = true
    /// By the devices' objects.
    var links: [String: LinkID] = [:]
    /// The pairing that is under way.
    var pairing: Pairing?
    /// Writes that must not leave later, as far as that time has not passed.
    private var dated: [OperationToken: (manager: ManagerID, peer: PeerIdentifier, until: Instant)] = [:]

    init(_ choice: AdapterChoice) { machine = BlueZCentral(adapter: choice) }

    /// What there is to ask of the adapter of its links, which the kernel keeps.
    var adapterFacts: ControllerFacts { machine.adapterNumber == nil ? ControllerFacts() : .ofKernel }

    /// The pairing that was under way, which is over.
    mutating func takePairing() -> Pairing? {
        defer { pairing = nil }
        return pairing
    }

    /// What was to leave before now has left, or was said not to.
    mutating func date(
        _ token: OperationToken, _ manager: ManagerID, _ peer: PeerIdentifier, until: Instant, _ now: Instant
    ) {
        dated = dated.filter { $0.value.until >= now }
        dated[token] = (manager, peer, until)
    }

    mutating func lapsed(_ token: OperationToken) -> (manager: ManagerID, peer: PeerIdentifier)? {
        dated.removeValue(forKey: token).map { ($0.manager, $0.peer) }
    }
}
