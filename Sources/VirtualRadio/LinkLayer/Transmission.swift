/// What each link layer PDU does at its sender and at its receiver.
extension Air {
    /// The next PDU of one side crosses a link that is known to carry it.
    mutating func transmit(_ slot: Int, _ role: Role) {
        guard let pdu = links[slot][role].takeNext() else { return }
        switch pdu {
        case .data(let isFirst, let octets, let completes):
            deliver(octets.span, isFirst: isFirst, slot, role)
            if completes { releaseBuffer(slot, role) }

        case .encryptionRequest(let random, let diversifier):
            links[slot][role].pause()
            requestKey(slot, random: random, diversifier: diversifier)
        case .encryptionResponse: links[slot][role].pause()
        case .startEncryptionRequest: links[slot][role.other].enqueueControl(.startEncryptionResponse)
        case .startEncryptionResponse: startEncryption(slot, from: role)
        case .rejectEncryption: rejectEncryption(slot)

        case .connectionUpdate(let parameters): scheduleConnectionUpdate(slot, parameters)
        case .featureRequest: links[slot][role.other].enqueueControl(.featureResponse)
        case .featureResponse:
            let features = capabilities(of: links[slot][role])?.leFeatures ?? []
            notify(slot, role.other) { $0.readRemoteFeaturesComplete(handle: $1, features, at: $2) }
        case .versionRequest: links[slot][role.other].enqueueControl(.versionResponse)
        case .versionResponse:
            let version = capabilities(of: links[slot][role])?.version ?? 0
            notify(slot, role.other) { $0.readRemoteVersionComplete(handle: $1, version: version, at: $2) }
        case .lengthRequest(let octets):
            links[slot][role.other].enqueueControl(.lengthResponse(txOctets: links[slot][role.other].wantedTxOctets))
            agreeDataLength(slot, role.other, peerTxOctets: octets)
        case .lengthResponse(let octets): agreeDataLength(slot, role.other, peerTxOctets: octets)

        case .terminate(let remote, let local):
            drop(slot, role.other, reason: remote)
            drop(slot, role, reason: local)
        }
    }

    func capabilities(of side: LinkSide) -> Capabilities? {
        index(of: side.controller).map { controllers[$0].capabilities }
    }

    /// Tells one side's host something about its connection.
    mutating func notify(_ slot: Int, _ role: Role, _ event: (inout Controller, UInt16, UInt64) -> Void) {
        let side = links[slot][role]
        guard side.isAlive, let index = index(of: side.controller) else { return }
        event(&controllers[index], side.handle, now)
    }

    /// Core 5.4, Vol 6, Part B, 5.1.9 (Data Length Update procedure)
    private mutating func agreeDataLength(_ slot: Int, _ role: Role, peerTxOctets: UInt16) {
        let side = links[slot][role]
        guard side.txOctets != side.wantedTxOctets || side.rxOctets != peerTxOctets else { return }
        links[slot][role].txOctets = side.wantedTxOctets
        links[slot][role].rxOctets = peerTxOctets
        notify(slot, role) { $0.dataLengthChange(handle: $1, tx: side.wantedTxOctets, rx: peerTxOctets, at: $2) }
    }

    // MARK: Connection parameters

    /// Core 5.4, Vol 6, Part B, 5.1.1 (Connection Update procedure): the instant is at least six events away.
    private mutating func scheduleConnectionUpdate(_ slot: Int, _ parameters: ConnectionParameters) {
        links[slot].pendingUpdate = parameters
        agenda.add(
            .connectionUpdate(LinkID(slot: slot, number: links[slot].number)),
            at: links[slot].nextAnchor(after: now) + 5 * links[slot].parameters.intervalNanoseconds,
            controller: links[slot].central.controller)
    }

    mutating func applyConnectionUpdate(_ link: LinkID) {
        guard let slot = slot(of: link), let parameters = links[slot].pendingUpdate else { return }
        links[slot].pendingUpdate = nil
        links[slot].updateIsRequested = false
        links[slot].parameters = parameters
        links[slot].anchor = now
        links[slot].scheduledEvent = nil
        for role in [Role.central, .peripheral] {
            notify(slot, role) { $0.connectionUpdateComplete(handle: $1, parameters, at: $2) }
        }
        wake(slot)
    }
}
