import BluetoothHost
import HCITransport
import SecurityManager

/// What the command line says.
struct PeerOptions {
    struct Malformed: Error, CustomStringConvertible {
        let description: String
    }

    let transport: TransportAddress
    let database: String
    let restoreIdentifier: String?
    let deviceName: String
    let mtu: Int
    let capture: String?
    let pairing: PairingRules
    let ioCapability: IOCapability?

    init(_ arguments: [String]) throws {
        var values: [String: String] = [:]
        var rest = arguments[...]
        while let option = rest.popFirst() {
            guard Self.known.contains(option), let value = rest.popFirst() else {
                throw Malformed(description: "option `\(option)` is unknown, or has no value")
            }
            values[option] = value
        }
        guard let transport = values["--transport"], let database = values["--database"] else {
            throw Malformed(description: "--transport ADDRESS and --database FILE are needed")
        }
        self.transport = try TransportAddress(parsing: transport)
        self.database = database
        restoreIdentifier = values["--restore"]
        deviceName = values["--name"] ?? "Latch peer"
        guard let mtu = Int(values["--mtu"] ?? "247"), Self.mtuOctets.contains(mtu) else {
            throw Malformed(description: "--mtu takes \(Self.mtuOctets)")
        }
        self.mtu = mtu
        capture = values["--capture"]
        pairing = try values["--pairing"].map { try PairingMethods.rules($0) } ?? .refused
        ioCapability = try values["--io"].map { try PairingMethods.capability($0) }
    }

    private static let known: Set = [
        "--transport", "--database", "--restore", "--name", "--mtu", "--capture", "--pairing", "--io",
    ]

    /// Core 5.4, Vol 3, Part F, 3.2.8 (Exchanging MTU Size), and the longest value with its opcode and offset.
    private static let mtuOctets = 23...517
}
