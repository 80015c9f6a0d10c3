/// What ends a case's victim, and what the victim finds in its next life.
protocol Executioner: AnyObject {
    /// The first life is to be started under it, where it is a tracer.
    var tracer: CallTrace? { get }
    /// The first life has begun.
    func began(_ victim: ProcessHandle) throws
    /// Whether the victim's end is its doing.
    var hasKilled: Bool { get }
    /// Behind the victim's end, before its next life.
    func raise() throws
}

/// A tracer kills a process, and nothing else.
extension CallTrace: Executioner {
    var tracer: CallTrace? { self }
    func began(_ victim: ProcessHandle) {}
    func raise() {}
}
