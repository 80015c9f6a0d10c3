/// Link encryption as hosts see it: who asks, who has which key, and what fails when the keys differ.
///
/// Core 5.4, Vol 6, Part B, 5.1.3 (Encryption procedures)
extension Air {
    /// Core 5.4, Vol 6, Part B, 5.2 (Procedure response timeout)
    static let procedureResponseTimeoutNanoseconds: UInt64 = 40_000_000_000

    /// Core 5.4, Vol 4, Part E, 7.8.24 (LE Enable Encryption command)
    mutating func enableEncryption(_ parameters: borrowing CommandParameters, of index: Int) throws(Status)
        -> FollowUp
    {
        let (slot, role, link) = try connection(parameters, of: index)
        guard role == .central, links[slot].encryption.isOff || links[slot].encryption.isOn else {
            throw .commandDisallowed
        }
        links[slot].encryption = .requested(
            LongTermKey(parameters, at: 12), isRefresh: links[slot].encryption.isOn)
        links[slot].central.enqueueControl(
            .encryptionRequest(random: parameters.u64(2), diversifier: parameters.u16(10)))
        return .wake(link)
    }

    /// The request has reached the peripheral: its host is asked for the key. One whose masks stop the question has none.
    mutating func requestKey(_ slot: Int, random: UInt64, diversifier: UInt16) {
        guard case .requested(let key, let isRefresh) = links[slot].encryption else { return }
        links[slot].encryption = .keyRequested(key, isRefresh: isRefresh)
        links[slot].procedure = uniqueNumber()
        agenda.add(
            .procedureTimeout(LinkID(slot: slot, number: links[slot].number), procedure: links[slot].procedure),
            at: now + Self.procedureResponseTimeoutNanoseconds, controller: links[slot].central.controller)
        links[slot].peripheral.enqueueControl(.encryptionResponse)
        let side = links[slot].peripheral
        guard let index = index(of: side.controller) else { return }
        let isAsked = controllers[index].longTermKeyRequest(
            handle: side.handle, random: random, diversifier: diversifier, at: now)
        if !isAsked { refuseKey(slot) }
    }

    /// Core 5.4, Vol 4, Part E, 7.8.25 (LE Long Term Key Request Reply command)
    mutating func longTermKeyReply(
        _ parameters: borrowing CommandParameters, of index: Int, _ returns: inout OctetWriter
    ) throws(Status) -> FollowUp {
        let (slot, role, link) = try connection(parameters, of: index)
        guard role == .peripheral, case .keyRequested(let key, let isRefresh) = links[slot].encryption else {
            throw .commandDisallowed
        }
        links[slot].encryption = .starting(
            central: key, peripheral: LongTermKey(parameters, at: 2), isRefresh: isRefresh)
        links[slot].peripheral.enqueueControl(.startEncryptionRequest)
        returns.u16(links[slot].peripheral.handle)
        return .wake(link)
    }

    /// Core 5.4, Vol 4, Part E, 7.8.26 (LE Long Term Key Request Negative Reply command)
    mutating func longTermKeyNegativeReply(
        _ parameters: borrowing CommandParameters, of index: Int, _ returns: inout OctetWriter
    ) throws(Status) -> FollowUp {
        let (slot, role, link) = try connection(parameters, of: index)
        guard role == .peripheral, case .keyRequested = links[slot].encryption else { throw .commandDisallowed }
        refuseKey(slot)
        returns.u16(links[slot].peripheral.handle)
        return .wake(link)
    }

    /// Core 5.4, Vol 6, Part B, 5.1.3.1 (Encryption Start procedure): without a key the procedure is rejected, and a link
    /// that was encrypted ends.
    private mutating func refuseKey(_ slot: Int) {
        guard case .keyRequested(_, let isRefresh) = links[slot].encryption else { return }
        links[slot].encryption = .rejecting(isRefresh: isRefresh)
        links[slot].peripheral.enqueueControl(
            isRefresh ? .terminate(remote: .pinOrKeyMissing, local: .pinOrKeyMissing) : .rejectEncryption)
    }

    mutating func rejectEncryption(_ slot: Int) {
        links[slot].encryption = .off
        links[slot].peripheral.resume()
        links[slot].central.resume()
        notify(slot, .central) { $0.encryptionChange(.pinOrKeyMissing, handle: $1, isOn: false, at: $2) }
    }

    /// The first encrypted packet: the central's, then the peripheral's own. Different keys are found out by the
    /// peripheral, which leaves at once; the central hears nothing more.
    ///
    /// Core 5.4, Vol 6, Part B, 5.1.3.1: MIC failure ends the connection with 0x3D.
    mutating func startEncryption(_ slot: Int, from role: Role) {
        guard case .starting(let centralKey, let peripheralKey, let isRefresh) = links[slot].encryption else { return }
        switch role {
        case .central:
            guard centralKey == peripheralKey else { return drop(slot, .peripheral, reason: .micFailure) }
            links[slot].peripheral.enqueueControl(.startEncryptionResponse)
        case .peripheral:
            links[slot].encryption = .on
            for side in [Role.peripheral, .central] {
                links[slot][side].resume()
                notify(slot, side) {
                    isRefresh
                        ? $0.encryptionKeyRefreshComplete(.success, handle: $1, at: $2)
                        : $0.encryptionChange(.success, handle: $1, isOn: true, at: $2)
                }
            }
        }
    }

    /// A host has not answered. With the peripheral's in encryption both link layers give up; with the central's about
    /// parameters it is the peripheral that waited.
    mutating func procedureTimeout(_ link: LinkID) {
        guard let slot = slot(of: link) else { return }
        guard links[slot].awaitsEncryption else {
            return drop(slot, .peripheral, reason: .linkLayerResponseTimeout)
        }
        for role in [Role.central, .peripheral] { drop(slot, role, reason: .linkLayerResponseTimeout) }
    }
}

extension Link {
    /// Whether an encryption procedure waits for its answer.
    var awaitsEncryption: Bool {
        switch encryption {
        case .requested, .keyRequested, .starting, .rejecting: true
        case .off, .on: false
        }
    }
}
