import CoreBluetooth
import Testing

/// What Apple deprecates compiles as there. The suite is deprecated itself, so that no compiler warns of what it uses.
@Suite("What former systems had")
struct FormerSymbolTests {
    private protocol Former { func check() }

    private struct Symbols: Former {
        @available(*, deprecated)
        func check() {
            #expect(CBPeripheralManager.authorizationStatus() == .authorized)
            #expect(CBCentralManagerState.poweredOn.rawValue == CBManagerState.poweredOn.rawValue)
            #expect(CBPeripheralManagerState.resetting.rawValue == CBManagerState.resetting.rawValue)
            #expect(CBError.unkownDevice == .unknownDevice && CBError.Code.unkownDevice.rawValue == 12)
            let value = CBMutableCharacteristic(
                type: CBUUID(string: CBUUIDL2CAPPSMCharacteristicString), properties: .read, value: nil,
                permissions: .readable)
            #expect(!value.isBroadcasted)
        }
    }

    @Test("Authorisation, states, misspelt codes and broadcasts")
    func symbols() {
        let former: any Former = Symbols()
        former.check()
    }

    @Test("Descriptors that came later have their numbers")
    func descriptors() {
        #expect(CBUUID(string: CBUUIDCharacteristicValidRangeString).data == Data([0x29, 0x06]))
        #expect(CBUUID(string: CBUUIDCharacteristicObservationScheduleString).data == Data([0x29, 0x10]))
    }
}
