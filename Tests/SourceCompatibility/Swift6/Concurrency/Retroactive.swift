// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

import CoreBluetooth

// Conformances that apps give to Apple's classes themselves. `Sendable` is there already, which costs a warning.

extension CBUUID: @retroactive @unchecked Sendable {}
extension CBPeripheral: @retroactive Identifiable {
    public var id: UUID { identifier }
}
extension CBUUID: @retroactive Comparable {
    public static func < (a: CBUUID, b: CBUUID) -> Bool { a.uuidString < b.uuidString }
}
extension CBManagerState: @retroactive CustomStringConvertible {
    public var description: String { name }
}
