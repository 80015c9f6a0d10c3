/// Which channels a link hops over.
///
/// Core 5.4, Vol 6, Part B, 5.1.2 (Channel Map Update procedure)
extension Air {
    /// Core 5.4, Vol 4, Part E, 7.8.19 (LE Set Host Channel Classification command): a central tells its peripherals.
    mutating func setHostChannelClassification(_ parameters: borrowing CommandParameters, of index: Int) throws(Status)
    {
        let map = parameters.u40(0)
        // Core 5.4, Vol 6, Part B, 1.4.1: the map shall have two channels or more.
        guard map & ~HostSettings.allChannels == 0, map.nonzeroBitCount >= 2 else { throw .invalidParameters }
        controllers[index].host.channelMap = map
        for connection in controllers[index].connections where connection.role == .central {
            guard let slot = slot(of: connection.link) else { continue }
            links[slot].central.enqueueControl(.channelMapUpdate(map))
            wake(slot)
        }
    }

    /// Core 5.4, Vol 4, Part E, 7.8.20 (LE Read Channel Map command): the one last sent, in force or not.
    func readChannelMap(_ parameters: borrowing CommandParameters, of index: Int, _ returns: inout OctetWriter)
        throws(Status)
    {
        let (slot, role, _) = try connection(parameters, of: index)
        returns.u16(links[slot][role].handle)
        returns.u40(links[slot].channelMap)
    }
}
