import CRadioCrypto

/// An Identity Resolving Key.
struct IdentityKey: Hashable, Sendable {
    /// The most significant octet first.
    private let octets: [UInt8]

    /// nil for the key of all zeros, which stands for none.
    init?(_ parameters: borrowing CommandParameters, at offset: Int) {
        octets = parameters.array(offset, count: 16).reversed()
        guard octets.contains(where: { $0 != 0 }) else { return nil }
    }

    /// Core 5.4, Vol 3, Part H, 2.2.2 (Random Address Hash function ah); nil when there is no memory for it.
    private func hash(_ prand: UInt64) -> UInt64? {
        var plaintext = [UInt8](repeating: 0, count: 16)
        for index in 0..<3 { plaintext[15 - index] = UInt8(truncatingIfNeeded: prand >> (8 * UInt64(index))) }
        var ciphertext = [UInt8](repeating: 0, count: 16)
        guard latch_radio_aes128(octets, plaintext, &ciphertext) == 1 else { return nil }
        return UInt64(ciphertext[13]) << 16 | UInt64(ciphertext[14]) << 8 | UInt64(ciphertext[15])
    }

    /// Core 5.4, Vol 6, Part B, 1.3.2.3 (Private device address resolution)
    func resolves(_ address: RadioAddress) -> Bool {
        address.isResolvable && hash(address.value >> 24) == address.value & 0xFF_FFFF
    }

    /// Core 5.4, Vol 6, Part B, 1.3.2.2 (Private device address generation)
    func makeAddress(_ random: inout RandomSource) -> RadioAddress? {
        let prand = random.next() & 0x3F_FFFF | 0x40_0000
        return hash(prand).map { RadioAddress(isRandom: true, value: prand << 24 | $0) }
    }
}

/// A resolvable private address that a controller uses for a while.
struct GeneratedAddress: Sendable {
    private(set) var address: RadioAddress?
    private var since: UInt64 = 0

    /// The one in use, or a new one when that is too old.
    mutating func current(
        _ key: IdentityKey, timeout: UInt64, at now: UInt64, _ random: inout RandomSource
    ) -> RadioAddress? {
        if address == nil || now - since >= timeout {
            address = key.makeAddress(&random)
            since = now
        }
        return address
    }
}

/// Core 5.4, Vol 6, Part B, 4.7 (Resolving List)
struct ResolvingList: Sendable {
    struct Entry: Sendable {
        /// Peer_Identity_Address
        let identity: RadioAddress
        let peerKey: IdentityKey?
        let localKey: IdentityKey?
        /// Network privacy mode, the one at first, takes no identity address of a peer that has a key.
        var isDevicePrivacy = false
        var local = GeneratedAddress()
        /// For TargetA of directed advertising.
        var target = GeneratedAddress()
        /// The last one heard, which needs no cryptography to be known again.
        var peerAddress: RadioAddress?
    }

    var entries: [Entry] = []
    var isEnabled = false
    /// Core 5.4, Vol 4, Part E, 7.8.45 (LE Set Resolvable Private Address Timeout command): 900 s by default.
    var timeoutNanoseconds: UInt64 = 900_000_000_000

    func index(of identity: RadioAddress) -> Int? { entries.firstIndex { $0.identity == identity } }

    /// How this list takes an address that is heard; nil when a privacy mode forbids to take it at all.
    ///
    /// Core 5.4, Vol 6, Part B, 6 (Privacy)
    mutating func identify(_ address: RadioAddress) -> PeerAddress? {
        guard isEnabled else { return PeerAddress(address: address) }
        if address.isResolvable {
            let known = entries.firstIndex { $0.peerAddress == address }
            guard let index = known ?? entries.firstIndex(where: { $0.peerKey?.resolves(address) == true }) else {
                return PeerAddress(address: address)
            }
            entries[index].peerAddress = address
            return PeerAddress(address: entries[index].identity, isResolved: true)
        }
        guard let index = index(of: address), entries[index].peerKey != nil, !entries[index].isDevicePrivacy else {
            return PeerAddress(address: address)
        }
        return nil
    }

    /// Whether an address is one of ours.
    func isOwn(_ address: RadioAddress) -> Bool {
        isEnabled && entries.contains { $0.local.address == address || $0.localKey?.resolves(address) == true }
    }
}

/// The commands of the resolving list.
extension Controller {
    /// Core 5.4, Vol 4, Part E, 7.8.38 (LE Add Device To Resolving List command)
    mutating func addToResolvingList(_ parameters: borrowing CommandParameters) throws(Status) {
        try checkResolvingListIsFree()
        let identity = try Self.identity(parameters)
        let peerKey = IdentityKey(parameters, at: 7)
        guard identity.isStatic || !identity.isRandom, host.resolvingList.index(of: identity) == nil,
            peerKey == nil || !host.resolvingList.entries.contains(where: { $0.peerKey == peerKey })
        else { throw .invalidParameters }
        guard host.resolvingList.entries.count < Int(configuration.resolvingListSize) else {
            throw .memoryCapacityExceeded
        }
        host.resolvingList.entries.append(
            ResolvingList.Entry(identity: identity, peerKey: peerKey, localKey: IdentityKey(parameters, at: 23)))
    }

    /// Core 5.4, Vol 4, Part E, 7.8.39 (LE Remove Device From Resolving List command)
    mutating func removeFromResolvingList(_ parameters: borrowing CommandParameters) throws(Status) {
        try checkResolvingListIsFree()
        host.resolvingList.entries.remove(at: try resolvingEntry(parameters))
    }

    /// Core 5.4, Vol 4, Part E, 7.8.40 (LE Clear Resolving List command)
    mutating func clearResolvingList() throws(Status) {
        try checkResolvingListIsFree()
        host.resolvingList.entries.removeAll()
    }

    /// Core 5.4, Vol 4, Part E, 7.8.42 (LE Read Peer Resolvable Address command): all zeros when none was heard.
    func readPeerResolvableAddress(_ parameters: borrowing CommandParameters, _ returns: inout OctetWriter)
        throws(Status)
    { returns.u48(host.resolvingList.entries[try resolvingEntry(parameters)].peerAddress?.value ?? 0) }

    /// Core 5.4, Vol 4, Part E, 7.8.43 (LE Read Local Resolvable Address command): all zeros when none was used.
    func readLocalResolvableAddress(_ parameters: borrowing CommandParameters, _ returns: inout OctetWriter)
        throws(Status)
    { returns.u48(host.resolvingList.entries[try resolvingEntry(parameters)].local.address?.value ?? 0) }

    /// Core 5.4, Vol 4, Part E, 7.8.44 (LE Set Address Resolution Enable command)
    mutating func setAddressResolutionEnable(_ parameters: borrowing CommandParameters) throws(Status) {
        guard parameters.u8(0) <= 1 else { throw .invalidParameters }
        guard !host.isOnTheAir else { throw .commandDisallowed }
        host.resolvingList.isEnabled = parameters.u8(0) == 1
    }

    /// Core 5.4, Vol 4, Part E, 7.8.45 (LE Set Resolvable Private Address Timeout command)
    mutating func setResolvablePrivateAddressTimeout(_ parameters: borrowing CommandParameters) throws(Status) {
        guard (0x0001...0x0E10).contains(parameters.u16(0)) else { throw .invalidParameters }
        host.resolvingList.timeoutNanoseconds = UInt64(parameters.u16(0)) * 1_000_000_000
    }

    /// Core 5.4, Vol 4, Part E, 7.8.77 (LE Set Privacy Mode command)
    mutating func setPrivacyMode(_ parameters: borrowing CommandParameters) throws(Status) {
        try checkResolvingListIsFree()
        guard parameters.u8(7) <= 1 else { throw .invalidParameters }
        host.resolvingList.entries[try resolvingEntry(parameters)].isDevicePrivacy = parameters.u8(7) == 1
    }

    /// Nobody changes the list while it is used.
    private func checkResolvingListIsFree() throws(Status) {
        guard !host.resolvingList.isEnabled || !host.isOnTheAir else { throw .commandDisallowed }
    }

    private static func identity(_ parameters: borrowing CommandParameters) throws(Status) -> RadioAddress {
        guard parameters.u8(0) <= 1 else { throw .invalidParameters }
        return RadioAddress(isRandom: parameters.u8(0) == 1, value: parameters.u48(1))
    }

    private func resolvingEntry(_ parameters: borrowing CommandParameters) throws(Status) -> Int {
        guard let index = host.resolvingList.index(of: try Self.identity(parameters)) else { throw .unknownConnection }
        return index
    }
}
