import BluetoothHost
import Synchronization

/// The Bluetooth host that managers stand on: one process owns one adapter, and all of its managers share one host.
public final class CBHost: Sendable {
    package let executor: any HostExecutor
    /// Seconds since 1970, which a wish for a connection carries for people to read.
    let wallClockSeconds: @Sendable () -> Int64
    private let misuseHandler: (@Sendable (String) -> Void)?
    private let obstacleText = Mutex<String?>(nil)
    private let features = Mutex<ControllerFeatures>([])
    /// What speaks with the user for the product; the host itself holds nobody.
    package let agent = Mutex<(any AnyObject & Sendable)?>(nil)

    /// Why there is no adapter, and what to do about it, in one line for people to read; nil while nothing is in the way.
    public var obstacle: String? { obstacleText.withLock { $0 } }

    /// What the adapter can do, once it has been there.
    package var controllerFeatures: ControllerFeatures { features.withLock { $0 } }

    func setControllerFeatures(_ known: ControllerFeatures) { features.withLock { $0 = known } }

    /// Whoever looks after the adapter says what is in its way.
    package func setObstacle(_ text: String?) { obstacleText.withLock { $0 = text } }

    /// A handle on a host whose loop `executor` reaches. `misuse` hears of calls that are ignored because the caller broke
    /// a rule of the API.
    package init(
        _ executor: any HostExecutor, wallClockSeconds: @escaping @Sendable () -> Int64 = { 0 },
        misuse: (@Sendable (String) -> Void)? = nil
    ) {
        self.executor = executor
        self.wallClockSeconds = wallClockSeconds
        misuseHandler = misuse
    }

    /// Who asks the user about pairings that nothing pins to a method; nil for nobody. Held weakly.
    package func setPairingAgent(_ agent: (any PairingAgent & Sendable)?) {
        executor.execute { $0.setPairingAgent(agent) }
    }

    /// Now, as Apple's time stamps say it.
    var secondsSince2001: Double { Double(wallClockSeconds() - Self.secondsFrom1970To2001) }
    private static let secondsFrom1970To2001: Int64 = 978_307_200

    func misuse(_ message: String) { misuseHandler?("API MISUSE: " + message) }
}
