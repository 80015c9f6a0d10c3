/// The state of a manager's adapter.
public enum CBManagerState: Int, Sendable {
    /// No controller has answered yet; an update is imminent.
    case unknown = 0
    /// The controller went away or is starting over; an update is imminent.
    case resetting = 1
    /// There is no adapter, or it lacks Bluetooth LE.
    case unsupported = 2
    /// There is an adapter, and this process may not open it.
    case unauthorized = 3
    /// The adapter is switched off, or another program has it.
    case poweredOff = 4
    /// The adapter is on, and the manager takes calls.
    case poweredOn = 5
}

/// Whether the app may use Bluetooth.
public enum CBManagerAuthorization: Int, Sendable {
    /// Never on Linux.
    case notDetermined = 0
    /// Never on Linux.
    case restricted = 1
    /// Never on Linux.
    case denied = 2
    /// Always on Linux: nobody is asked, and the state of a manager says whether the adapter may be opened.
    case allowedAlways = 3
}

/// Where a peripheral's connection stands.
public enum CBPeripheralState: Int, Sendable {
    /// There is none, and none was asked for.
    case disconnected = 0
    /// One was asked for; this never times out.
    case connecting = 1
    /// There is one.
    case connected = 2
    /// Its end was asked for.
    case disconnecting = 3
}

/// How a characteristic's value is written.
public enum CBCharacteristicWriteType: Int, Sendable {
    /// The peripheral says what became of it: `peripheral(_:didWriteValueFor:error:)`.
    case withResponse = 0
    /// Nothing is said.
    case withoutResponse = 1
}

/// How quick a link is to answer: see ``CBPeripheralManager/setDesiredConnectionLatency(_:for:)``.
public enum CBPeripheralManagerConnectionLatency: Int, Sendable {
    /// An answer before power.
    case low = 0
    /// Between both.
    case medium = 1
    /// Power before an answer.
    case high = 2
}
