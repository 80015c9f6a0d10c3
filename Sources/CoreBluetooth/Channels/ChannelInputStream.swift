import CoreBluetoothEssentials
import Foundation
import Synchronization

/// What the peer sends through a channel. As with Apple's, `read` waits where there is nothing to read yet.
final class ChannelInputStream: InputStream {
    let core: ChannelStreamCore
    private struct End: Sendable {
        let error: (any Error)?
    }

    /// The channel has ended, and not everything is read.
    private let ending = Mutex<End?>(nil)

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
        } else if octets.isEmpty {
            core.end(channel.failure)
        } else if let end = ending.withLock({ $0 }) {
            core.end(end.error)
        }
        return octets.isEmpty && core.status == .error ? -1 : octets.count
    }

    override func getBuffer(
        _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length len: UnsafeMutablePointer<Int>
    ) -> Bool { false }

    /// Somebody may read the rest meanwhile: then there is nobody left who would come to the end.
    func endsWhenRead(_ error: (any Error)?) {
        ending.withLock { $0 = End(error: error) }
        if core.channel?.hasBytesAvailable != true { core.end(error) }
    }
}
