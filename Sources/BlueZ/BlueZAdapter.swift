import BluetoothCore
import DBus

/// An adapter, as bluetoothd has it.
///
/// BlueZ, doc/adapter-api.txt
struct BlueZAdapter: Hashable, Sendable {
    let path: String
    private(set) var address: DeviceAddress?
    private(set) var isPowered = false

    init(path: String, _ properties: [String: DBusValue]) {
        self.path = path
        take(properties)
    }

    mutating func take(_ properties: [String: DBusValue]) {
        if let address = properties["Address"]?.text {
            let isRandom = (properties["AddressType"]?.text ?? "public") == "random"
            self.address = DeviceAddress(isRandom ? address + "/random" : address)
        }
        isPowered = properties["Powered"]?.flag ?? isPowered
    }

    /// `hci1`
    var name: Substring { path.dropFirst(BlueZName.root.count + 1) }
    /// The kernel's.
    var number: UInt16 { UInt16(digits: name.dropFirst(3)) ?? 0 }
}

/// Which adapter of bluetoothd's is meant.
package enum AdapterChoice: Hashable, Sendable {
    /// The first one that is powered, else the first one.
    case any
    /// By the kernel's name, as `hci1`, which the next one that is plugged in may have.
    case named(String)
    /// By the address that it has wherever it is plugged in.
    case address(UInt64)

    /// Behind "adapter".
    var wording: String {
        switch self {
        case .any: ""
        case .named(let name): " \(name)"
        case .address(let bits): " of the address \(DeviceAddress(kind: .public, bits: bits))"
        }
    }

    func chosen(of adapters: some Sequence<BlueZAdapter>) -> BlueZAdapter? {
        let sorted = adapters.sorted {
            $0.path.utf8.count != $1.path.utf8.count ? $0.path.utf8.count < $1.path.utf8.count : $0.path < $1.path
        }
        return switch self {
        case .any: sorted.first(where: \.isPowered) ?? sorted.first
        case .named(let name): sorted.first { $0.name == name }
        case .address(let bits): sorted.first { $0.address?.bits == bits }
        }
    }
}
