import BluetoothHost
import FoundationEssentials
import Synchronization

/// The number of a service that takes channels: 0x0080 to 0x00FF, given out by
/// ``CBPeripheralManager/publishL2CAPChannel(withEncryption:)`` and told to the other side by whatever way the apps agree on.
public typealias CBL2CAPPSM = UInt16

/// The type of a characteristic whose value is a PSM, two octets, least significant first.
public let CBUUIDL2CAPPSMCharacteristicString = "ABDD3056-28FA-441D-A470-55A75A52553A"

/// An octet stream to a peer and back, over an L2CAP credit-based channel.
///
/// Apple's two streams do not exist without Foundation: here the channel itself is read and written. As with Apple's, only
/// the octets and their order count, not how they were cut; and a channel that nobody holds is closed.
///
/// Every method may be called from any thread and returns at once.
public final class CBL2CAPChannel: Hashable, Sendable {
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    /// The peer on the other end; never nil. The type is Apple's, since apps unwrap it.
    public let peer: CBPeer!
    /// The service that the channel was opened to.
    public let psm: CBL2CAPPSM
    let pipe: ChannelPipe
    /// What the product makes of the channel, for as long as that lives: its streams.
    package let attachment = Mutex<(any AnyObject & Sendable)?>(nil)

    init(peer: CBPeer, psm: CBL2CAPPSM, pipe: ChannelPipe) {
        self.peer = peer
        self.psm = psm
        self.pipe = pipe
        pipe.state.withLock { $0.channel = self }
    }

    deinit { pipe.close() }

    /// Who hears of octets, room and the end; not retained. Called where the manager's delegate is. What was there before
    /// it was set is told at once.
    public weak var delegate: (any CBL2CAPChannelDelegate)? {
        get { pipe.state.withLock { $0.delegate }.value }
        set {
            let delegate = Delegate(newValue)
            pipe.state.withLock { $0.delegate = delegate }
            if newValue != nil { pipe.announceAll() }
        }
    }

    /// Whether ``read(maxLength:)`` has something to give; stays true after the end until everything is read.
    public var hasBytesAvailable: Bool { pipe.state.withLock { !$0.incoming.isEmpty } }

    /// Whether ``write(_:)`` would take an octet at least.
    public var hasSpaceAvailable: Bool { pipe.state.withLock { $0.isOpen && $0.room > 0 } }

    /// False once either side has closed it or the link is gone.
    public var isOpen: Bool { pipe.state.withLock { $0.isOpen } }

    /// What has ended it against the will of both apps; nil before its end, and where an app asked for that.
    package var failure: (any Error)? { pipe.state.withLock { $0.end }?.failure.map { appleError($0) } }

    /// Waits for octets, for room, or for the end. Not for the loop's own thread, which brings them.
    package func waitForBytes() { pipe.wait { !$0.incoming.isEmpty || !$0.isOpen } }
    /// See ``waitForBytes()``.
    package func waitForSpace() { pipe.wait { $0.room > 0 || !$0.isOpen } }

    /// Takes up to `maxLength` octets of what has arrived; empty when there is nothing. The peer gets credit for more.
    public func read(maxLength: Int) -> Data { pipe.read(maxLength) }

    /// Sends the first octets of `data`, and says how many it took: fewer than there are when there is no room, none when
    /// the channel is closed. After it took fewer, `channelHasSpaceAvailable` says when there is room again.
    public func write(_ data: Data) -> Int { pipe.write(Array(data)) }

    /// Closes the channel; what was written before goes first, as far as the peer takes it within half a minute.
    public func close() { pipe.close() }

    /// Whether both are the same object.
    public static func == (a: CBL2CAPChannel, b: CBL2CAPChannel) -> Bool { a === b }
    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// What an app hears of a channel. Every method is optional; see ``CBPeripheralCallbacks`` for delegates that are subclasses.
public protocol CBL2CAPChannelDelegate: AnyObject {
    /// Octets have arrived since the last call. Read until there are none.
    func channelHasBytesAvailable(_ channel: CBL2CAPChannel)
    /// There is room again after a write that was not taken whole.
    func channelHasSpaceAvailable(_ channel: CBL2CAPChannel)
    /// The channel has ended, once; `error` is nil when an app asked for it, on this side or the other. What has arrived can
    /// still be read.
    func channelDidClose(_ channel: CBL2CAPChannel, error: (any Error)?)
}

extension CBL2CAPChannelDelegate {
    /// Does nothing.
    public func channelHasBytesAvailable(_ channel: CBL2CAPChannel) {}
    /// Does nothing.
    public func channelHasSpaceAvailable(_ channel: CBL2CAPChannel) {}
    /// Does nothing.
    public func channelDidClose(_ channel: CBL2CAPChannel, error: (any Error)?) {}
}
