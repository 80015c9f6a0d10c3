import BluetoothCore
import CBlueZ
import Glibc

/// Which of the kernel's adapters is meant. A number goes to whichever adapter comes first, and may be another's behind the next
/// boot. An adapter's own address, and the port that it is plugged into, stay.
package enum AdapterName: Hashable, Sendable {
    /// `0` for hci0.
    case number(UInt16)
    /// `00:1A:7D:DA:71:13`: the adapter's public address.
    case address(DeviceAddress)
    /// `usb-1-1.2`: a USB port by the kernel's name for it.
    case port(String)

    private static let portPrefix = "usb-"

    /// nil where the text is in none of these forms.
    init?(_ text: Substring) {
        if text.hasPrefix(Self.portPrefix) {
            let port = text.dropFirst(Self.portPrefix.count)
            let isName = port.utf8.allSatisfy { octet in
                switch octet {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."): true
                default: false
                }
            }
            guard isName, port.contains("-") else { return nil }
            self = .port(String(port))
        } else if let number = UInt16(digits: text) {
            guard number != .max else { return nil }
            self = .number(number)
        } else {
            // An adapter whose address nobody has set says zero.
            guard let address = DeviceAddress(String(text)), address.kind == .public, address.bits != 0 else {
                return nil
            }
            self = .address(address)
        }
    }

    /// The number that the adapter has now; nil where it is not plugged in.
    func number(among adapters: KernelAdapters) -> UInt16? {
        switch self {
        case .number(let number): number
        case .address(let address): adapters.numbers().first { adapters.address($0) == address }
        case .port(let port): adapters.numbers().first { adapters.port($0) == port }
        }
    }
}

extension AdapterName: CustomStringConvertible {
    package var description: String {
        switch self {
        case .number(let number): "\(number)"
        case .address(let address): "\(address)"
        case .port(let port): Self.portPrefix + port
        }
    }
}

/// What the kernel says of the adapters that are plugged in.
struct KernelAdapters {
    static let folder = "/sys/class/bluetooth"

    var folder = Self.folder
    /// Adapter N's public address; nil where there is none.
    var address: (UInt16) -> DeviceAddress?

    /// Asked through a socket of AF_BLUETOOTH.
    init(asking socket: Int32) {
        address = { number in
            var bits: UInt64 = 0
            guard latch_hci_address(socket, number, &bits) == 0, bits != 0 else { return nil }
            return DeviceAddress(kind: .public, bits: bits)
        }
    }

    init(in folder: String = Self.folder, address: @escaping (UInt16) -> DeviceAddress? = { _ in nil }) {
        self.folder = folder
        self.address = address
    }

    /// Least number first.
    func numbers() -> [UInt16] {
        guard let entries = opendir(folder) else { return [] }
        defer { closedir(entries) }
        var numbers: [UInt16] = []
        while let entry = readdir(entries) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { octets in
                String(decoding: octets.prefix { $0 != 0 }, as: UTF8.self)
            }
            // A link over hci0 is `hci0:64` there.
            guard name.hasPrefix("hci"), let number = UInt16(name.dropFirst(3)) else { continue }
            numbers.append(number)
        }
        return numbers.sorted()
    }

    /// `1-1.2`, where adapter N is a USB device's interface `1-1.2:1.0`; nil for other buses.
    func port(_ number: UInt16) -> String? {
        var octets = [CChar](repeating: 0, count: Int(PATH_MAX))
        let length = readlink("\(folder)/hci\(number)/device", &octets, octets.count)
        guard length > 0 else { return nil }
        let path = String(decoding: octets.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard let interface = path.split(separator: "/").last else { return nil }
        let parts = interface.split(separator: ":", omittingEmptySubsequences: false)
        return parts.count == 2 ? String(parts[0]) : nil
    }
}
