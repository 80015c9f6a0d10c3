import CoreBluetooth
import Foundation

/// An update of a board's firmware: a machine of states, an image in pages, and the characteristics that carry it.
enum FirmwareUpdate {
    static let serviceUUID = CBUUID(string: "8A97F7C0-8506-11E3-BAA7-0800200C9A66")
    static let controlUUID = CBUUID(string: "8A97F7C1-8506-11E3-BAA7-0800200C9A66")
    static let dataUUID = CBUUID(string: "8A97F7C2-8506-11E3-BAA7-0800200C9A66")

    enum Command: UInt8 {
        case begin = 1, page, verify, activate, abort
    }

    enum State: Equatable {
        case idle
        case starting(size: Int)
        case sending(page: Int, offset: Int)
        case verifying
        case activating
        case done
        case failed(String)

        var isOver: Bool {
            switch self {
            case .done, .failed: return true
            default: return false
            }
        }
    }

    enum Action: Equatable {
        case command(Data)
        case data(Data)
        case finish
    }

    /// Knows nothing of Bluetooth: what comes in are the board's answers.
    struct Machine {
        let image: Data
        let pageSize: Int
        private(set) var state = State.idle

        init(image: Data, pageSize: Int = 256) {
            self.image = image
            self.pageSize = pageSize
        }

        var progress: Double {
            guard case .sending(let page, let offset) = state, !image.isEmpty else { return state == .done ? 1 : 0 }
            return Double(page * pageSize + offset) / Double(image.count)
        }

        mutating func begin() -> [Action] {
            guard state == .idle else { return [] }
            state = .starting(size: image.count)
            var payload = Data([Command.begin.rawValue])
            withUnsafeBytes(of: UInt32(image.count).littleEndian) { payload.append(contentsOf: $0) }
            return [.command(payload)]
        }

        mutating func answered(_ answer: Data) -> [Action] {
            guard let code = answer.first, let status = answer.dropFirst().first else {
                return fail("an answer of \(answer.count) bytes")
            }
            guard status == 0 else { return fail("the board says \(status)") }
            switch (state, Command(rawValue: code)) {
            case (.starting, .begin?):
                state = .sending(page: 0, offset: 0)
                return [.command(Data([Command.page.rawValue, 0]))]
            case (.sending(let page, _), .page?):
                let start = page * pageSize
                guard start < image.count else {
                    state = .verifying
                    return [.command(Data([Command.verify.rawValue]) + checksum)]
                }
                let end = min(start + pageSize, image.count)
                state = .sending(page: page + 1, offset: 0)
                return [
                    .data(image[image.startIndex + start..<image.startIndex + end]),
                    .command(Data([Command.page.rawValue, UInt8(truncatingIfNeeded: page + 1)])),
                ]
            case (.verifying, .verify?):
                state = .activating
                return [.command(Data([Command.activate.rawValue]))]
            case (.activating, .activate?):
                state = .done
                return [.finish]
            default:
                return fail("code \(code) in the wrong place")
            }
        }

        mutating func disconnected(_ error: Error?) {
            if state == .activating {
                // Boards restart before they answer.
                state = .done
            } else if !state.isOver {
                state = .failed(error?.localizedDescription ?? "disconnected")
            }
        }

        private var checksum: Data {
            let sum = image.reduce(UInt32(0)) { ($0 << 1 | $0 >> 31) ^ UInt32($1) }
            return withUnsafeBytes(of: sum.littleEndian) { Data($0) }
        }

        private mutating func fail(_ reason: String) -> [Action] {
            state = .failed(reason)
            return [.command(Data([Command.abort.rawValue])), .finish]
        }
    }
}

/// Joins the machine to a peripheral.
class FirmwareUpdater: NSObject, CBPeripheralDelegate {
    typealias Progress = (_ fraction: Double) -> Void
    typealias Completion = (Result<Void, Error>) -> Void

    private var machine: FirmwareUpdate.Machine
    private let peripheral: CBPeripheral
    private var control: CBCharacteristic?
    private var data: CBCharacteristic?
    private var pieces: ArraySlice<Data> = []
    private let progress: Progress
    private var completion: Completion?

    init(
        image: Data, peripheral: CBPeripheral, progress: @escaping Progress = { _ in },
        completion: @escaping Completion
    ) {
        machine = FirmwareUpdate.Machine(image: image)
        self.peripheral = peripheral
        self.progress = progress
        self.completion = completion
    }

    func start() {
        peripheral.delegate = self
        if let service = peripheral.service(FirmwareUpdate.serviceUUID), service.characteristics != nil {
            self.peripheral(peripheral, didDiscoverCharacteristicsFor: service, error: nil)
        } else {
            peripheral.discoverServices([FirmwareUpdate.serviceUUID])
        }
    }

    private func perform(_ actions: [FirmwareUpdate.Action]) {
        for action in actions {
            switch action {
            case .command(let payload):
                guard let control = control else { continue }
                peripheral.writeValue(payload, for: control, type: .withResponse)
            case .data(let page):
                pieces += Array(Chunks(page, size: peripheral.maximumWriteValueLength(for: .withoutResponse)))
                pump()
            case .finish:
                finish()
            }
        }
        progress(machine.progress)
    }

    private func pump() {
        guard let data = data else { return }
        while peripheral.canSendWriteWithoutResponse, let piece = pieces.popFirst() {
            peripheral.writeValue(piece, for: data, type: .withoutResponse)
        }
    }

    private func finish() {
        defer { completion = nil }
        if case .failed(let reason) = machine.state {
            let error = CBError(.unknown, userInfo: [NSLocalizedDescriptionKey: reason])
            completion?(.failure(error))
        } else {
            completion?(.success(()))
        }
    }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: Error?) {
        peripheral.services?.only([FirmwareUpdate.serviceUUID]).forEach {
            peripheral.discoverCharacteristics([FirmwareUpdate.controlUUID, FirmwareUpdate.dataUUID], for: $0)
        }
    }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: Error?) {
        control = service[FirmwareUpdate.controlUUID]
        data = service[FirmwareUpdate.dataUUID]
        guard let control = control else { return }
        peripheral.setNotifyValue(true, for: control)
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: Error?
    ) {
        guard characteristic.isNotifying else { return }
        perform(machine.begin())
    }

    func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: Error?) {
        guard characteristic.uuid == FirmwareUpdate.controlUUID, let answer = characteristic.value else { return }
        perform(machine.answered(answer))
    }

    func peripheralIsReady(toSendWriteWithoutResponse peripheral: CBPeripheral) { pump() }
}
