import BluetoothCore
import BluetoothHost
import DBus
import DBusTransport
import HCITransport

/// A bus that is connected with for as long as something is wanted of it.
final class DesktopBus {
    private let place: SystemBus.Place
    private let matches: [String]
    private let host: Host
    private let loop: EventLoop
    private let timer: TimerToken
    private var bus: SystemBus?
    var event: (DBusEvent) -> Void = { _ in }
    /// There is none, and it is not looked for any longer.
    var unavailable: (String) -> Void = { _ in }

    init(_ place: SystemBus.Place, matches: [String] = [], host: Host, loop: EventLoop) {
        (self.place, self.matches, self.host, self.loop) = (place, matches, host, loop)
        timer = host.makeTimer()
    }

    deinit { close() }

    var isOpen: Bool { bus != nil }

    func open() {
        guard bus == nil else { return }
        let bus = SystemBus(place, matches: matches, loop: loop)
        self.bus = bus
        bus.start(
            BusListener(
                begin: { [host] in host.beginIteration(now: SystemClock.now()) },
                event: { [unowned self] event in
                    self.event(event)
                    arm()
                },
                notice: { [unowned self] notice in
                    if case .unavailable(let error, _) = notice { fail(error.description) }
                },
                ended: { [unowned self] error in fail(error.description) }))
        arm()
    }

    func perform(_ act: DBusAct) {
        bus?.perform(act)
        bus?.flush()
        arm()
    }

    func close() {
        bus?.end()
        bus = nil
        arm()
    }

    private func fail(_ reason: String) {
        close()
        unavailable(reason)
    }

    private func arm() {
        host.setTimer(timer, at: bus?.deadline) { [weak self] _ in
            self?.bus?.timerFired()
            self?.arm()
        }
    }
}
