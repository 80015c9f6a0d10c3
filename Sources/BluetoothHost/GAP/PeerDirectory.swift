import BluetoothCore

/// The names that apps know peers by. A peer that was only heard has its name in memory; one that an app connected to,
/// or that bonded, has it on disk.
package struct PeerDirectory {
    /// Peers that were only heard: the oldest is forgotten beyond this.
    package static let strangersMaximum = 1024
    /// Peers without a bond that are on disk: one that nothing rests on is forgotten beyond this.
    package static let keptStrangersMaximum = 1024

    /// What a peer's last advertisement said of the peer itself. In memory, and no longer than its name.
    package struct Announcement: Equatable, Sendable {
        package var mode: DiscoverableMode
        package var isConnectable: Bool
        /// At most ``servicesMaximum``, the first ones.
        package let services: [BluetoothUUID]

        /// As many as fit into an advertisement that has a scan response.
        package static let servicesMaximum = 14

        package init(mode: DiscoverableMode, isConnectable: Bool, services: [BluetoothUUID]) {
            self.mode = mode
            self.isConnectable = isConnectable
            self.services = Array(services.prefix(Self.servicesMaximum))
        }
    }

    private var records: [PeerIdentifier: PeerRecord]
    private var announcements: [PeerIdentifier: Announcement] = [:]
    private var byAddress: [DeviceAddress: PeerIdentifier]
    private var kept: Set<PeerIdentifier>
    private var keptStrangers = KeptStrangers()
    /// In the order in which they were first heard.
    private var strangers: [PeerIdentifier] = []
    private var firstStranger = 0
    /// What the store keeps and nobody has asked for yet; nil when that is nothing.
    private let rest: (any HostRows)?

    package init(_ peers: [PeerRecord], rest: (any HostRows)? = nil) {
        self.rest = rest
        records = Dictionary(peers.map { ($0.identifier, $0) }) { _, last in last }
        byAddress = Dictionary(peers.map { ($0.address, $0.identifier) }) { _, last in last }
        kept = Set(peers.map(\.identifier))
    }

    package subscript(identifier: PeerIdentifier) -> PeerRecord? { records[identifier] ?? rest?.peer(identifier) }

    package func identifier(at address: DeviceAddress) -> PeerIdentifier? {
        byAddress[address] ?? stored(at: address)?.identifier
    }

    /// What is in memory counts: it may have another address by now.
    private func stored(at address: DeviceAddress) -> PeerRecord? {
        rest?.peer(at: address).flatMap { records[$0.identifier] == nil ? $0 : nil }
    }

    /// Every peer that is kept, by nothing but its names.
    func keptNames() -> [PeerName] {
        if let rest { return rest.peerNames() }
        return kept.compactMap { records[$0] }.map { PeerName(identifier: $0.identifier, name: $0.name) }
    }

    /// Takes a kept peer into memory, if it is not there yet: one that will be asked for often.
    package mutating func read(_ identifier: PeerIdentifier) {
        guard records[identifier] == nil, let record = rest?.peer(identifier) else { return }
        take(record)
    }

    private mutating func read(at address: DeviceAddress) {
        guard byAddress[address] == nil, let record = stored(at: address) else { return }
        take(record)
    }

    private mutating func take(_ record: PeerRecord) {
        records[record.identifier] = record
        if byAddress[record.address] == nil { byAddress[record.address] = record.identifier }
        kept.insert(record.identifier)
    }

    /// The name for whoever is at `address`; `fresh` becomes it when there is none.
    package mutating func identifier(at address: DeviceAddress, fresh: @autoclosure () -> UInt128) -> PeerIdentifier {
        read(at: address)
        if let known = byAddress[address] { return known }
        let identifier = PeerIdentifier(bits: fresh())
        records[identifier] = PeerRecord(identifier: identifier, address: address)
        byAddress[address] = identifier
        strangers.append(identifier)
        forgetOldestStrangers()
        return identifier
    }

    /// Changes a record; on disk when the peer is one that is kept.
    package mutating func update(
        _ identifier: PeerIdentifier, _ facts: inout [HostMutation], _ body: (inout PeerRecord) -> Void
    ) {
        read(identifier)
        guard var record = records[identifier] else { return }
        let before = record
        body(&record)
        guard record != before else { return }
        if record.address != before.address {
            byAddress[before.address] = nil
            byAddress[record.address] = identifier
        }
        records[identifier] = record
        if kept.contains(identifier) { facts.append(.peer(record)) }
    }

    /// The name in an advertisement, which anybody may send: known while the process lives, and never written for it. It takes no
    /// name away that is kept, which the peer's own GAP service may have said.
    package mutating func heard(_ identifier: PeerIdentifier, name: String) {
        read(identifier)
        if kept.contains(identifier), records[identifier]?.name != nil { return }
        records[identifier]?.name = name
    }

    package mutating func announced(_ identifier: PeerIdentifier, _ announcement: Announcement) {
        read(identifier)
        guard records[identifier] != nil else { return }
        announcements[identifier] = announcement
    }

    package func announcement(of identifier: PeerIdentifier) -> Announcement? { announcements[identifier] }

    /// An app relies on this peer's name from now on.
    package mutating func keep(_ identifier: PeerIdentifier, _ facts: inout [HostMutation]) {
        read(identifier)
        guard let record = records[identifier], kept.insert(identifier).inserted else { return }
        keptStrangers.note(identifier)
        facts.append(.peer(record))
    }

    /// It goes from the disk, and stays in memory like one that was only heard.
    mutating func forgetKept(_ identifier: PeerIdentifier, _ facts: inout [HostMutation]) {
        guard kept.contains(identifier) else { return }
        keptStrangers.remove(identifier)
        makeStranger(identifier, &facts)
    }

    private mutating func makeStranger(_ identifier: PeerIdentifier, _ facts: inout [HostMutation]) {
        kept.remove(identifier)
        facts.append(.peerForgotten(identifier))
        guard records[identifier] != nil else { return }
        strangers.append(identifier)
    }

    /// Its peer is at this address, where another name finds it. This one is in memory alone from now on.
    mutating func supersede(
        _ identifier: PeerIdentifier, at address: DeviceAddress, _ facts: inout [HostMutation]
    ) {
        forgetKept(identifier, &facts)
        guard let former = records[identifier]?.address else { return }
        if byAddress[former] == identifier { byAddress[former] = nil }
        records[identifier]?.address = address
    }

    mutating func forget(_ identifier: PeerIdentifier, _ facts: inout [HostMutation]) {
        forgetKept(identifier, &facts)
        forgetStranger(identifier)
    }

    /// Reads one slice of the names that earlier lives have kept without a bond. False once there is no more.
    mutating func readOn(limit: Int) -> Bool { rest.map { keptStrangers.readOn($0, limit: limit) } ?? false }

    var keepsTooManyStrangers: Bool { keptStrangers.count > Self.keptStrangersMaximum }

    /// Forgets the oldest of those that are kept without a bond, as far as they are too many and nothing rests on them. In
    /// memory each is a stranger again.
    mutating func forgetKeptStrangers(_ facts: inout [HostMutation], mayGo: (PeerIdentifier) -> Bool) {
        while keepsTooManyStrangers, let oldest = keptStrangers.takeOldest(where: mayGo) {
            makeStranger(oldest, &facts)
        }
        forgetOldestStrangers()
    }

    /// The name of a bonded peer moves to its identity address. A name that the identity already had on disk is kept, since apps
    /// may hold it, and is the one returned. One that was only heard gives way: whoever pairs is connected under the other.
    package mutating func bonded(
        _ identifier: PeerIdentifier, identity: IdentityAddress, _ facts: inout [HostMutation]
    ) -> PeerIdentifier {
        read(at: identity.address)
        if let known = byAddress[identity.address], known == identifier || kept.contains(known) {
            keep(known, &facts)
            keptStrangers.remove(known)
            return known
        }
        if let heard = byAddress[identity.address] { forgetStranger(heard) }
        update(identifier, &facts) { $0.address = identity.address }
        keep(identifier, &facts)
        keptStrangers.remove(identifier)
        return identifier
    }

    private mutating func forgetStranger(_ identifier: PeerIdentifier) {
        guard let record = records.removeValue(forKey: identifier) else { return }
        if byAddress[record.address] == identifier { byAddress[record.address] = nil }
        announcements[identifier] = nil
    }

    private mutating func forgetOldestStrangers() {
        while strangers.count - firstStranger > Self.strangersMaximum {
            let oldest = strangers[firstStranger]
            firstStranger += 1
            if !kept.contains(oldest) { forgetStranger(oldest) }
        }
        // Amortised: the head that was passed over is dropped once it is as long as the list.
        if firstStranger > Self.strangersMaximum {
            strangers.removeFirst(firstStranger)
            firstStranger = 0
        }
    }
}
