import CoreBluetoothEssentials
import DaemonControl
import FoundationEssentials

/// L2CAP channels that either manager opened: read at once and told, unless the script wants to read by itself.
final class ChannelSide: Side {
    private let voice: Voice
    private var channels: [Int64: CBL2CAPChannel] = [:]
    private var numbers: [CBL2CAPChannel: Int64] = [:]
    private var nextNumber: Int64 = 1
    private var readsAtOnce = true

    init(_ voice: Voice) { self.voice = voice }

    var commands: [String: Command] {
        [
            // Answers how many octets were taken.
            "writeChannel": { [unowned self] (arguments, reply) throws(Refusal) in
                let taken = try channel(arguments).write(Data(try arguments.octets("value")))
                reply.done(["taken": JSONValue(taken)])
            },
            "readChannelsAtOnce": { [unowned self] (arguments, reply) throws(Refusal) in
                readsAtOnce = try arguments.flag("enabled")
                if readsAtOnce { for channel in channels.values { channelHasBytesAvailable(channel) } }
                reply.done()
            },
            "closeChannel": { [unowned self] (arguments, reply) throws(Refusal) in
                try channel(arguments).close()
                reply.done()
            },
        ]
    }

    private func channel(_ arguments: Arguments) throws(Refusal) -> CBL2CAPChannel {
        guard let channel = channels[try arguments.number("channel")] else {
            throw Refusal("`channel` names no channel")
        }
        return channel
    }

    /// What a manager's delegate heard.
    func opened(_ channel: CBL2CAPChannel?, _ error: (any Error)?) {
        guard let channel else { return voice.event("channelOpened", ["error": JSONValue(error: error)]) }
        let number = nextNumber
        nextNumber += 1
        channels[number] = channel
        numbers[channel] = number
        voice.event(
            "channelOpened",
            [
                "channel": .number(number), "peer": JSONValue(channel.peer), "psm": JSONValue(channel.psm),
                "error": JSONValue(error: error),
            ])
        channel.delegate = self
    }
}

extension ChannelSide: CBL2CAPChannelDelegate {
    func channelHasBytesAvailable(_ channel: CBL2CAPChannel) {
        guard readsAtOnce, let number = numbers[channel] else { return }
        while channel.hasBytesAvailable {
            let octets = channel.read(maxLength: 4096)
            voice.event("channelData", ["channel": .number(number), "value": JSONValue(octets)])
        }
    }

    func channelHasSpaceAvailable(_ channel: CBL2CAPChannel) {
        guard let number = numbers[channel] else { return }
        voice.event("channelSpace", ["channel": .number(number)])
    }

    func channelDidClose(_ channel: CBL2CAPChannel, error: (any Error)?) {
        guard let number = numbers.removeValue(forKey: channel) else { return }
        channels[number] = nil
        voice.event("channelClosed", ["channel": .number(number), "error": JSONValue(error: error)])
    }
}
