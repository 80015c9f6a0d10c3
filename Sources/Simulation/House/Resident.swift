/// A machine in a house: its disk and its controller, and the processes that come and go on it.
protocol Resident: AnyObject {
    var kind: Machine { get }
    var node: Node { get }
    var disk: SimulatedDisk { get }

    /// A process begins.
    ///
    /// - Throws: What the disk says.
    func launch() throws
}

extension Door: Resident {
    var kind: Machine { .lock }
}

extension Pocket: Resident {
    var kind: Machine { .key }
}
