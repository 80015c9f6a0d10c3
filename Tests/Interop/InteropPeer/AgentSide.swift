import BluetoothHost
import CoreBluetoothEssentials
import DaemonControl
import FoundationEssentials
import SecurityManager

/// The user of pairings that nothing pins, and the answers to every question that a pairing asks.
final class AgentSide: Side {
    private let host: Host
    private let voice: Voice
    let ioCapability: IOCapability

    /// With a capability the script is asked; without one nobody is.
    init(_ host: Host, _ voice: Voice, _ ioCapability: IOCapability?) {
        self.host = host
        self.voice = voice
        self.ioCapability = ioCapability ?? .noInputNoOutput
        if ioCapability != nil { host.setPairingAgent(self) }
    }

    var commands: [String: Command] {
        [
            // One of `consent`, `equal`, `passkey`, or none to refuse.
            "answerPairing": { [unowned self] (arguments, reply) throws(Refusal) in
                let link = try link(arguments)
                if let consent = arguments["consent"]?.bool {
                    host.answerPairing(link, .consent(consent))
                } else if let equal = arguments["equal"]?.bool {
                    host.answerPairing(link, .numbersAreEqual(equal))
                } else if let passkey = try arguments.optionalNumber("passkey") {
                    host.answerPairing(link, .passkey(UInt32(clamping: passkey)))
                } else {
                    host.answerPairing(link, .refusal)
                }
                reply.done()
            },
            "requestSecurity": { [unowned self] (arguments, reply) throws(Refusal) in
                host.requestSecurity(try link(arguments))
                reply.done()
            },
            "offered": { [unowned self] (_, reply) throws(Refusal) in
                guard let offer = host.configuration.pairing.offered else { throw Refusal("nothing is offered") }
                reply.done(PairingMethods.describe(offer, host))
            },
        ]
    }

    private func link(_ arguments: Arguments) throws(Refusal) -> LinkID {
        guard let link = host.link(of: try arguments.peer("peer")) else { throw Refusal("`peer` has no link") }
        return link.link
    }
}

extension AgentSide: PairingAgent {
    private func tell(_ event: String, _ link: LinkInfo, _ fields: JSONObject = [:]) {
        var told: JSONObject = ["peer": .string(UUID(link.peer).uuidString)]
        for member in fields.members { told[member.name] = member.value }
        voice.event(event, told)
    }

    func consentRequested(_ link: LinkInfo, model: AssociationModel?) {
        tell("agentConsent", link, ["model": model.map { .string("\($0)") } ?? .null])
    }

    func numericComparisonRequested(_ link: LinkInfo, value: UInt32) {
        tell("agentCompare", link, ["number": JSONValue(value)])
    }

    func displayPasskey(_ link: LinkInfo, passkey: UInt32) {
        tell("agentDisplay", link, ["passkey": JSONValue(passkey)])
    }

    func passkeyRequested(_ link: LinkInfo) { tell("agentPasskey", link) }

    func pairingEnded(_ link: LinkInfo, result: Result<BondID, HostError>) {
        switch result {
        case .success(let bond): tell("agentEnded", link, ["bond": .string("\(bond)"), "error": .null])
        case .failure(let error): tell("agentEnded", link, ["bond": .null, "error": JSONValue(error: error)])
        }
    }
}
