import BluetoothCore
import DBus

// MARK: Pairing by a setup code

extension BlueZCentral {
    /// Where this side's agent is.
    static let agentPath = "/latch/central/agent"

    mutating func pair(_ address: DeviceAddress, _ now: Instant, _ outputs: inout [Output]) {
        guard isOn, let adapter = adapter?.path else { return outputs.append(.paired(address, .notPoweredOn)) }
        guard pairing == nil else { return outputs.append(.paired(address, .busy)) }
        pairing = BlueZPairing(address, now: now)
        guard let device = objects.device(at: address, on: adapter), device.isPaired else { return }
        pairing?.step = .removing(device: device.path)
        remove(device, for: .pairing, &outputs)
    }

    /// Nobody waits for it any more, and nothing more is said of it. What bluetoothd has made of it by now, or makes yet, goes with the
    /// device.
    mutating func cancelPairing(_ address: DeviceAddress, _ outputs: inout [Output]) {
        guard let underWay = pairing, underWay.address == address else { return }
        pairing = nil
        switch underWay.step {
        case .pairing(let path), .leaving(let path):
            guard isOn else { return }
            unregisterAgent(&outputs)
            if let device = objects.devices[path] { remove(device, for: .ignored, &outputs) }
        case .removing, .finding, .providing: break
        }
    }

    private mutating func unregisterAgent(_ outputs: inout [Output]) {
        call(
            BlueZName.root, BlueZName.agentManager, "UnregisterAgent", [.objectPath(Self.agentPath)], for: .ignored,
            &outputs)
    }

    mutating func forget(_ address: DeviceAddress, _ outputs: inout [Output]) {
        guard isOn, let adapter = adapter?.path, let device = objects.device(at: address, on: adapter), device.isPaired
        else { return }
        remove(device, for: .ignored, &outputs)
    }

    private mutating func remove(_ device: BlueZDevice, for purpose: Purpose, _ outputs: inout [Output]) {
        guard let adapter = device.adapter else { return }
        call(adapter, BlueZName.adapter, "RemoveDevice", [.objectPath(device.path)], for: purpose, &outputs)
    }

    mutating func codeProvided(_ failure: BlueZPairingFailure?, _ outputs: inout [Output]) {
        guard case .providing(let device)? = pairing?.step else { return }
        if let failure { return endPairing(failure, &outputs) }
        pairing?.step = .pairing(device: device)
        call(
            BlueZName.root, BlueZName.agentManager, "RegisterAgent",
            [.objectPath(Self.agentPath), .string("KeyboardDisplay")], for: .ignored, &outputs)
        call(device, BlueZName.device, "Pair", for: .pairing, &outputs)
    }

    /// Of RemoveDevice or of Pair.
    mutating func pairingAnswered(_ result: Result<[DBusValue], DBusError>, _ outputs: inout [Output]) {
        switch (pairing?.step, result.error) {
        // A pairing before this one may have removed it.
        case (.removing, let error?) where error.name != BlueZName.doesNotExist:
            endPairing(.notForgotten(error.said), &outputs)
        case (.pairing, let error?): endPairing(.refused(error.said), &outputs)
        case (.pairing(let device), nil):
            pairing?.step = .leaving(device: device)
            call(device, BlueZName.device, "Disconnect", for: .ignored, &outputs)
        case (.removing, _), (.finding, _), (.providing, _), (.leaving, _), (nil, _): break
        }
    }

    mutating func settlePairing(_ now: Instant, _ outputs: inout [Output]) {
        guard let underWay = pairing else { return }
        guard isOn, let adapter else { return endPairing(.notPoweredOn, &outputs) }
        switch underWay.step {
        case .removing(let device): if objects.devices[device] == nil { pairing?.step = .finding }
        case .finding:
            if let device = objects.device(at: underWay.address, on: adapter.path), device.rssi != nil {
                pairing?.step = .providing(device: device.path)
                outputs.append(.provideCode(underWay.address, adapter: adapter.number))
            }
        // The bond is there, whatever becomes of the link.
        case .leaving(let device):
            if objects.devices[device]?.isConnected != true || underWay.until <= now {
                return endPairing(nil, &outputs)
            }
        case .providing, .pairing: break
        }
        if underWay.until <= now { endPairing(.timedOut, &outputs) }
    }

    private mutating func endPairing(_ failure: BlueZPairingFailure?, _ outputs: inout [Output]) {
        guard let ended = pairing else { return }
        pairing = nil
        switch ended.step {
        case .pairing(let device), .leaving(let device):
            guard isOn else { break }
            if failure == .timedOut { call(device, BlueZName.device, "CancelPairing", for: .ignored, &outputs) }
            unregisterAgent(&outputs)
        case .removing, .finding, .providing: break
        }
        outputs.append(.paired(ended.address, failure))
    }
}

extension DBusError {
    /// For people: what it says, or else its name.
    fileprivate var said: String { text.isEmpty ? name : text }
}
