/// Ends a machine by its power: at one write or flush of its disk.
final class PowerCut: Executioner {
    private let disk: CutDisk
    private let point: CutPoint
    private let seed: UInt64
    private let waiter: Waiter
    /// What was in the disk's cache when the power went, and what the medium had of it afterwards.
    private(set) var lost: (writes: Int, octets: Int, keptOctets: Int)?
    private(set) var operation: CutDisk.Operation?

    init(_ point: CutPoint, _ disk: CutDisk, seed: UInt64, lies: Bool, waiter: Waiter) {
        self.point = point
        self.disk = disk
        self.seed = seed
        self.waiter = waiter
        disk.arm(point.number, lies: lies)
    }

    var tracer: CallTrace? { nil }
    func began(_ victim: ProcessHandle) throws { try disk.setProcess(victim) }
    var hasKilled: Bool { disk.isCut }

    /// The power comes back, and the file system is mounted as it was left.
    func raise() throws {
        operation = disk.operation
        try disk.unmount(waiter)
        let unflushed = disk.unflushed
        let kept = Survivors.chosen(point.choice, of: unflushed, seed: seed ^ point.chance)
        lost = (unflushed.count, unflushed.reduce(0, +), kept.reduce(0, +))
        disk.restore(kept)
        do { try disk.mount(waiter) } catch let error as DrillError where error.kind == .environment {
            // That is for the judge: on a disk that keeps its word a file system outlives its power.
            throw DrillError(.stuck, "the machine does not come up: \(error)")
        }
    }
}
