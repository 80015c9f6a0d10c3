import BluetoothCore
import BluetoothHost

@testable import CoreBluetoothEssentials

/// No host is behind it: what keeps peripherals and asks them nothing is tested with these.
private final class NoLoop: HostExecutor {
    let isOnLoop = false
    func execute(_ body: @escaping @Sendable (Host) -> Void) {}
    func join() -> Host? { nil }
}

extension CBPeripheral {
    static func ofNoHost() -> CBPeripheral {
        CBPeripheral(
            PeerIdentifier(bits: 1), name: nil,
            core: CentralCore(handle: CBHost(NoLoop()), delivery: .inline, delegate: nil))
    }
}
