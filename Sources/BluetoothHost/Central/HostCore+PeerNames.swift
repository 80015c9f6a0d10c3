import BluetoothCore
import GATT

// MARK: What peers call themselves

extension HostCore {
    /// Once on each link, for apps that show names. What a bonded peer is called is its own word, and is asked when it has proved
    /// itself.
    ///
    /// Core 5.4, Vol 3, Part C, 12.1 (Device Name characteristic)
    mutating func readName(of link: Link) {
        let isObserved = link.client.users.contains { managers.options(of: $0).contains(.observesLinks) }
        if isObserved { askForName(link) }
    }

    /// For an app that wants to know it once.
    mutating func readName(of peer: PeerIdentifier) {
        if let link = links.client(of: peer) { askForName(link) }
    }

    private mutating func askForName(_ link: Link) {
        guard link.isClient, !link.isImpostorPossible, !link.isDisconnecting, link.client.takeNameReading() else {
            return
        }
        start(.readByUUID(.deviceName), .readName, makeToken(), on: link)
    }

    /// A manager has come for links that stand already.
    mutating func readNames(for owner: RestorationLedger.Owner) {
        for link in links.all where link.client.users.contains(owner) { readName(of: link) }
    }

    mutating func nameRead(_ link: Link, _ octets: [UInt8]) {
        guard let name = PeerName.name(octets) else { return }
        withPeers { $0.update(link.peer, &$1) { $0.name = name } }
        announce(.nameRead(link.peer, name), toThoseWanting: link.peer)
    }
}

extension PeerName {
    /// Core 5.4, Vol 3, Part C, 12.1 (Device Name characteristic)
    static let nameOctetsMaximum = 248

    /// What a Device Name says: UTF-8, and nil for a value that is no name.
    static func name(_ octets: [UInt8]) -> String? {
        guard 1...nameOctetsMaximum ~= octets.count, !octets.contains(0) else { return nil }
        return String(validating: octets, as: UTF8.self)
    }
}
