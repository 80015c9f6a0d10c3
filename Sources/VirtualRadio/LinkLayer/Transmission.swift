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
        case .parameterRequest: receiveParameterRequest(slot)
        case .parameterReject(let reason): receiveParameterReject(slot, reason)
        case .channelMapUpdate(let map): links[slot].channelMap = map
        case .phyRequest: receivePHYRequest(slot, from: role)
        case .phyResponse: receivePHYResponse(slot)
        case .phyUpdate(let central, let peripheral): schedulePHYUpdate(slot, central: central, peripheral: peripheral)
        case .phyUnknown: endPHYUpdate(slot, .unsupportedRemoteFeature, hasChanged: false)
        case .featureRequest: links[slot][role.other].enqueueControl(.featureResponse)
        case .featureResponse:
            let features = featureResponse(slot, from: role)
            notify(slot, role.other) { $0.readRemoteFeaturesComplete(handle: $1, features, at: $2) }
        case .versionRequest: links[slot][role.other].enqueueControl(.versionResponse)
        case .versionResponse:
            let version = capabilities(of: links[slot][role])?.version ?? 0
            notify(slot, role.other) { $0.readRemoteVersionComplete(handle: $1, version: version, at: $2) }
        case .lengthRequest(let octets):
            // Who has not the feature answers LL_UNKNOWN_RSP, of which no host hears.
            guard capabilities(of: links[slot][role.other])?.leFeatures.contains(.dataPacketLengthExtension) == true
            else { break }
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

    /// FeatureSet of LL_FEATURE_RSP: in its first octet what both have.
    ///
    /// Core 5.4, Vol 6, Part B, 5.1.4 (Feature Exchange procedure)
    private func featureResponse(_ slot: Int, from role: Role) -> LEFeatures {
        let own = capabilities(of: links[slot][role])?.leFeatures ?? []
        let asker = capabilities(of: links[slot][role.other])?.leFeatures ?? []
        return own.intersection(.validBetweenControllers).intersection(asker.union(LEFeatures(rawValue: ~0xFF)))
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
}
