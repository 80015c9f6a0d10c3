// swift-format-ignore-file: NeverForceUnwrap, NeverUseImplicitlyUnwrappedOptionals

import CoreBluetooth
import Foundation

/// The head of a file on a channel: its length in four bytes, then its name's in one, then the name.
struct FileHeader: Equatable {
    var name: String
    var length: Int

    var encoded: Data {
        var data = Data()
        withUnsafeBytes(of: UInt32(length).bigEndian) { data.append(contentsOf: $0) }
        let name = Data(self.name.utf8.prefix(255))
        data.append(UInt8(name.count))
        data.append(name)
        return data
    }

    static func decode(_ data: Data) -> (header: FileHeader, rest: Data)? {
        guard data.count >= 5 else { return nil }
        let length = data.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        let count = Int(data[data.startIndex + 4])
        guard data.count >= 5 + count, let name = String(data: data.dropFirst(5).prefix(count), encoding: .utf8) else {
            return nil
        }
        return (FileHeader(name: name, length: length), Data(data.dropFirst(5 + count)))
    }
}

/// A file over an L2CAP channel's streams, on the current run loop. Base of both ends.
class ChannelEnd: NSObject, StreamDelegate {
    let channel: CBL2CAPChannel
    private let inputStream: InputStream
    private let outputStream: OutputStream
    fileprivate var unsent = Data()
    var onEnd: ((Error?) -> Void)?

    init(channel: CBL2CAPChannel) {
        self.channel = channel
        inputStream = channel.inputStream
        outputStream = channel.outputStream
        super.init()
    }

    func open() {
        for stream in [inputStream, outputStream] as [Stream] {
            stream.delegate = self
            stream.schedule(in: RunLoop.current, forMode: .default)
            stream.open()
        }
    }

    func close() {
        inputStream.close()
        outputStream.close()
        inputStream.remove(from: .current, forMode: RunLoop.Mode.default)
        outputStream.remove(from: .current, forMode: .default)
        inputStream.delegate = nil
        outputStream.delegate = nil
    }

    func send(_ data: Data) {
        unsent.append(data)
        if outputStream.hasSpaceAvailable { pump() }
    }

    func received(_ data: Data) {}

    private func pump() {
        while !unsent.isEmpty, outputStream.hasSpaceAvailable {
            let written = unsent.withUnsafeBytes { (buffer: UnsafeRawBufferPointer) -> Int in
                guard let base = buffer.bindMemory(to: UInt8.self).baseAddress else { return 0 }
                return outputStream.write(base, maxLength: buffer.count)
            }
            guard written > 0 else { return }
            unsent.removeFirst(written)
        }
    }

    private func drain() {
        let size = 1024
        let buffer = UnsafeMutablePointer<UInt8>.allocate(capacity: size)
        defer { buffer.deallocate() }
        while inputStream.hasBytesAvailable {
            let count = inputStream.read(buffer, maxLength: size)
            if count <= 0 { break }
            received(Data(bytes: buffer, count: count))
        }
    }

    func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
        switch eventCode {
        case .openCompleted:
            break
        case Stream.Event.hasBytesAvailable:
            drain()
        case .hasSpaceAvailable:
            pump()
        case .endEncountered:
            close()
            onEnd?(nil)
        case .errorOccurred:
            let error = aStream.streamError
            close()
            onEnd?(error)
        default:
            print("\(eventCode.rawValue) of \(channel.psm)")
        }
    }
}

final class FileReceiver: ChannelEnd {
    private var buffer = Data()
    private var header: FileHeader?
    var onFile: ((FileHeader, Data) -> Void)?

    override func received(_ data: Data) {
        buffer += data
        if header == nil, let (header, rest) = FileHeader.decode(buffer) {
            self.header = header
            buffer = rest
        }
        guard let header = header, buffer.count >= header.length else { return }
        onFile?(header, Data(buffer.prefix(header.length)))
        buffer.removeFirst(header.length)
        self.header = nil
    }
}

/// Publishes a channel, and tells its number in a characteristic.
class FileServer: NSObject, CBPeripheralManagerDelegate {
    static let service = CBUUID(string: "12E61727-B41A-436F-B64D-4777B35F2294")
    var manager: CBPeripheralManager?
    private var psmCharacteristic: CBMutableCharacteristic?
    private var ends = [ObjectIdentifier: FileReceiver]()
    private(set) var psm: CBL2CAPPSM? {
        didSet { print("PSM: \(psm.map(String.init) ?? "none")") }
    }

    func start() { manager = CBPeripheralManager(delegate: self, queue: nil, options: nil) }

    static func value(of psm: CBL2CAPPSM) -> Data { return withUnsafeBytes(of: psm.littleEndian) { Data($0) } }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        if peripheral.state == .poweredOn { peripheral.publishL2CAPChannel(withEncryption: false) }
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didPublishL2CAPChannel PSM: CBL2CAPPSM, error: Error?) {
        guard error == nil else { return }
        psm = PSM
        let characteristic = CBMutableCharacteristic(
            type: CBUUID(string: CBUUIDL2CAPPSMCharacteristicString), properties: [.read],
            value: FileServer.value(of: PSM), permissions: [.readable])
        let service = CBMutableService(type: FileServer.service, primary: true)
        service.characteristics = [characteristic]
        peripheral.add(service)
        psmCharacteristic = characteristic
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didUnpublishL2CAPChannel PSM: CBL2CAPPSM, error: Error?) {
        if psm == PSM { psm = nil }
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didOpen channel: CBL2CAPChannel?, error: Error?) {
        guard let channel = channel else { return }
        let end = FileReceiver(channel: channel)
        let key = ObjectIdentifier(channel)
        end.onEnd = { [weak self] _ in self?.ends[key] = nil }
        end.onFile = { header, data in print("\(header.name): \(data.count) of \(header.length)") }
        end.open()
        ends[key] = end
    }

    func stop() {
        if let psm = psm { manager?.unpublishL2CAPChannel(psm) }
    }
}

/// Finds the number, opens the channel, and sends.
class FileClient: NSObject, CBPeripheralDelegate {
    private let peripheral: CBPeripheral
    private let file: (name: String, data: Data)
    private var end: ChannelEnd?
    private let completion: (Error?) -> Void

    init(_ peripheral: CBPeripheral, file: (name: String, data: Data), completion: @escaping (Error?) -> Void) {
        (self.peripheral, self.file, self.completion) = (peripheral, file, completion)
        super.init()
        peripheral.delegate = self
    }

    static func psm(in data: Data?) -> CBL2CAPPSM? {
        guard let data = data, data.count == MemoryLayout<CBL2CAPPSM>.size else { return nil }
        return data.withUnsafeBytes { $0.loadUnaligned(as: UInt16.self) }
    }

    func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: Error?) {
        guard let psm = FileClient.psm(in: characteristic.value) else { return completion(error) }
        peripheral.openL2CAPChannel(psm)
    }

    func peripheral(_ peripheral: CBPeripheral, didOpen channel: CBL2CAPChannel?, error: Error?) {
        guard let channel = channel, let peer = channel.peer, peer.identifier == peripheral.identifier else {
            completion(error ?? CBError(.connectionFailed))
            return
        }
        let end = ChannelEnd(channel: channel)
        end.onEnd = completion
        end.open()
        end.send(FileHeader(name: file.name, length: file.data.count).encoded + file.data)
        self.end = end
    }
}
