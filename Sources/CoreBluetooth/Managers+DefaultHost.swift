import CoreBluetoothEssentials
import Dispatch

// Apple's initialisers: the host is the process's.

extension CBCentralManager {
    /// A manager on ``CBHost/default`` without a delegate, on the main queue.
    public convenience init() { self.init(delegate: nil, queue: nil) }

    /// A manager on ``CBHost/default`` without options.
    public convenience init(delegate: (any CBCentralManagerDelegate)?, queue: DispatchQueue?) {
        self.init(delegate: delegate, queue: queue, options: nil)
    }

    /// A manager on ``CBHost/default``. Its delegates are called on `queue`, a serial one, or the main queue.
    public convenience init(
        delegate: (any CBCentralManagerDelegate)?, queue: DispatchQueue?, options: [String: Any]? = nil
    ) {
        self.init(callbacks: delegate, queue: queue, options: options, host: .default)
    }

    /// Who hears of this manager; not retained.
    public var delegate: (any CBCentralManagerDelegate)? {
        get { callbacks as? any CBCentralManagerDelegate }
        set { callbacks = newValue }
    }
}

extension CBPeripheralManager {
    /// A manager on ``CBHost/default`` without a delegate, on the main queue.
    public convenience init() { self.init(delegate: nil, queue: nil) }

    /// A manager on ``CBHost/default`` without options.
    public convenience init(delegate: (any CBPeripheralManagerDelegate)?, queue: DispatchQueue?) {
        self.init(delegate: delegate, queue: queue, options: nil)
    }

    /// A manager on ``CBHost/default``. Its delegate is called on `queue`, a serial one, or the main queue.
    public convenience init(
        delegate: (any CBPeripheralManagerDelegate)?, queue: DispatchQueue?, options: [String: Any]? = nil
    ) {
        self.init(callbacks: delegate, queue: queue, options: options, host: .default)
    }

    /// Who hears of this manager; not retained.
    public var delegate: (any CBPeripheralManagerDelegate)? {
        get { callbacks as? any CBPeripheralManagerDelegate }
        set { callbacks = newValue }
    }
}
