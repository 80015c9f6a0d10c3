import BluetoothCore
import BluetoothCrypto

/// Whom an address on the air stands for. It identifies and never authenticates: an address can be recorded and
/// replayed.
///
/// Core 5.4, Vol 3, Part C, 10.8.2.3 (Resolvable private address resolution procedure)
package enum AddressResolution: Equatable, Sendable {
    case unknown
    case bonded(IdentityAddress)
    /// More than one identity's key makes this address. Nothing may rest on it.
    case ambiguous
}

/// The identity resolving keys of bonded peers, and what they lately resolved.
struct AddressResolver {
    /// Only addresses that resolved are kept, so that a stranger cannot crowd a bonded peer out.
    static let cachedAddressesMaximum = 256

    private let keys = ResolvingKeys()
    /// Keys that have no context yet, in the order of their owners: they get one when the first address asks for it.
    private var unkeyed: [Secret] = []
    /// Whose the key at the same index is.
    private var owners: [(bond: BondID, identity: IdentityAddress)] = []
    private var cache: [DeviceAddress: AddressResolution] = [:]
    /// The cached addresses, oldest first from `oldest` on.
    private var cached: [DeviceAddress] = []
    private var oldest = 0

    mutating func insert(_ irk: Secret, of identity: IdentityAddress, bond: BondID) {
        unkeyed.append(irk)
        owners.append((bond, identity))
        forget()
    }

    func has(_ bond: BondID) -> Bool { owners.contains { $0.bond == bond } }

    mutating func remove(bond: BondID) {
        guard let index = owners.firstIndex(where: { $0.bond == bond }) else { return }
        keyAll()
        keys.swapRemove(at: index)
        owners.swapAt(index, owners.count - 1)
        owners.removeLast()
        forget()
    }

    /// The identity of a resolvable private address.
    mutating func resolve(_ address: DeviceAddress) -> AddressResolution {
        if let known = cache[address] { return known }
        let resolution = sweep(address)
        if resolution != .unknown { remember(address, resolution) }
        return resolution
    }

    /// The bonds whose keys make an address that `irk` makes: those that have it, and hardly ever another one.
    mutating func bonds(of irk: Secret) -> [BondID] {
        matches(Toolbox.resolvablePrivateAddress(irk: AES128(key: irk), random: 0)).map { owners[$0].bond }
    }

    private mutating func sweep(_ address: DeviceAddress) -> AddressResolution {
        var found: IdentityAddress?
        for index in matches(address) {
            let identity = owners[index].identity
            if let found, found != identity { return .ambiguous }
            found = identity
        }
        return found.map { .bonded($0) } ?? .unknown
    }

    /// The keys that make `address`.
    private mutating func matches(_ address: DeviceAddress) -> [Int] {
        keyAll()
        let prand = UInt32(truncatingIfNeeded: address.bits >> 24)
        let hash = UInt32(truncatingIfNeeded: address.bits & 0xFF_FFFF)
        var found: [Int] = []
        while let index = keys.firstIndex(prand: prand, hash: hash, from: found.last.map { $0 + 1 } ?? 0) {
            found.append(index)
        }
        return found
    }

    private mutating func keyAll() {
        for irk in unkeyed { keys.append(irk) }
        unkeyed = []
    }

    private mutating func remember(_ address: DeviceAddress, _ resolution: AddressResolution) {
        cache[address] = resolution
        guard cached.count == Self.cachedAddressesMaximum else { return cached.append(address) }
        cache[cached[oldest]] = nil
        cached[oldest] = address
        oldest = (oldest + 1) % Self.cachedAddressesMaximum
    }

    private mutating func forget() {
        cache.removeAll(keepingCapacity: true)
        cached.removeAll(keepingCapacity: true)
        oldest = 0
    }
}
