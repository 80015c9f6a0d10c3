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
// Not of a type that other tests print: all tests are one process, which has each conformance once.
extension CBAttributePermissions: @retroactive CustomStringConvertible {
    public var description: String { contains(.writeable) ? "for writing" : "not for writing" }
}
