/// A peripheral's request for new connection parameters, until it is answered.
struct ParameterRequest: Sendable {
    /// Interval_Min, Interval_Max, Max_Latency and Timeout, as one host writes them and the other reads them.
    let octets: [UInt8]
    /// The response timeout that guards it, once it is on the air.
    var procedure: UInt64?
    /// Whether the central's host owes an answer.
    var isAsked = false
}

/// How connection parameters change: the central's word is final, a peripheral may ask.
extension Air {
    /// Core 5.4, Vol 4, Part E, 7.8.18 (LE Connection Update command)
    mutating func connectionUpdate(_ parameters: borrowing CommandParameters, of index: Int) throws(Status)
        -> FollowUp
    {
        let (slot, role, link) = try connection(parameters, of: index)
        let update = try ConnectionParameters(parameters, at: 2)
        guard !links[slot].updateIsRequested else { throw .commandDisallowed }
        switch role {
        case .central: startConnectionUpdate(slot, update)
        case .peripheral:
            guard controllers[index].capabilities.leFeatures.contains(.connectionParametersRequest),
                links[slot].parameterRequest == nil
            else { throw .commandDisallowed }
            let request = ParameterRequest(octets: parameters.array(2, count: 8))
            links[slot].parameterRequest = request
            links[slot].peripheral.enqueueControl(.parameterRequest)
        }
        return .wake(link)
    }

    /// Core 5.4, Vol 6, Part B, 5.1.1 (Connection Update procedure). It is an answer to what the peripheral has asked for.
    private mutating func startConnectionUpdate(_ slot: Int, _ update: ConnectionParameters) {
        links[slot].parameterRequest = nil
        links[slot].updateIsRequested = true
        links[slot].central.enqueueControl(.connectionUpdate(update))
    }

    /// LL_CONNECTION_UPDATE_IND has arrived: the instant is at least six events away.
    mutating func scheduleConnectionUpdate(_ slot: Int, _ parameters: ConnectionParameters) {
        links[slot].pendingUpdate = parameters
        agenda.add(
            .connectionUpdate(LinkID(slot: slot, number: links[slot].number)),
            at: links[slot].updateInstant(after: now), controller: links[slot].central.controller)
    }

    mutating func applyConnectionUpdate(_ link: LinkID) {
        guard let slot = slot(of: link), let parameters = links[slot].pendingUpdate else { return }
        links[slot].pendingUpdate = nil
        links[slot].updateIsRequested = false
        links[slot].parameters = parameters
        links[slot].anchor = now
        links[slot].scheduledEvent = nil
        for role in [Role.central, .peripheral] {
            notify(slot, role) { $0.connectionUpdateComplete(.success, handle: $1, parameters, at: $2) }
        }
        wake(slot)
    }

    // MARK: What a peripheral asks for

    /// LL_CONNECTION_PARAM_REQ has arrived: the central's host decides. One that cannot be asked refuses.
    ///
    /// Core 5.4, Vol 6, Part B, 5.1.7 (Connection Parameters Request procedure)
    mutating func receiveParameterRequest(_ slot: Int) {
        guard let request = links[slot].parameterRequest, let index = index(of: links[slot].central.controller),
            controllers[index].capabilities.leFeatures.contains(.connectionParametersRequest),
            controllers[index].remoteConnectionParameterRequest(
                handle: links[slot].central.handle, request.octets, at: now)
        else { return links[slot].central.enqueueControl(.parameterReject(.unsupportedRemoteFeature)) }
        let procedure = uniqueNumber()
        links[slot].parameterRequest?.isAsked = true
        links[slot].parameterRequest?.procedure = procedure
        agenda.add(
            .procedureTimeout(LinkID(slot: slot, number: links[slot].number), procedure: procedure),
            at: now + Self.procedureResponseTimeoutNanoseconds, controller: links[slot].central.controller)
    }

    /// Core 5.4, Vol 4, Part E, 7.8.31 (LE Remote Connection Parameter Request Reply command)
    mutating func parameterRequestReply(
        _ parameters: borrowing CommandParameters, of index: Int, _ returns: inout OctetWriter
    ) throws(Status) -> FollowUp {
        let (slot, role, link) = try connection(parameters, of: index)
        let update = try ConnectionParameters(parameters, at: 2)
        guard role == .central, links[slot].parameterRequest?.isAsked == true, !links[slot].updateIsRequested else {
            throw .commandDisallowed
        }
        startConnectionUpdate(slot, update)
        returns.u16(links[slot].central.handle)
        return .wake(link)
    }

    /// Core 5.4, Vol 4, Part E, 7.8.32 (LE Remote Connection Parameter Request Negative Reply command)
    mutating func parameterRequestNegativeReply(
        _ parameters: borrowing CommandParameters, of index: Int, _ returns: inout OctetWriter
    ) throws(Status) -> FollowUp {
        let (slot, role, link) = try connection(parameters, of: index)
        guard role == .central, links[slot].parameterRequest?.isAsked == true else { throw .commandDisallowed }
        links[slot].parameterRequest?.isAsked = false
        links[slot].central.enqueueControl(.parameterReject(Status(rawValue: parameters.u8(2))))
        returns.u16(links[slot].central.handle)
        return .wake(link)
    }

    /// LL_REJECT_EXT_IND has arrived: everything stays as it is.
    mutating func receiveParameterReject(_ slot: Int, _ reason: Status) {
        // The central may have changed its mind and the parameters meanwhile.
        guard links[slot].parameterRequest != nil else { return }
        links[slot].parameterRequest = nil
        let parameters = links[slot].parameters
        notify(slot, .peripheral) { $0.connectionUpdateComplete(reason, handle: $1, parameters, at: $2) }
    }
}
