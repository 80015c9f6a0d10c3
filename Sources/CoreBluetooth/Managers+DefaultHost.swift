import CoreBluetoothEssentials
import Dispatch

// Apple's initialisers: the host is the process's.

extension CBCentralManager {
    /// A manager on ``CBHost/default``. Its delegates are called on `queue`, a serial one, or the main queue.
    public convenience init(
        delegate: (any CBCentralManagerDelegate)?, queue: DispatchQueue?, options: [String: Any]? = nil
    ) {
        self.init(delegate: delegate, queue: queue, options: options, host: .default)
    }
}

extension CBPeripheralManager {
    /// A manager on ``CBHost/default``. Its delegate is called on `queue`, a serial one, or the main queue.
    public convenience init(
        delegate: (any CBPeripheralManagerDelegate)?, queue: DispatchQueue?, options: [String: Any]? = nil
    ) {
        self.init(delegate: delegate, queue: queue, options: options, host: .default)
    }
}
