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
        case "passkeyDisplay": return .passkeyDisplay
        case "numericComparison": return .numericComparison
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
        case "passkeyEntry": return (PairingWindow(method: .passkeyEntry, credential: credential), [:])
        case "numericComparison": return (PairingWindow(method: .numericComparison, credential: credential), [:])
        case "outOfBand":
            let offer = makeOffer()
            let window = PairingWindow(
                method: .outOfBand(keyPair: offer.keyPair, random: offer.random), credential: credential)
            return (window, describe(offer, host))
        default: throw Refusal("no method of a peripheral is called \(method)")
        }
    }

    private static func makeOffer() -> (keyPair: P256KeyPair, random: Secret) {
        var octets = SystemRandom.bytes(16)
        return (P256KeyPair.generate(), Secret(wiping: &octets))
    }

    /// What the other side is to be given out of band.
    static func describe(_ offer: (keyPair: P256KeyPair, random: Secret), _ host: Host) -> JSONObject {
        let address = host.identity.address.address
        let data = OutOfBandOffer(random: offer.random).data(address: address, publicKey: offer.keyPair.publicKey)
        let confirm = (0..<16).map { UInt8(truncatingIfNeeded: data.confirm >> UInt128(120 - 8 * $0)) }
        return [
            "address": .string("\(address)"), "random": offer.random.withBytes { JSONValue($0) },
            "confirm": JSONValue(confirm),
        ]
    }

    // MARK: What the command line says

    static func rules(_ text: String) throws(PeerOptions.Malformed) -> PairingRules {
        var rules = PairingRules(.anybody)
        for rule in text.split(separator: ",") {
            switch rule {
            case "level=2": rules.minimumLevel = 2
            case "level=3": rules.minimumLevel = 3
            case "level=4": rules.minimumLevel = 4
            case "renews": rules.renewsBonds = true
            case "offers": rules.offered = makeOffer()
            case "legacy": rules.legacy = LegacyPairing()
            case "legacyAlone": rules.legacy = LegacyPairing(isAlone: true)
            default: rules.legacy = LegacyPairing(temporaryKey: try temporaryKey(rule))
            }
        }
        return rules
    }

    /// What both sides of a legacy pairing are given out of band.
    private static func temporaryKey(_ rule: Substring) throws(PeerOptions.Malformed) -> Secret {
        let parts = rule.split(separator: "=")
        guard parts.count == 2, parts[0] == "legacyKey", var key = HexText.decode(String(parts[1])), key.count == 16
        else { throw PeerOptions.Malformed(description: "--pairing knows no rule \(rule)") }
        return Secret(wiping: &key)
    }

    static func capability(_ text: String) throws(PeerOptions.Malformed) -> IOCapability {
        switch text {
        case "displayOnly": .displayOnly
        case "displayYesNo": .displayYesNo
        case "keyboardOnly": .keyboardOnly
        case "noInputNoOutput": .noInputNoOutput
        case "keyboardDisplay": .keyboardDisplay
        default: throw PeerOptions.Malformed(description: "--io knows no capability \(text)")
        }
    }
}
