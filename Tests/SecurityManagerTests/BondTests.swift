import BluetoothCore
import BluetoothCrypto
import SecurityManager
import Testing

@Suite("Bond")
struct BondTests {
    @Test("Vol 3 Part C 10.2.1: the security level follows model, key size and Secure Connections")
    func securityLevel() {
        func level(_ model: AssociationModel, keySize: UInt8 = 16, secureConnections: Bool = true) -> UInt8 {
            Bond(
                id: BondID(1), identity: nil, ltk: Secret([1]), keySize: keySize, secureConnections: secureConnections,
                model: model, state: .provisional
            ).securityLevel
        }
        #expect(level(.justWorks) == 2)
        #expect(level(.outOfBand) == 4)
        #expect(level(.passkeyEntry) == 4)
        #expect(level(.numericComparison) == 4)
        #expect(level(.outOfBand, keySize: 15) == 3)
        #expect(level(.outOfBand, secureConnections: false) == 3)
    }

    @Test("A bond's identifier fits a signed 64-bit column")
    func identifier() {
        #expect(BondID(random: .max).rawValue == .max)
        #expect(BondID(random: 5).rawValue == 5)
    }
}
