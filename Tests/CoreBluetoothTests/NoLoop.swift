import BluetoothHost

@testable import CoreBluetoothEssentials

/// No host is behind it: objects that are made and told something, and that ask for nothing.
final class NoLoop: HostExecutor {
    let isOnLoop = false
    func execute(_ body: @escaping @Sendable (BluetoothHost.Host) -> Void) {}
    func join() -> BluetoothHost.Host? { nil }
}
