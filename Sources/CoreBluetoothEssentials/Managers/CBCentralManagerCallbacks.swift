/// What is heard of a central manager. Only the first method is required. Apps have Apple's protocol, which refines this one.
public protocol CBCentralManagerCallbacks: AnyObject {
    /// The adapter's state changed. Calls are taken in ``CBManagerState/poweredOn`` only.
    func centralManagerDidUpdateState(_ central: CBCentralManager)
    /// Once, before the first `centralManagerDidUpdateState`, when something was kept under the manager's restore
    /// identifier: what stands, under the `CBCentralManagerRestoredState…` keys. Take the peripherals, set their
    /// delegates, and ask for nothing again: it runs already.
    func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any])
    /// A scan found a peripheral, or something new about it. The signal strength is in dBm.
    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: Int)
    /// A connection that was asked for is there.
    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral)
    /// A connection that was asked for cannot be made, and is no longer tried.
    func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?)
    /// A connection, or the wish for one, ended. `error` is nil when this side asked for it. Nothing more is heard of the
    /// peripheral's operations after this.
    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?)
    /// The same, with when it was, in seconds since the year 2001. Whoever has this one does not hear the other.
    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, timestamp: Double,
        isReconnecting: Bool, error: (any Error)?)
    /// A peer that ``CBCentralManager/registerForConnectionEvents(options:)`` matches is connected, or is not any more.
    func centralManager(
        _ central: CBCentralManager, connectionEventDidOccur event: CBConnectionEvent, for peripheral: CBPeripheral)
}

extension CBCentralManagerCallbacks {
    /// Does nothing.
    public func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {}
    /// Does nothing.
    public func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: Int
    ) {}
    /// Does nothing.
    public func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {}
    /// Does nothing.
    public func centralManager(
        _ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?
    ) {}
    /// Does nothing.
    public func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {}
    /// Does nothing.
    public func centralManager(
        _ central: CBCentralManager, connectionEventDidOccur event: CBConnectionEvent, for peripheral: CBPeripheral
    ) {}
    /// Tells it without the time.
    public func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, timestamp: Double,
        isReconnecting: Bool, error: (any Error)?
    ) { centralManager(central, didDisconnectPeripheral: peripheral, error: error) }
}
