/// One LE controller: what it is made of, what its host has asked of it, and what it has to say to its host.
struct Controller: Sendable {
    /// A connection as the host names it.
    struct Connection: Sendable {
        let handle: UInt16
        let link: LinkID
        let role: Role
    }

    let id: ControllerID
    let configuration: ControllerConfiguration
    let capabilities: Capabilities
    let publicAddress: RadioAddress
    var isPowered = true
    var outbox = Outbox()
    /// Everything that HCI_Reset forgets, but for the connections.
    var host = HostSettings()
    private(set) var connections: [Connection] = []
    /// ACL data packets of the host that have not left yet.
    var buffersInUse = 0
    /// Static addresses that this host has had, the latest last: a host that rotates private ones still goes by these.
    private var staticAddresses: [UInt64] = []
    private var lastHandle: UInt16 = 0

    private static let maximumStaticAddresses = 4
    /// Core 5.4, Vol 4, Part E, 5.3.1 (Primary Controller handles)
    private static let maximumHandle: UInt16 = 0x0EFF

    init(id: ControllerID, configuration: ControllerConfiguration) {
        self.id = id
        self.configuration = configuration
        capabilities = configuration.generation.capabilities
        publicAddress = configuration.publicAddress ?? .ofController(id)
    }

    /// All that this controller goes by on the air.
    var names: [RadioName] {
        var names: [RadioName] = [.ordinal(id), .address(publicAddress.value)]
        if let random = host.randomAddress { names.append(.address(random.value)) }
        for value in staticAddresses where value != host.randomAddress?.value { names.append(.address(value)) }
        return names
    }

    /// The random address of an advertiser: those of extended commands have their own.
    func randomAddress(of advertiser: AdvertisingSet) -> RadioAddress? {
        advertiser.handle == nil ? host.randomAddress : advertiser.randomAddress
    }

    mutating func setRandomAddress(_ address: RadioAddress) {
        host.randomAddress = address
        remember(address)
    }

    /// A static address is a name for as long as the controller is plugged in.
    mutating func remember(_ address: RadioAddress) {
        guard address.isStatic else { return }
        staticAddresses.removeAll { $0 == address.value }
        staticAddresses.append(address.value)
        if staticAddresses.count > Self.maximumStaticAddresses { staticAddresses.removeFirst() }
    }

    func connection(_ handle: UInt16) -> Connection? { connections.first { $0.handle == handle } }

    /// Handles go round before one is used again, so that a host that uses a dead one is found out.
    mutating func addConnection(_ link: LinkID, _ role: Role) -> UInt16 {
        repeat {
            lastHandle = lastHandle >= Self.maximumHandle ? 1 : lastHandle + 1
        } while connection(lastHandle) != nil
        connections.append(Connection(handle: lastHandle, link: link, role: role))
        return lastHandle
    }

    mutating func removeConnection(_ handle: UInt16) { connections.removeAll { $0.handle == handle } }
}

/// What a host has set, with the values that stand after HCI_Reset.
///
/// Core 5.4, Vol 4, Part E, 7.3.2 (Reset command)
struct HostSettings: Sendable {
    /// Core 5.4, Vol 4, Part E, 7.3.1 (Set Event Mask command): LE Meta is bit 61, so nothing of LE is heard by default.
    var eventMask: UInt64 = 0x0000_1FFF_FFFF_FFFF
    /// Core 5.4, Vol 4, Part E, 7.8.1 (LE Set Event Mask command)
    var leEventMask: UInt64 = 0x1F
    var randomAddress: RadioAddress?
    /// Legacy or extended, by the first that the host used of either.
    var family: CommandFamily?
    /// nil stands for those who advertise anonymously.
    var acceptList: [RadioAddress?] = []
    /// The one of the legacy commands, and then those that extended commands have made.
    var advertisers = [AdvertisingSet(handle: nil)]
    var scanning = Scanning()
    var pendingConnection: PendingConnection?
    /// Core 5.4, Vol 4, Part E, 7.8.48 (LE Set Default PHY command)
    var phyPreferences = PHYPreferences.any
    /// Core 5.4, Vol 4, Part E, 7.8.19 (LE Set Host Channel Classification command)
    var channelMap = allChannels
    var resolvingList = ResolvingList()
    /// Core 5.4, Vol 4, Part E, 7.8.35 (LE Write Suggested Default Data Length command)
    var suggestedMaxTxOctets = DataLength.minimumOctets
    var suggestedMaxTxTime = DataLength.microseconds(octets: DataLength.minimumOctets)

    /// Whether it advertises, scans or initiates.
    var isOnTheAir: Bool {
        scanning.run != nil || pendingConnection != nil || advertisers.contains { $0.run != nil }
    }

    var legacyAdvertiser: AdvertisingSet {
        _read { yield advertisers[0] }
        _modify { yield &advertisers[0] }
    }

    /// Where the set of this handle is.
    func advertiser(_ handle: UInt8) -> Int? { advertisers.firstIndex { $0.handle == handle } }

    /// Where the one is that runs under this epoch.
    func advertiser(epoch: UInt64) -> Int? { advertisers.firstIndex { $0.run?.epoch == epoch } }

    static let allChannels: UInt64 = 0x1F_FFFF_FFFF

    /// connInitialMaxTxOctets
    var initialMaxTxOctets: UInt16 {
        DataLength.fitting(octets: suggestedMaxTxOctets, microseconds: suggestedMaxTxTime)
    }

    /// Whether a running activity filters by the accept list, which then may not change.
    ///
    /// Core 5.4, Vol 4, Part E, 7.8.15 (LE Clear Filter Accept List command)
    var isAcceptListInUse: Bool {
        advertisers.contains { $0.run != nil && $0.parameters.filterPolicy != 0 }
            || scanning.run != nil && scanning.parameters.usesAcceptList
            || pendingConnection?.usesAcceptList == true
    }
}
