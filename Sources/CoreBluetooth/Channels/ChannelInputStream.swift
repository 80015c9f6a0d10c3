import CoreBluetoothEssentials
import Foundation
import Synchronization

/// What the peer sends through a channel. As with Apple's, `read` waits where there is nothing to read yet.
final class ChannelInputStream: InputStream {
    let core: ChannelStreamCore
    /// The peer has ended it, and not everything is read.
    private let isEnding = Mutex(false)

    init(_ channel: CBL2CAPChannel) {
        core = ChannelStreamCore(channel)
        super.init(data: Data())
        core.begin(self)
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
        if core.open(), hasBytesAvailable { core.post(.hasBytesAvailable) }
    }

    override var hasBytesAvailable: Bool { core.isOpen && core.channel?.hasBytesAvailable == true }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength len: Int) -> Int {
        guard core.isOpen, len > 0, let channel = core.channel else { return core.status == .atEnd ? 0 : -1 }
        channel.waitForBytes()
        let octets = channel.read(maxLength: len)
        octets.copyBytes(to: buffer, count: octets.count)
        if channel.hasBytesAvailable {
            core.post(.hasBytesAvailable)
        } else if octets.isEmpty || isEnding.withLock({ $0 }) {
            core.end(nil)
        }
        return octets.count
    }

    override func getBuffer(
        _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length len: UnsafeMutablePointer<Int>
    ) -> Bool { false }

    /// Somebody may read the rest meanwhile: then there is nobody left who would come to the end.
    func endsWhenRead() {
        isEnding.withLock { $0 = true }
        if core.channel?.hasBytesAvailable != true { core.end(nil) }
    }

}
