import SecurityManager
import Testing

/// Core 5.4, Vol 3, Part H, 2.3.5.1 (Selecting key generation method), Tables 2.7 and 2.8
@Suite("Selecting the association model, Vol 3 Part H 2.3.5.1")
struct AssociationModelTests {
    static let capabilities: [IOCapability] = [
        .displayOnly, .displayYesNo, .keyboardOnly, .noInputNoOutput, .keyboardDisplay,
    ]

    /// Rows: responder; columns: initiator, both in the order of ``capabilities``. J Just Works, P passkey, N numeric.
    static let table: [(responder: IOCapability, models: String)] = [
        (.displayOnly, "JJPJP"),
        (.displayYesNo, "JNPJN"),
        (.keyboardOnly, "PPPJP"),
        (.noInputNoOutput, "JJJJJ"),
        (.keyboardDisplay, "PNPJN"),
    ]

    private func features(_ capability: IOCapability, oob: UInt8 = 0, mitm: Bool = true) -> PairingFeatures {
        PairingFeatures(
            ioCapability: capability, oobDataFlag: oob,
            authReq: mitm ? [.bonding, .mitm, .secureConnections] : [.bonding, .secureConnections],
            initiatorKeyDistribution: [], responderKeyDistribution: [])
    }

    @Test("Table 2.8: all 25 pairs of capabilities")
    func ioCapabilities() {
        for row in Self.table {
            for (initiator, letter) in zip(Self.capabilities, row.models) {
                let expected: AssociationModel =
                    switch letter {
                    case "N": .numericComparison
                    case "P": .passkeyEntry
                    default: .justWorks
                    }
                #expect(
                    AssociationModel.selected(request: features(initiator), response: features(row.responder))
                        == expected, "\(initiator) \(row.responder)")
            }
        }
    }

    @Test("Table 2.7: one out-of-band flag is enough; without MITM on either side it is Just Works")
    func flags() {
        let keyboard = features(.keyboardDisplay)
        for (a, b) in [(UInt8(1), UInt8(0)), (0, 1), (1, 1)] {
            let model = AssociationModel.selected(
                request: features(.noInputNoOutput, oob: a), response: features(.noInputNoOutput, oob: b))
            #expect(model == .outOfBand)
        }
        let careless = features(.keyboardDisplay, mitm: false)
        #expect(AssociationModel.selected(request: careless, response: careless) == .justWorks)
        #expect(AssociationModel.selected(request: careless, response: keyboard) == .numericComparison)
        #expect(AssociationModel.selected(request: keyboard, response: careless) == .numericComparison)
    }
}
