/// Composes the lock's daemon and runs it.
enum PeripheralDaemon {
    static func run(_ settings: PeripheralSettings) throws -> ExitCode {
        let plan = try DaemonPlan(settings.daemon, role: .peripheral)
        throw Failure(.transport, "transport \(plan.transport): no transport is built in yet")
    }
}
