import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import DaemonControl
import SecurityManager

/// How a script says by which method to pair.
enum PairingMethods {
    /// As central: `method` with what belongs to it.
    static func request(_ arguments: Arguments) throws(Refusal) -> PairingRequest {
        switch try arguments.text("method") {
        case "passkeyEntry": return .passkeyEntry
        case "outOfBand":
            guard let address = DeviceAddress(try arguments.text("address")) else {
                throw Refusal("`address` is no address")
            }
            var random = try arguments.octets("random")
            return .outOfBand(
                OutOfBandData(
                    address: address, random: Secret(wiping: &random),
                    confirm: try arguments.octets("confirm").reduce(0) { $0 << 8 | UInt128($1) }))
        case let other: throw Refusal("no method of a central is called \(other)")
        }
    }

    /// As peripheral: the window, nil for none, and what is to be handed to the other side.
    static func window(_ arguments: Arguments, _ host: Host) throws(Refusal) -> (PairingWindow?, JSONObject) {
        guard let method = try arguments.optionalText("method") else { return (nil, [:]) }
        let credential = try arguments.text("credential")
        switch method {
        case "passkeyDisplay": return (PairingWindow(method: .passkeyDisplay, credential: credential), [:])
        case "outOfBand":
            let keyPair = P256KeyPair.generate()
            var octets = SystemRandom.bytes(16)
            let shown = octets
            let random = Secret(wiping: &octets)
            let address = host.identity.address.address
            let data = OutOfBandOffer(random: random).data(address: address, publicKey: keyPair.publicKey)
            let confirm = (0..<16).map { UInt8(truncatingIfNeeded: data.confirm >> UInt128(120 - 8 * $0)) }
            return (
                PairingWindow(method: .outOfBand(keyPair: keyPair, random: random), credential: credential),
                ["address": .string("\(address)"), "random": JSONValue(shown), "confirm": JSONValue(confirm)]
            )
        default: throw Refusal("no method of a peripheral is called \(method)")
        }
    }
}
