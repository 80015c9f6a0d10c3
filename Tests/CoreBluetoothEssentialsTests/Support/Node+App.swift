import CoreBluetoothEssentials
import Simulation
import WorldSupport

extension Node {
    /// Launches on what the disk kept; the app makes its managers before the controller has said anything.
    func launchApp(_ app: (CBHost) -> Void, misuse: (@Sendable (String) -> Void)? = nil) {
        launch { _ in
            if let loop { app(CBHost(loop, misuse: misuse)) }
        }
    }
}
