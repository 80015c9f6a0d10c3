/// Which addresses controllers use on the air.
extension Air {
    /// What Own_Address_Type means toward a peer: an address made of the local key that the resolving list has for it, or
    /// else the public or the random one. nil when that was never set.
    ///
    /// Core 5.4, Vol 6, Part B, 6.2-6.4 (Privacy in the Advertising, Scanning and Initiating states)
    mutating func ownAddress(
        of index: Int, _ type: OwnAddressType, random own: RadioAddress?, toward peer: RadioAddress?
    ) -> RadioAddress? {
        let fallback = type.isRandom ? own : controllers[index].publicAddress
        let list = controllers[index].host.resolvingList
        guard type.isResolvable, let peer, let entry = list.index(of: peer), let key = list.entries[entry].localKey
        else { return fallback }
        return controllers[index].host.resolvingList.entries[entry].local.current(
            key, timeout: list.timeoutNanoseconds, at: now, &random) ?? fallback
    }

    /// As above for an advertiser: the peer is the one that its parameters name.
    mutating func address(of set: AdvertisingSet, _ index: Int) -> RadioAddress? {
        ownAddress(
            of: index, set.parameters.ownAddressType, random: controllers[index].randomAddress(of: set),
            toward: set.parameters.peer)
    }

    /// TargetA of directed advertising: made of the peer's key if the advertiser is to be private and has it.
    mutating func target(of set: AdvertisingSet, _ index: Int) -> RadioAddress? {
        guard set.properties.isDirected else { return nil }
        let list = controllers[index].host.resolvingList
        guard set.parameters.ownAddressType.isResolvable, let entry = list.index(of: set.parameters.peer),
            let key = list.entries[entry].peerKey
        else { return set.parameters.peer }
        return controllers[index].host.resolvingList.entries[entry].target.current(
            key, timeout: list.timeoutNanoseconds, at: now, &random) ?? set.parameters.peer
    }

    /// Whether a command with this Own_Address_Type has an address to use.
    func hasOwnAddress(
        of index: Int, _ type: OwnAddressType, random own: RadioAddress?, toward peer: RadioAddress?
    ) -> Bool {
        let list = controllers[index].host.resolvingList
        let entry = peer.flatMap(list.index)
        return !type.isRandom || own != nil
            || type.isResolvable && entry.map { list.entries[$0].localKey != nil } == true
    }

    /// How a controller takes an address that it hears; nil when it does not.
    mutating func identify(_ address: RadioAddress, by index: Int) -> PeerAddress? {
        controllers[index].host.resolvingList.identify(address)
    }
}
