import ATT
import BluetoothCore
import BluetoothCrypto
import GATT
import HCI
import SecurityManager

// MARK: Links and channels

extension Host {
    /// Offers a service that peers may open channels to, each of which `delegate` hears of. A manager's services end with it.
    package func publishChannel(
        _ manager: ManagerID, encrypted: Bool, authenticated: Bool = false, minimumKeySize: UInt8 = 0,
        authorized: Bool = false, delegate: any ChannelDelegate
    ) throws(HostError) -> UInt16 {
        try ask { (core: inout HostCore) throws(HostError) in
            try core.publishChannel(
                manager, encrypted: encrypted, authenticated: authenticated, minimumKeySize: minimumKeySize,
                authorized: authorized, delegate: delegate)
        }
    }

    /// Takes no more channels; those that are open stay. False when the service is not the manager's.
    @discardableResult
    package func unpublishChannel(_ manager: ManagerID, psm: UInt16) -> Bool {
        ask { $0.unpublishChannel(manager, psm: psm) }
    }

    /// Asks a connected peer for a channel.
    package func openChannel(_ manager: ManagerID, on link: LinkID, psm: UInt16, delegate: any ChannelDelegate)
        throws(HostError) -> HostChannelID
    {
        try ask { (core: inout HostCore) throws(HostError) in
            try core.openChannel(manager, on: link, psm: psm, delegate: delegate)
        }
    }

    package func send(_ sdu: [UInt8], on channel: HostChannelID) -> ChannelSendOutcome {
        ask { $0.send(sdu, on: channel) }
    }

    /// The app is done with octets that came on the channel.
    package func consumed(_ octets: Int, of channel: HostChannelID) { ask { $0.consumed(octets, of: channel) } }

    /// What was sent goes first; the app hears at once that the channel is closed.
    package func closeChannel(_ channel: HostChannelID) { ask { $0.closeChannel(channel) } }

    /// As central changes a link's parameters; as peripheral asks the central for them, when it may be asked next. The
    /// newest wish counts, and ``LinkInfo/facts`` say what came of it. False when they are out of range, or there is no such
    /// link.
    ///
    /// Core 5.4, Vol 3, Part C, 9.3.9 (Connection Parameter Update procedure)
    @discardableResult
    package func preferConnection(_ preferred: PreferredConnection, on link: LinkID) -> Bool {
        ask { $0.preferConnection(preferred, on: link) }
    }

    /// Asks the controller about a connected peer's link; `completed` comes exactly once with the token.
    package func read(_ manager: ManagerID, _ peer: PeerIdentifier, _ reading: LinkReading) -> OperationToken {
        ask { $0.read(manager, peer, reading) }
    }

    /// The links that stand, but for those in a bonded peer's name whose other end has not proved to be that peer.
    package var provenLinks: [LinkInfo] { core.links.all.filter { !$0.isImpostorPossible }.map(\.info) }

    /// A link as it is now; nil once it is gone.
    package func link(_ link: LinkID) -> LinkInfo? { core.info(of: link) }

    /// Ends a link that this side cannot keep up with: an end that no app asked for, and that its apps hear of as such.
    package func drop(_ link: LinkID) { ask { $0.drop(link) } }

    /// Ends everything on the air from this side, for good: each peer is told of its link's end, and nothing new begins. What apps asked for
    /// is kept for the next life. It is over when ``hasLinks`` is false.
    package func leaveAir() { ask { $0.leaveAir() } }

    package var hasLinks: Bool { !core.links.all.isEmpty }

    /// Ends a link from this side.
    package func disconnect(_ link: LinkID) { ask { $0.disconnect(link) } }

    /// How long a central under a bonded peer's address has to show that it is that peer, once every slot is taken. Such an
    /// address can be recorded or made up, and who has it keeps everybody out, as nobody is heard while nothing advertises.
    package static let unprovenInLastSlotMilliseconds: UInt64 = 30_000
}
