import DaemonControl
import HCITransport

/// Lets the control socket live on the daemon's loop.
final class EventLoopReadiness: ReadinessLoop {
    private let loop: EventLoop
    private var registrations: [Int32: EventLoop.Registration] = [:]

    init(_ loop: EventLoop) { self.loop = loop }

    func watch(
        _ descriptor: Int32, for interest: DaemonControl.Readiness, _ ready: @escaping (DaemonControl.Readiness) -> Void
    ) -> Bool {
        registrations[descriptor] = try? loop.register(descriptor, Self.convert(interest)) { ready(Self.convert($0)) }
        return registrations[descriptor] != nil
    }

    func change(_ descriptor: Int32, to interest: DaemonControl.Readiness) {
        if let registration = registrations[descriptor] { loop.setInterest(Self.convert(interest), of: registration) }
    }

    func unwatch(_ descriptor: Int32) {
        if let registration = registrations.removeValue(forKey: descriptor) { loop.unregister(registration) }
    }

    private static func convert(_ readiness: DaemonControl.Readiness) -> HCITransport.Readiness {
        var converted: HCITransport.Readiness = []
        if readiness.contains(.readable) { converted.insert(.readable) }
        if readiness.contains(.writable) { converted.insert(.writable) }
        return converted
    }

    private static func convert(_ readiness: HCITransport.Readiness) -> DaemonControl.Readiness {
        var converted: DaemonControl.Readiness = []
        if readiness.contains(.readable) { converted.insert(.readable) }
        if readiness.contains(.writable) { converted.insert(.writable) }
        if !readiness.isDisjoint(with: .hangup) { converted.insert(.hangup) }
        return converted
    }
}
