// swift-format-ignore-file: NeverForceUnwrap, NeverUseImplicitlyUnwrappedOptionals

import CoreBluetooth
import Dispatch
import Foundation

enum CommandError: Error, Equatable {
    case timedOut
    case cancelled
    case notFound(CBUUID)
    case bluetooth(CBError.Code)
}

/// One command after the other, each with a completion: what GATT wants and Apple's API does not give.
class CommandQueue {
    typealias Completion = (Result<Data?, Error>) -> Void

    enum Operation: Equatable {
        case read(CBUUID)
        case write(CBUUID, Data)
        case subscribe(CBUUID, Bool)
        case wait(String)

        var uuid: CBUUID? {
            switch self {
            case .read(let uuid), .write(let uuid, _), .subscribe(let uuid, _): return uuid
            case .wait: return nil
            }
        }
    }

    private struct Command {
        let operation: Operation
        let completion: Completion
        var attempts = 0
    }

    private var commands: [Command] = []
    private var running: Command?
    /// Carries an operation out; false when it cannot.
    var perform: (Operation) -> Bool = { _ in false }
    let maximumAttempts: Int

    init(maximumAttempts: Int = 2) { self.maximumAttempts = maximumAttempts }

    var count: Int { return commands.count + (running == nil ? 0 : 1) }
    var current: Operation? { return running?.operation }

    func enqueue(_ operation: Operation, completion: @escaping Completion = { _ in }) {
        commands.append(Command(operation: operation, completion: completion))
        runNext()
    }

    func finish(_ operation: Operation, with result: Result<Data?, Error>) {
        guard var command = running, command.operation == operation else { return }
        running = nil
        if case .failure(let error) = result, isTransient(error), command.attempts + 1 < maximumAttempts {
            command.attempts += 1
            commands.insert(command, at: 0)
        } else {
            command.completion(result)
        }
        runNext()
    }

    func cancelAll(_ error: Error = CommandError.cancelled) {
        let all = (running.map { [$0] } ?? []) + commands
        running = nil
        commands.removeAll()
        all.forEach { $0.completion(.failure(error)) }
    }

    private func isTransient(_ error: Error) -> Bool {
        switch error {
        case let error as CBATTError: return [.insufficientResources, .prepareQueueFull].contains(error.code)
        case CBError.outOfSpace: return true
        case CommandError.timedOut: return true
        default: return false
        }
    }

    private func runNext() {
        guard running == nil, !commands.isEmpty else { return }
        let command = commands.removeFirst()
        running = command
        if !perform(command.operation) {
            let error = command.operation.uuid.map(CommandError.notFound) ?? .cancelled
            finish(command.operation, with: .failure(error))
        }
    }
}

/// The queue on a peripheral.
class PeripheralCommander: NSObject {
    let peripheral: CBPeripheral
    let queue = CommandQueue()
    private var timeout: DispatchWorkItem?

    init(peripheral: CBPeripheral) {
        self.peripheral = peripheral
        super.init()
        peripheral.delegate = self
        queue.perform = { [weak self] operation in self?.perform(operation) ?? false }
    }

    func read(_ uuid: CBUUID, completion: @escaping (Result<Data, Error>) -> Void) {
        queue.enqueue(.read(uuid)) { result in
            completion(
                result.flatMap { data in
                    guard let data = data else { return .failure(CommandError.notFound(uuid)) }
                    return .success(data)
                })
        }
    }

    func write(_ data: Data, to uuid: CBUUID, completion: ((Error?) -> Void)? = nil) {
        queue.enqueue(.write(uuid, data)) { result in
            switch result {
            case .success: completion?(nil)
            case .failure(let error): completion?(error)
            }
        }
    }

    private func perform(_ operation: CommandQueue.Operation) -> Bool {
        guard let uuid = operation.uuid,
            let characteristic = peripheral.allCharacteristics.first(where: { $0.uuid == uuid })
        else { return false }
        armTimeout(for: operation)
        switch operation {
        case .read: peripheral.readValue(for: characteristic)
        case .write(_, let data): peripheral.writeValue(data, for: characteristic, type: .withResponse)
        case .subscribe(_, let isOn): peripheral.setNotifyValue(isOn, for: characteristic)
        case .wait: return false
        }
        return true
    }

    private func armTimeout(for operation: CommandQueue.Operation) {
        timeout?.cancel()
        let queue = self.queue
        let item = DispatchWorkItem { queue.finish(operation, with: .failure(CommandError.timedOut)) }
        timeout = item
        DispatchQueue.main.asyncAfter(deadline: .now() + .seconds(10), execute: item)
    }

    private func finish(_ operation: CommandQueue.Operation, _ value: Data?, _ error: Error?) {
        timeout?.cancel()
        queue.finish(operation, with: error.map { .failure($0) } ?? .success(value))
    }
}

extension PeripheralCommander: CBPeripheralDelegate {
    func peripheral(_ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: Error?) {
        finish(.read(characteristic.uuid), characteristic.value, error)
    }

    func peripheral(_ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: Error?) {
        guard case .write(characteristic.uuid, let data)? = queue.current else { return }
        finish(.write(characteristic.uuid, data), nil, error)
    }

    func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic, error: Error?
    ) {
        finish(.subscribe(characteristic.uuid, characteristic.isNotifying), nil, error)
    }

    func peripheral(_ peripheral: CBPeripheral, didWriteValueFor descriptor: CBDescriptor, error: Error?) {
        if let error = error { queue.cancelAll(error) }
    }
}
