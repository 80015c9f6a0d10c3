/// The commands that name a connection.
extension Air {
    func connection(_ parameters: borrowing CommandParameters, of index: Int) throws(Status) -> (Int, Role, LinkID) {
        guard let connection = controllers[index].connection(parameters.u16(0)),
            let slot = slot(of: connection.link)
        else { throw .unknownConnection }
        return (slot, connection.role, connection.link)
    }

    /// Core 5.4, Vol 4, Part E, 7.1.6 (Disconnect command). Data that has not left is lost with the connection, as in
    /// controllers whose LL_TERMINATE_IND overtakes it.
    mutating func disconnect(_ parameters: borrowing CommandParameters, of index: Int) throws(Status) -> FollowUp {
        let (slot, role, link) = try connection(parameters, of: index)
        guard Status.disconnectReasons.contains(parameters.u8(2)) else { throw .invalidParameters }
        guard !links[slot][role].isTerminating else { throw .commandDisallowed }
        links[slot][role].isTerminating = true
        links[slot][role].enqueueUrgent(
            .terminate(remote: Status(rawValue: parameters.u8(2)), local: .terminatedByLocalHost))
        return .wake(link)
    }

    /// Core 5.4, Vol 4, Part E, 7.5.4 (Read RSSI command)
    func readRSSI(_ parameters: borrowing CommandParameters, of index: Int, _ returns: inout OctetWriter)
        throws(Status)
    {
        let (slot, role, _) = try connection(parameters, of: index)
        returns.u16(links[slot][role].handle)
        returns.i8(links[slot].path.rssi)
    }

    /// Core 5.4, Vol 4, Part E, 7.8.21 (LE Read Remote Features command)
    mutating func readRemoteFeatures(_ parameters: borrowing CommandParameters, of index: Int) throws(Status)
        -> FollowUp
    {
        let (_, role, _) = try connection(parameters, of: index)
        guard
            role == .central || controllers[index].capabilities.leFeatures.contains(.peripheralInitiatedFeatures)
        else { throw .commandDisallowed }
        return try startProcedure(.featureRequest, parameters, of: index)
    }

    /// Core 5.4, Vol 4, Part E, 7.1.23 (Read Remote Version Information command), and what else only asks the other side
    mutating func startProcedure(_ request: LinkPDU, _ parameters: borrowing CommandParameters, of index: Int)
        throws(Status) -> FollowUp
    {
        let (slot, role, link) = try connection(parameters, of: index)
        links[slot][role].enqueueControl(request)
        return .wake(link)
    }

    /// Core 5.4, Vol 4, Part E, 7.8.33 (LE Set Data Length command)
    mutating func setDataLength(
        _ parameters: borrowing CommandParameters, of index: Int, _ returns: inout OctetWriter
    ) throws(Status) -> FollowUp {
        let (slot, role, link) = try connection(parameters, of: index)
        let (octets, time) = try Controller.dataLength(parameters, at: 2)
        links[slot][role].wantedTxOctets = DataLength.fitting(octets: octets, microseconds: time)
        links[slot][role].enqueueControl(.lengthRequest(txOctets: links[slot][role].wantedTxOctets))
        returns.u16(links[slot][role].handle)
        return .wake(link)
    }
}
