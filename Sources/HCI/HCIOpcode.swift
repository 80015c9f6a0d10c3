import BluetoothCore

/// A command's code: OGF in the six most significant bits, OCF in the other ten.
///
/// Core 5.4, Vol 4, Part E, 5.4.1 (HCI Command packet)
package struct HCIOpcode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }
    package init(_ rawValue: UInt16) { self.rawValue = rawValue }

    /// No command: the opcode of an event that only carries Num_HCI_Command_Packets.
    ///
    /// Core 5.4, Vol 4, Part E, 4.4 (Command Flow Control)
    package static let none = Self(0x0000)

    package var description: String {
        let text = String(rawValue, radix: 16, uppercase: true)
        return "0x" + String(repeating: "0", count: 4 - text.count) + text
    }
}
