import BluetoothCore
import BluetoothCrypto
import SecurityManager

// MARK: Under which address this side is on the air, and whom it has to look for under another

extension Host {
    /// A resolvable private address, where privacy is on and there is somebody to resolve it. While a window is open the
    /// identity address: the stranger that it is open for knows nothing else, be it from a setup code.
    ///
    /// Core 5.4, Vol 3, Part C, 10.7.1 to 10.7.3 (Privacy feature in each role)
    var addressForAir: DeviceAddress {
        guard configuration.privacy, pairingWindow == nil, bondBook.hasBonds else {
            // The one from before must not come back behind it: whoever has heard both would know whose it was.
            privateAddress.forget()
            return identity.address.address
        }
        return privateAddress.address(at: now, random: &random)
    }

    /// Under which address this side advertises, scans and connects now; nil while there is no controller to do it.
    package var addressOnAir: DeviceAddress? { state == .poweredOn ? ownAddress.told : nil }

    /// When ``addressForAir`` becomes another one by itself; while there is no radio, nobody hears it.
    var addressDeadline: Instant? { state == .poweredOn ? privateAddress.deadline : nil }

    /// Of those who are wanted, who may be on the air under an address that only their key tells: no accept list finds
    /// them by itself.
    func privatePeers(among wanted: [DeviceAddress]) -> Set<DeviceAddress> {
        Set(wanted.filter { !resolvingKeys(of: $0).isEmpty })
    }

    /// nil for whoever is no bonded peer, or has given no key. A list holds one key of an identity (7.8.38): a peer that gave
    /// another with each of two bonds, since it may have kept either, is in none, and is listened for.
    func resolvingEntry(of address: DeviceAddress) -> ResolvingList.Entry? {
        let irks = resolvingKeys(of: address)
        guard let identity = IdentityAddress(address), let irk = irks.first, irks.allSatisfy({ $0 == irk }) else {
            return nil
        }
        return ResolvingList.Entry(identity: identity, irk: irk)
    }

    private func resolvingKeys(of address: DeviceAddress) -> [Secret] {
        IdentityAddress(address).map { bondBook.bonds(with: $0).compactMap(\.peerIRK) } ?? []
    }
}
