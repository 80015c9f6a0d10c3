import BluetoothCore
import BluetoothHost
import Glibc
import HCITransport
import HostComposition

/// The end of the default host by SIGTERM, in order: peers hear that their links have ended, and need not wait for a supervision timeout. Then
/// the process ends by the signal, as it would have done without a host.
///
/// Only where the app has set no action for the signal. Confined to the loop's thread.
final class Termination {
    /// A controller that answers nothing does not keep the process alive for longer.
    static let patienceMilliseconds: UInt64 = 1_000

    private let signal: DefaultedSignal
    private let runtime: HostRuntime
    private var isAsked = false

    /// nil when the signal is the app's.
    init?(_ runtime: HostRuntime, by number: Int32 = SIGTERM) throws {
        guard let signal = DefaultedSignal(number) else { return nil }
        self.signal = signal
        self.runtime = runtime
        _ = try runtime.loop.register(signal.descriptor, .readable) { [unowned self] _ in
            if signal.take() { begin() }
        }
        // The driver is the runtime's: what it calls may not keep it.
        runtime.driver.onIdle = { [unowned self] in leaveWhenAlone() }
    }

    private func begin() {
        guard !isAsked else { return }
        isAsked = true
        let host = runtime.host
        host.beginIteration(now: SystemClock.now())
        host.leaveAir()
        host.setTimer(host.makeTimer(), at: host.now.advanced(byMilliseconds: Self.patienceMilliseconds)) {
            [driver = runtime.driver] _ in driver.stop()
        }
    }

    private func leaveWhenAlone() {
        if isAsked, !runtime.host.hasLinks { runtime.driver.stop() }
    }

    /// The loop has ended.
    func end() { signal.giveBack(isDue: isAsked || signal.take()) }
}
