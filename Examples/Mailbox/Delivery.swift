import CoreBluetooth
import Parcel

/// One channel, from its opening to its end: a parcel comes in through one stream, and a receipt goes out through the other.
final class Delivery: NSObject, StreamDelegate {
    enum News {
        /// The header is there: how many octets will follow.
        case announced(Int)
        case received(Parcel)
        case refused(ParcelReader.Refusal)
        /// `isLost`: before the parcel was whole. Nothing is heard behind it.
        case ended(isLost: Bool)
    }

    /// A channel that nobody holds is closed.
    private let channel: CBL2CAPChannel
    private let tell: (News, Delivery) -> Void
    private var reader = ParcelReader()
    private var isAnnounced = false
    private var isWhole = false
    private var buffer = [UInt8](repeating: 0, count: 4096)

    init(_ channel: CBL2CAPChannel, tell: @escaping (News, Delivery) -> Void) {
        (self.channel, self.tell) = (channel, tell)
    }

    private var streams: [Foundation.Stream] { [channel.inputStream, channel.outputStream] }

    /// On the run loop of the caller, from now on.
    func begin() {
        for stream in streams {
            stream.delegate = self
            stream.schedule(in: .current, forMode: .default)
            stream.open()
        }
    }

    /// The parcel is kept: the courier may forget it.
    func confirm(_ parcel: Parcel) {
        let receipt = Parcel.octets(parcel.checksum)
        // Four octets always find room where nothing was written before.
        _ = channel.outputStream.write(receipt, maxLength: receipt.count)
    }

    /// Closes the channel. A receipt goes first.
    func end() {
        for stream in streams { stream.close() }
        tell(.ended(isLost: !isWhole), self)
    }

    func stream(_ aStream: Foundation.Stream, handle eventCode: Foundation.Stream.Event) {
        switch eventCode {
        case .hasBytesAvailable: read()
        case .endEncountered, .errorOccurred:
            // Both streams say it; after the first neither is open any more.
            end()
        default: break
        }
    }

    private func read() {
        let count = channel.inputStream.read(&buffer, maxLength: buffer.count)
        guard count > 0 else { return }
        do {
            let parcel = try reader.take(Data(buffer[..<count]))
            if let length = reader.length, !isAnnounced {
                isAnnounced = true
                tell(.announced(length), self)
            }
            guard let parcel else { return }
            isWhole = true
            tell(.received(parcel), self)
        } catch {
            tell(.refused(error), self)
            end()
        }
    }
}
