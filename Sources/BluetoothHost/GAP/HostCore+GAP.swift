import BluetoothCore
import BluetoothCrypto
import HCI
import SecurityManager

// MARK: What the host's other values have to do with GAP

extension HostCore {
    /// One event for GAP, and what follows from it for others.
    mutating func tellGAP(_ event: GAP.Event) {
        guard blueZ == nil else {
            if case .wishesChanged = event { blueZ?.isUnsettled = true }
            return
        }
        var outputs: [GAP.Output] = []
        gap.handle(event, now: now, into: &outputs)
        performGAP(outputs)
    }

    /// Something that ``GAP/Wishes`` is made of has changed. GAP hears of all such changes together, once an iteration.
    mutating func wishesChanged() { tellGAP(.wishesChanged) }

    /// Whether what is wanted may be something else than what the controller, or bluetoothd, was told.
    var isAirUnsettled: Bool { blueZ?.isUnsettled ?? gap.isUnsettled }

    /// Brings the controller, or bluetoothd, closer to what is wanted now. On disk what is wanted changes before it does on the air.
    mutating func settleAir() {
        if blueZ != nil { settleBlueZ() } else { settleGAP() }
    }

    private mutating func settleGAP() {
        guard gap.isUnsettled else { return }
        endLimitedModes()
        var outputs: [GAP.Output] = []
        gap.settle(makeWishes(), now: now, random: &random, into: &outputs)
        performGAP(outputs)
    }

    private mutating func performGAP(_ outputs: [GAP.Output]) {
        for output in outputs {
            switch output {
            case .command(let command, let machine): submit(command, for: .gap(machine))
            case .advertisingAnswered(let status): connectionRefused(status)
            case .advertisingStarted(let manager, let times):
                for _ in 0..<times { announce(.advertisingStarted(nil), to: manager) }
            case .advertisingRefused(let status): tell(.advertisingRefused(status))
            case .controllerStuck(let opcode): controllerFailed(.unresponsive(opcode))
            }
        }
    }

    var addressOnAir: DeviceAddress? { state == .poweredOn ? gap.ownAddress.told : nil }

    /// A set of ours has ended, because somebody connected to it.
    ///
    /// Core 5.4, Vol 4, Part E, 7.7.65.18 (LE Advertising Set Terminated event)
    mutating func advertisingSetTerminated(_ event: HCILEAdvertisingSetTerminated) {
        let address = gap.advertisingSets.address(of: event.advertisingHandle)
        tellGAP(.setTerminated(event.advertisingHandle))
        if event.status == .success, let address, let link = links.link(at: event.handle), link.role == .peripheral {
            connected(link, at: address)
        }
    }
}

// MARK: What is wanted

extension HostCore {
    private mutating func makeWishes() -> GAP.Wishes {
        var wishes = GAP.Wishes()
        wishes.identity = identity.address.address
        wishes.showsIdentity = !configuration.privacy || pairingDoor.isOpen || !bondBook.hasBonds
        guard !isLeaving else { return wishes }
        advertisements.update(
            advertisingOwners, appearance: configuration.appearance, room: controller.facts.advertisingDataOctets)
        wishes.advertisements = advertisements.wishes
        wishes.scans = ledger.running(.central).compactMap { ledger.asked($0).scan }
        wishes.connections = wantedConnections
        wishes.resolvable = gap.resolvingList.identities.compactMap {
            resolvingEntry(of: $0.address, bondBook.identityResolvingKeys(of: $0))
        }
        wishes.isFull = links.isFull
        wishes.addressesWithLinks = Set(links.all.lazy.map(\.address))
        return wishes
    }

    private var advertisingOwners: [OwnedAdvertisements.Source] {
        // Where the controller has no set for all of them, those go first that have a manager.
        let running = ledger.running(.peripheral)
        let inOrder = running.filter(managers.isClaimed) + running.filter { !managers.isClaimed($0) }
        return inOrder.compactMap { owner in
            ledger.asked(owner).advertising.map { OwnedAdvertisements.Source(owner: owner, record: $0) }
        }
    }

    private var wantedConnections: [GAP.Wishes.Connection] {
        var found: Set<PeerIdentifier> = []
        return ledger.running(.central).flatMap { owner in
            ledger.asked(owner).pendingConnections.filter { !delays.isDelayed(owner, $0.peer) }
        }.compactMap { pending in
            guard let address = peers[pending.peer]?.address, found.insert(pending.peer).inserted else { return nil }
            let irks = resolvingKeys(of: address)
            return GAP.Wishes.Connection(
                address: address, isPrivate: !irks.isEmpty, resolving: resolvingEntry(of: address, irks),
                link: links.asConnection(to: pending.peer))
        }
    }

    /// nil for whoever is no bonded peer, or has given no key. A list holds one key of an identity (7.8.38): a peer that gave
    /// another with each of two bonds, since it may have kept either, is in none, and is listened for.
    private func resolvingEntry(of address: DeviceAddress, _ irks: [Secret]) -> ResolvingList.Entry? {
        guard let identity = IdentityAddress(address), let irk = irks.first, irks.allSatisfy({ $0 == irk }) else {
            return nil
        }
        return ResolvingList.Entry(identity: identity, irk: irk)
    }

    private func resolvingKeys(of address: DeviceAddress) -> [Secret] {
        IdentityAddress(address).map(bondBook.identityResolvingKeys) ?? []
    }
}
