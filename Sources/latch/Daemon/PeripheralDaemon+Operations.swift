import DaemonControl
import LockPeripheral
import LockProtocol

/// Moves the bolt for an operator, and tells how that ended.
extension PeripheralDaemon {
    /// Also while the database is in doubt: the kernel says who asks, and no row.
    func operate(_ operation: PeripheralRequest.Operation, _ exchange: ControlExchange) throws(ControlFailure) {
        var record: UInt64 = 0
        let wasAt = lock.boltPosition
        do throws(OperationRefusal) {
            try lock.operate(LockOperation(operation)) { progress in
                switch progress {
                case .accepted(let sequence):
                    record = sequence
                    exchange.event("accepted", ["record": JSONValue(sequence)])
                case .ended(.done, let bolt):
                    exchange.finish([
                        "operation": .string(operation.rawValue), "outcome": "done", "bolt": .string("\(bolt)"),
                        "changed": .bool(bolt != wasAt), "record": JSONValue(record),
                    ])
                case .ended(let outcome, let bolt):
                    exchange.fail(ControlFailure(.refused, Self.complaint(of: outcome, bolt)))
                }
            }
        } catch {
            let code: ControlFailure.Code =
                switch error {
                case .refused(.busy, _, _): .busy
                case .refused: .refused
                }
            throw ControlFailure(code, error.description)
        }
    }

    private static func complaint(of outcome: Outcome, _ bolt: BoltPosition) -> String {
        switch (bolt, outcome) {
        case (.jammed, _): "the bolt is jammed: go and look at the door"
        case (_, .aborted): "the bolt did not do it, and is \(bolt): go and look at the door"
        default: "nobody knows whether the bolt moved, and it says \(bolt): go and look at the door"
        }
    }
}

extension LockOperation {
    fileprivate init(_ operation: PeripheralRequest.Operation) {
        self =
            switch operation {
            case .lock: .lock
            case .unlock: .unlock
            }
    }
}
