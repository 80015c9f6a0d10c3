import BluetoothCore
import BluetoothHost
import CoreBluetoothEssentials
import DaemonControl
import FoundationEssentials
import SecurityManager

/// Who this side is, its bonds and its links: what both roles share.
final class SecuritySide: Side {
    private let host: Host

    init(_ host: Host) { self.host = host }

    var commands: [String: Command] {
        [
            "identity": { [unowned self] (_, reply) throws(Refusal) in
                reply.done(["address": .string("\(host.identity.address.address)")])
            },
            "link": { [unowned self] (arguments, reply) throws(Refusal) in
                let link = host.link(of: try arguments.peer("peer"))
                reply.done(["link": link.map { .object(JSONObject($0)) } ?? .null])
            },
            "bonds": { [unowned self] (_, reply) throws(Refusal) in
                reply.done(["bonds": .array(host.bonds.map { .object(JSONObject($0)) })])
            },
            // Says that the other side has shown that it kept the bond.
            "promoteBond": { [unowned self] (arguments, reply) throws(Refusal) in
                host.promoteBond(try bond(arguments))
                reply.done()
            },
            "deleteBond": { [unowned self] (arguments, reply) throws(Refusal) in
                host.deleteBond(try bond(arguments))
                reply.done()
            },
        ]
    }

    private func bond(_ arguments: Arguments) throws(Refusal) -> BondID {
        let name = try arguments.text("bond")
        guard let bond = host.bonds.first(where: { "\($0.id)" == name }) else {
            throw Refusal("there is no bond \(name)")
        }
        return bond.id
    }
}
