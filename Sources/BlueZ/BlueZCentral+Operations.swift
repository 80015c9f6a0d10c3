import ATT
import BluetoothCore
import DBus
import GATT

// MARK: What clients ask of attributes

extension BlueZCentral {
    mutating func begin(
        _ token: UInt64, _ link: String, _ operation: GATTClientOperation, until: Instant?, _ outputs: inout [Output]
    ) {
        guard links[link]?.isTold == true else { return outputs.append(.completed(token, .failure(.bearerClosed))) }
        guard operations.hasRoom(on: link) else { return outputs.append(.completed(token, .failure(.queueFull))) }
        switch BlueZRequest.plan(operation, objects.trees[link] ?? BlueZTree()) {
        case .known(let result): outputs.append(.completed(token, .success(result)))
        case .refused(let error): outputs.append(.completed(token, .failure(error)))
        case .ask(let request):
            var asked = BlueZOperations.Operation(link: link, request: request, until: until)
            if case .writeWithoutResponse = operation { asked.isCommand = true }
            switch request.kind {
            case .startNotify(let value): links[link]?.appNotifies(value)
            case .stopNotify(let value): links[link]?.appSilences(value)
            case .read, .readValues, .write: break
            }
            // Nobody answers a command. One that has a time is on its way, or is said to have lapsed; any other one has left when bluetoothd
            // has taken it, and until then it counts as one that has not.
            if asked.isCommand, until != nil {
                asked.isSaid = true
                outputs.append(.completed(token, .success(.done)))
            }
            operations[token] = asked
        }
    }

    mutating func settleOperations(_ now: Instant, _ outputs: inout [Output]) {
        for token in operations.takeDue(now) {
            guard let operation = operations[token] else { continue }
            let request = operation.request
            call(
                request.path, request.interface, request.member, request.body, for: .operation(token),
                until: operation.until, &outputs)
        }
    }

    /// A value that has come by itself, or as bluetoothd has read it: that is known when the read has its answer.
    mutating func valueHeard(_ link: String, _ handle: AttributeHandle, _ value: [UInt8], _ outputs: inout [Output]) {
        guard links[link]?.isTold == true, links[link]?.notified.contains(handle) == true else { return }
        guard let token = operations.reading(handle, on: link) else {
            return outputs.append(.updated(link: link, handle, value))
        }
        tellHeard(token, &outputs)
        operations[token]?.heard = value
    }

    /// It came by itself: of a read bluetoothd tells the last.
    private mutating func tellHeard(_ token: UInt64, _ outputs: inout [Output]) {
        guard let operation = operations[token], let value = operation.heard else { return }
        operations[token]?.heard = nil
        outputs.append(.updated(link: operation.link, operation.request.kind.handle, value))
    }

    mutating func operationAnswered(
        _ token: UInt64, _ result: Result<[DBusValue], DBusError>, _ now: Instant, _ outputs: inout [Output]
    ) {
        guard let operation = operations[token] else { return }
        if let octets = try? result.get().first?.octets, octets == operation.heard { operations[token]?.heard = nil }
        tellHeard(token, &outputs)
        if let error = result.error, error.isBusy, operations.retryLater(token, now) { return }
        operations[token] = nil
        let kind = operation.request.kind
        switch (kind, result.error) {
        case (.startNotify(let value), .some), (.stopNotify(let value), nil): links[operation.link]?.notNotified(value)
        case (.stopNotify(let value), .some): links[operation.link]?.notSilenced(value)
        case (.startNotify, nil), (.read, _), (.readValues, _), (.write, _): break
        }
        guard !operation.isSaid else { return }
        outputs.append(.completed(token, kind.result(of: result)))
    }

    mutating func lapsed(_ token: UInt64, _ outputs: inout [Output]) {
        operations[token] = nil
        outputs.append(.lapsed(token))
    }

    mutating func failOperations(of link: String, _ outputs: inout [Output]) {
        for token in operations.tokens(of: link) {
            tellHeard(token, &outputs)
            if operations[token]?.isSaid == false { outputs.append(.completed(token, .failure(.bearerClosed))) }
            operations[token] = nil
        }
    }
}

extension BlueZRequest.Kind {
    fileprivate func result(of answer: Result<[DBusValue], DBusError>) -> Result<GATTClientResult, GATTClientError> {
        switch answer {
        case .failure(let error): return .failure(error.asClientError(of: self))
        case .success(let body):
            switch self {
            case .write, .startNotify, .stopNotify: return .success(.done)
            case .read(let handle): return value(body, handle).map { .value($0.value) }
            case .readValues(let handle): return value(body, handle).map { .values([$0]) }
            }
        }
    }

    private func value(_ body: [DBusValue], _ handle: AttributeHandle) -> Result<RemoteValue, GATTClientError> {
        guard let octets = body.first?.octets else { return .failure(.malformedAnswer(.undecodable)) }
        return .success(RemoteValue(handle: handle, value: octets))
    }
}

extension DBusError {
    /// Somebody else, or this side, is at the attribute already.
    fileprivate var isBusy: Bool { name == "org.bluez.Error.InProgress" }

    /// bluetoothd has a name for some errors of ATT and says the others' numbers.
    ///
    /// BlueZ, doc/gatt-api.txt; Core 5.4, Vol 3, Part F, 3.4.1.1 (Error Response)
    fileprivate func asClientError(of kind: BlueZRequest.Kind) -> GATTClientError {
        func refused(_ code: ATTErrorCode) -> GATTClientError { .refused(code, handle: kind.handle) }
        let isRead =
            switch kind {
            case .read, .readValues: true
            case .write, .startNotify, .stopNotify: false
            }
        switch name {
        case "org.bluez.Error.NotPermitted":
            return refused(
                text == "Not paired" ? .insufficientAuthentication : isRead ? .readNotPermitted : .writeNotPermitted)
        case "org.bluez.Error.InvalidOffset": return refused(.invalidOffset)
        case "org.bluez.Error.InvalidValueLength": return refused(.invalidAttributeValueLength)
        case "org.bluez.Error.NotAuthorized": return refused(.insufficientAuthorization)
        case "org.bluez.Error.NotSupported": return refused(.requestNotSupported)
        case "org.bluez.Error.InProgress": return refused(.procedureAlreadyInProgress)
        case "org.bluez.Error.Failed":
            guard let digits = text.split(separator: "0x").last, let code = UInt8(digits: digits, radix: 16),
                text.hasPrefix("Operation failed with ATT error: 0x")
            else { return refused(.unlikelyError) }
            return refused(ATTErrorCode(rawValue: code))
        // The device, the link or bluetoothd is gone.
        default: return .bearerClosed
        }
    }
}
