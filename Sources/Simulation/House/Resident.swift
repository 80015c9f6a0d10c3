import BluetoothCore

/// A machine in a house: its disk and its controller, and the processes that come and go on it.
protocol Resident: AnyObject {
    var kind: Machine { get }
    var node: Node { get }
    var disk: SimulatedDisk { get }

    /// A process begins.
    ///
    /// - Throws: What the disk says.
    func launch() throws

    /// The machine has lost its power: what becomes of its metal, where it has some.
    func losePowerOfMetal(withWhatMoved isLost: Bool)
}

extension Resident {
    /// The power of the machine goes, and with it what its bolt had not ended, where `withMovement` says so.
    func losePower(choice: Int, withMovement: Bool) {
        node.kill()
        disk.losePower(choice: choice)
        losePowerOfMetal(withWhatMoved: withMovement)
        node.boot = BootID(bits: node.boot.bits + 1)
    }
}

extension Door: Resident {
    var kind: Machine { .lock }
    func losePowerOfMetal(withWhatMoved isLost: Bool) {
        guard let strike else { return metal.losePower(withWhatMoved: isLost) }
        strike.losePower(downMilliseconds: Self.bootMilliseconds)
    }
    /// What the keeper's unit takes; it begins before the lock's.
    private static let bootMilliseconds: UInt64 = 20
}

extension Pocket: Resident {
    var kind: Machine { .key }
    func losePowerOfMetal(withWhatMoved isLost: Bool) {}
}
