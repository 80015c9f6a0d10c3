import CoreBluetoothEssentials
import Foundation
import Synchronization

extension CBL2CAPChannel {
    // Apple's types: apps unwrap them, and apps do not.

    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    /// What the peer sends. The same object each time; its delegate is called on the run loop that it is scheduled on.
    public var inputStream: InputStream! { streams.input }

    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    /// What the peer is sent. The same object each time; its delegate is called on the run loop that it is scheduled on.
    public var outputStream: OutputStream! { streams.output }

    private var streams: ChannelStreams {
        let (streams, isNew) = attachment.withLock { attachment in
            if let streams = attachment as? ChannelStreams { return (streams, false) }
            let streams = ChannelStreams(self)
            attachment = streams
            return (streams, true)
        }
        // It hears at once of what was there before it, and must not find itself locked.
        if isNew { delegate = streams }
        return streams
    }
}

/// Both streams of a channel, and what they hear of it. The channel holds it: whoever wants the streams holds the channel, as
/// with Apple.
final class ChannelStreams: CBL2CAPChannelDelegate, @unchecked Sendable {
    let input: ChannelInputStream
    let output: ChannelOutputStream
    private let closed = Mutex<Set<ObjectIdentifier>>([])

    init(_ channel: CBL2CAPChannel) {
        (input, output) = (ChannelInputStream(channel), ChannelOutputStream(channel))
        for stream in [input.core, output.core] {
            stream.onClose = { [weak self, weak channel, unowned stream] in
                let isLast = self?.closed.withLock { closed in
                    closed.insert(ObjectIdentifier(stream))
                    return closed.count == 2
                }
                if isLast == true { channel?.close() }
            }
        }
    }

    func channelHasBytesAvailable(_ channel: CBL2CAPChannel) { input.core.post(.hasBytesAvailable) }
    func channelHasSpaceAvailable(_ channel: CBL2CAPChannel) { output.core.post(.hasSpaceAvailable) }

    func channelDidClose(_ channel: CBL2CAPChannel, error: (any Error)?) {
        output.core.end(error)
        // What has arrived can still be read: the end comes behind it.
        input.endsWhenRead(error)
    }
}
