import BlueZ
import BluetoothCore
import HCITransport

/// Where a host's air is, as configuration and command lines write it: a controller of its own, or an adapter that bluetoothd keeps.
package enum AirAddress: Hashable, Sendable {
    case controller(TransportAddress)
    /// `bluez`, `bluez:hci1` or `bluez:00:11:22:33:44:55`.
    case blueZ(AdapterChoice)

    private static let daemon: Substring = "bluez"
    private static let forms = "bluez, bluez:hciN or bluez:ADDRESS"

    /// Reads an address in one of the forms above.
    ///
    /// - Throws: ``TransportError`` of the kind `malformedAddress`, which names the forms.
    package init(parsing text: String) throws(TransportError) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.first == Self.daemon else {
            do throws(TransportError) {
                self = .controller(try TransportAddress(parsing: text))
            } catch {
                throw TransportError(error.kind, "\(error); or, where bluetoothd keeps the adapter, \(Self.forms)")
            }
            return
        }
        guard parts.count == 2 else {
            self = .blueZ(.any)
            return
        }
        guard let choice = Self.adapter(parts[1]) else {
            throw TransportError(
                .malformedAddress,
                "\"\(text)\" is no adapter of bluetoothd's: write \(Self.forms)")
        }
        self = .blueZ(choice)
    }

    private static func adapter(_ text: Substring) -> AdapterChoice? {
        if text.hasPrefix("hci"), UInt16(digits: text.dropFirst(3)) != nil { return .named(String(text)) }
        guard let address = DeviceAddress(String(text)), address.kind == .public else { return nil }
        return .address(address.bits)
    }

    /// Whether it can be opened a second time.
    package var canReopen: Bool {
        switch self {
        case .controller(let address): address.canReopen
        case .blueZ: true
        }
    }
}

extension AirAddress: CustomStringConvertible {
    package var description: String {
        switch self {
        case .controller(let address): "\(address)"
        case .blueZ(.any): "bluez"
        case .blueZ(.named(let name)): "bluez:\(name)"
        case .blueZ(.address(let bits)): "bluez:\(DeviceAddress(kind: .public, bits: bits))"
        }
    }
}
