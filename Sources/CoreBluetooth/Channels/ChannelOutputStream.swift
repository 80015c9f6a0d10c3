import CoreBluetoothEssentials
import Foundation

/// What the peer is sent through a channel. As with Apple's, `write` waits where there is no room yet.
final class ChannelOutputStream: OutputStream {
    let core: ChannelStreamCore

    init(_ channel: CBL2CAPChannel) {
        core = ChannelStreamCore(channel)
        super.init(toMemory: ())
        core.begin(self)
    }

    /// Foundation's, of a stream without a channel: nothing can be written to it.
    required init(toMemory: ()) {
        core = ChannelStreamCore(nil)
        super.init(toMemory: ())
    }

    override var delegate: (any StreamDelegate)? {
        get { core.delegate }
        set { core.delegate = newValue }
    }
    override var streamStatus: Stream.Status { core.status }
    override var streamError: (any Error)? { core.error }
    override func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) { core.add(aRunLoop, mode) }
    override func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) { core.remove(aRunLoop, mode) }
    override func property(forKey key: Stream.PropertyKey) -> AnyObject? { nil }
    override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool { false }
    override func close() { core.close() }

    override func open() {
        if core.open(), hasSpaceAvailable { core.post(.hasSpaceAvailable) }
    }

    override var hasSpaceAvailable: Bool { core.isOpen && core.channel?.hasSpaceAvailable == true }

    override func write(_ buffer: UnsafePointer<UInt8>, maxLength len: Int) -> Int {
        guard core.isOpen, len > 0, let channel = core.channel else { return core.status == .atEnd ? 0 : -1 }
        channel.waitForSpace()
        let taken = channel.write(Data(bytes: buffer, count: len))
        guard taken > 0 else { return -1 }
        if channel.hasSpaceAvailable { core.post(.hasSpaceAvailable) }
        return taken
    }
}
