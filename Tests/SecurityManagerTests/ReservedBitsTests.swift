import BluetoothCore
import BluetoothCrypto
import SecurityManager
import Testing

/// A peer of a later specification sets bits that this one reserves: they are ignored, and the pairing goes on.
///
/// Core 5.4, Vol 1, Part E, 2.7 (Responsibility for reserved field values)
@Suite("Reserved bits of a peer, Vol 3 Part H 3.5.1 and 3.6.1")
struct ReservedBitsTests {
    static let models: [AssociationModel] = [.justWorks, .numericComparison, .passkeyEntry, .outOfBand]

    /// A peer whose features carry more than the fixture's, and whose check says so.
    private final class LaterPeer {
        let role: PairingRole
        let model: AssociationModel
        private var features: PairingFeatures?
        private var nonces: [PairingRole: UInt128] = [:]

        init(_ role: PairingRole, _ model: AssociationModel) {
            self.role = role
            self.model = model
        }

        func onTheAir(_ sender: PairingRole, _ pdu: SMPPDU) -> SMPPDU? {
            switch pdu {
            case .pairingRequest(let said) where sender == role: return .pairingRequest(later(said))
            case .pairingResponse(let said) where sender == role: return .pairingResponse(later(said))
            case .pairingRandom(let nonce):
                nonces[sender] = nonce
                return pdu
            case .pairingDHKeyCheck where sender == role: return (try? check()).map { .pairingDHKeyCheck($0) }
            default: return pdu
            }
        }

        private func later(_ said: PairingFeatures) -> PairingFeatures {
            var features = said
            features.authReq.insert(AuthReq(rawValue: 0xE0))
            self.features = features
            return features
        }

        /// Core 5.4, Vol 3, Part H, 2.3.5.6.5 (Authentication stage 2 and long term key calculation)
        private func check() throws -> UInt128 {
            let other: PairingRole = role == .initiator ? .responder : .initiator
            let dhKey = try Fixture.keyPair(role).sharedSecret(with: Fixture.keyPair(other).publicKey)
            let (first, second) = (try #require(nonces[.initiator]), try #require(nonces[.responder]))
            let session = Toolbox.f5(
                dhKey: dhKey, n1: first, n2: second, a1: Fixture.initiatorAddress, a2: Fixture.responderAddress)
            let said = try #require(features)
            let capability =
                UInt32(said.authReq.rawValue) << 16 | UInt32(said.oobDataFlag) << 8
                | UInt32(said.ioCapability.rawValue)
            return Toolbox.f6(
                macKey: session.macKey, n1: role == .initiator ? first : second,
                n2: role == .initiator ? second : first, r: random, ioCapability: capability,
                a1: Fixture.address(role), a2: Fixture.address(other))
        }

        private var random: Secret {
            switch (model, role) {
            case (.passkeyEntry, _): secret("000000000000000000000000000D3DA4")
            case (.outOfBand, .initiator): Fixture.outOfBandRandom
            case (.justWorks, _), (.numericComparison, _), (.outOfBand, .responder):
                Secret([UInt8](repeating: 0, count: 16))
            }
        }
    }

    @Test(
        "3.5.1: AuthReq's reserved bits do not stop a pairing, and go into the check", arguments: PairingRole.allCases,
        models)
    func authReq(_ peer: PairingRole, _ model: AssociationModel) throws {
        var rig = try Rig(model)
        let later = LaterPeer(peer, model)
        rig.onTheAir = later.onTheAir
        rig.run()
        #expect(rig.initiator.error == nil && rig.responder.error == nil)
        let ltk = try #require(rig.initiator.completed).ltk
        #expect(rig.responder.completed?.ltk == ltk)
    }

    @Test("3.6.1: reserved bits of a key distribution are no keys: not agreed to, not waited for, no reason to fail")
    func keyDistribution() throws {
        let reserved = KeyDistribution(rawValue: 0xF0)
        var rig = try Rig(.outOfBand)
        rig.onTheAir = { _, pdu in
            switch pdu {
            case .pairingRequest(var features):
                features.initiatorKeyDistribution.insert(reserved)
                features.responderKeyDistribution.insert(reserved)
                return .pairingRequest(features)
            case .pairingResponse(var features):
                #expect(features.initiatorKeyDistribution == [.idKey, .signKey])
                #expect(features.responderKeyDistribution == [.idKey, .signKey])
                features.initiatorKeyDistribution.insert(reserved)
                features.responderKeyDistribution.insert(reserved)
                return .pairingResponse(features)
            default: return pdu
            }
        }
        rig.run()
        #expect(rig.initiator.error == nil && rig.responder.error == nil)
        #expect(rig.initiator.completed != nil && rig.responder.completed != nil)
    }
}
