/// Composes the key's daemon and runs it.
enum CentralDaemon {
    static func run(_ settings: CentralSettings) throws -> ExitCode {
        let plan = try DaemonPlan(settings.daemon, role: .central)
        throw Failure(.transport, "transport \(plan.transport): no transport is built in yet")
    }
}
