// swift-format-ignore-file: NeverForceUnwrap, NeverUseImplicitlyUnwrappedOptionals

import CoreBluetooth
import Foundation

/// The serial port over GATT that many boards have.
struct SerialPort {
    static let service = CBUUID(string: "6E400001-B5A3-F393-E0A9-E50E24DCCA9E")
    static let toBoard = CBUUID(string: "6E400002-B5A3-F393-E0A9-E50E24DCCA9E")
    static let fromBoard = CBUUID(string: "6E400003-B5A3-F393-E0A9-E50E24DCCA9E")

    static let all = [service, toBoard, fromBoard]
}

/// Cuts what is to be sent into pieces that a write carries.
struct Chunks: Sequence, IteratorProtocol {
    private var rest: Data
    private let size: Int

    init(_ data: Data, size: Int) {
        rest = data
        self.size = Swift.max(1, size)
    }

    mutating func next() -> Data? {
        guard !rest.isEmpty else { return nil }
        let chunk = rest.prefix(size)
        rest = rest.dropFirst(chunk.count)
        return Data(chunk)
    }
}

/// Makes lines of what arrives in pieces.
struct LineAssembler {
    private var buffer = Data()
    var separator: UInt8 = 0x0A

    mutating func append(_ data: Data) -> [String] {
        buffer.append(data)
        var lines: [String] = []
        while let end = buffer.firstIndex(of: separator) {
            let line = buffer[buffer.startIndex..<end]
            lines.append(String(decoding: line, as: UTF8.self).trimmingCharacters(in: .controlCharacters))
            buffer.removeSubrange(buffer.startIndex...end)
        }
        return lines
    }
}

enum TerminalError: LocalizedError {
    case notReady
    case tooLong(Int)
    case refused(underlying: Error)

    var errorDescription: String? {
        switch self {
        case .notReady: return "The terminal is not connected."
        case .tooLong(let count): return "\(count) bytes are too many."
        case .refused(let underlying): return "The board refused: \(underlying.localizedDescription)"
        }
    }
}

protocol TerminalOutput: AnyObject {
    func terminal(_ terminal: Terminal, didReceive line: String)
    func terminal(_ terminal: Terminal, didFail error: Error)
    func terminalIsReady(_ terminal: Terminal)
}

/// The board's side is a `CBPeripheral` that somebody else has connected.
final class Terminal: NSObject {
    private let peripheral: CBPeripheral
    private weak var output: TerminalOutput?
    private var receiver: CBCharacteristic?
    private var sender: CBCharacteristic?
    private var waiting: [Data] = []
    private var lines = LineAssembler()
    private(set) var sent = 0

    init(peripheral: CBPeripheral, output: TerminalOutput) {
        self.peripheral = peripheral
        self.output = output
        super.init()
        peripheral.delegate = self
    }

    var isReady: Bool { return sender != nil && receiver?.isNotifying == true }

    func open() {
        peripheral.discoverServices([SerialPort.service])
    }

    func send(_ text: String) throws {
        guard let sender = sender, peripheral.state == .connected else { throw TerminalError.notReady }
        let data = Data((text + "\n").utf8)
        guard data.count <= 1 << 16 else { throw TerminalError.tooLong(data.count) }
        let type: CBCharacteristicWriteType =
            sender.properties.contains(.writeWithoutResponse) ? .withoutResponse : .withResponse
        waiting += Chunks(data, size: peripheral.maximumWriteValueLength(for: type))
        drain(sender, type)
    }

    private func drain(_ sender: CBCharacteristic, _ type: CBCharacteristicWriteType) {
        switch type {
        case .withoutResponse:
            while !waiting.isEmpty, peripheral.canSendWriteWithoutResponse {
                let chunk = waiting.removeFirst()
                sent += chunk.count
                peripheral.writeValue(chunk, for: sender, type: .withoutResponse)
            }
        case .withResponse:
            guard let chunk = waiting.first else { return }
            peripheral.writeValue(chunk, for: sender, type: .withResponse)
        @unknown default:
            break
        }
    }
}

extension Terminal: CBPeripheralDelegate {
    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: Error?) {
        if let error = error {
            output?.terminal(self, didFail: TerminalError.refused(underlying: error))
            return
        }
        guard let service = peripheral.services?.first(where: { $0.uuid.isEqual(SerialPort.service) }) else {
            output?.terminal(self, didFail: CBError(.operationNotSupported))
            return
        }
        peripheral.discoverCharacteristics([SerialPort.toBoard, SerialPort.fromBoard], for: service)
    }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: Error?) {
        service.characteristics?.forEach { characteristic in
            switch characteristic.uuid {
            case SerialPort.toBoard where characteristic.properties.isWritable:
                sender = characteristic
            case SerialPort.fromBoard:
                receiver = characteristic
                peripheral.setNotifyValue(true, for: characteristic)
            default:
                break
            }
        }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: Error?
    ) {
        guard characteristic === receiver else { return }
        if isReady { output?.terminalIsReady(self) }
    }

    func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: Error?) {
        guard characteristic == receiver, let data = characteristic.value else { return }
        for line in lines.append(data) { output?.terminal(self, didReceive: line) }
    }

    func peripheral(_ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: Error?) {
        if let error = error {
            waiting.removeAll()
            output?.terminal(self, didFail: TerminalError.refused(underlying: error))
        } else {
            sent += waiting.removeFirst().count
            drain(characteristic, .withResponse)
        }
    }

    func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) {
        if let sender = sender { drain(sender, .withoutResponse) }
    }
}
