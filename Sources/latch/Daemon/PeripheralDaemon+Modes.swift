import DaemonControl
import LockPeripheral
import LockProtocol

/// What the door is for: says it, and changes it.
extension PeripheralDaemon {
    func answer(_ mode: PeripheralRequest.Mode?, _ exchange: ControlExchange) throws(ControlFailure) {
        guard let mode else { return exchange.finish(["mode": .string("\(lock.settings.mode)")]) }
        try requireTrust()
        do throws(ModeRefusal) {
            let isChanged = try lock.enter(LockMode(mode))
            exchange.finish(["mode": .string(mode.rawValue), "changed": .bool(isChanged)])
        } catch {
            throw ControlFailure(.busy, error.description)
        }
    }

    /// The lock of the next household. What is in doubt has to be confirmed first: nobody can be removed whom nobody believes in.
    func reset(_ exchange: ControlExchange) throws(ControlFailure) {
        try requireTrust()
        do throws(RevocationRefusal) {
            exchange.finish(["removed": JSONValue(try lock.reset())])
        } catch {
            throw ControlFailure(error)
        }
    }
}

extension LockMode {
    fileprivate init(_ mode: PeripheralRequest.Mode) {
        self =
            switch mode {
            case .normal: .normal
            case .passage: .passage
            case .privacy: .privacy
            case .lockdown: .lockdown
            }
    }
}
