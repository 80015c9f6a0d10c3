import BluetoothCore
import BluetoothHost
import CoreBluetooth
import Testing

@testable import CoreBluetoothEssentials

/// What apps use of `NSObject` with Apple's classes.
@Suite("Objects of Apple's classes")
struct ObjectTests {
    /// An app's own protocol, as tests of apps have it.
    fileprivate protocol Named: NSObjectProtocol {
        var name: String? { get }
    }

    private let central = CBCentralManager(callbacks: nil, delivery: .inline, host: CBHost(NoLoop()))

    private func peripheral(_ number: UInt128, name: String?) -> CBPeripheral {
        CBPeripheral(PeerIdentifier(bits: number), name: name, core: central.core)
    }

    @Test("isEqual and hash go with ==, for objects and for values")
    func equality() {
        let (door, other) = (peripheral(1, name: "Door"), peripheral(1, name: "Door"))
        #expect(door.isEqual(door) && !door.isEqual(other) && !door.isEqual(nil) && !door.isEqual("Door"))
        #expect(door.hash == door.hashValue && !door.isProxy())
        let uuid = CBUUID(string: "180D")
        #expect(uuid.isEqual(CBUUID(string: "0000180D")) && uuid.hash == CBUUID(string: "0000180D").hash)
        #expect(!uuid.isEqual(CBUUID(string: "180F")) && !uuid.isEqual(door))
    }

    @Test("A description names the class and what tells its objects apart")
    func descriptions() {
        let characteristic = CBMutableCharacteristic(
            type: CBUUID(string: "2A37"), properties: [.read, .notify], value: nil, permissions: .readable)
        let request = CBATTRequest(
            central: CBCentral(PeerIdentifier(bits: 2), backlog: Backlog(within: nil)), characteristic: characteristic,
            offset: 3, value: nil, path: nil, answer: CBATTRequest.Answer(nil))
        let described: [(any NSObjectProtocol, String)] = [
            (central, "<CBCentralManager, state = unknown>"),
            (
                peripheral(1, name: "Door"),
                "<CBPeripheral, identifier = 00000000-0000-0000-0000-000000000001, name = Door, state = disconnected>"
            ),
            (request.central, "<CBCentral, identifier = 00000000-0000-0000-0000-000000000002>"),
            (
                CBMutableService(type: CBUUID(string: "180D"), primary: true),
                "<CBMutableService, isPrimary = true, UUID = 180D>"
            ),
            (characteristic, "<CBMutableCharacteristic, UUID = 2A37, properties = 0x12>"),
            (CBMutableDescriptor(type: CBUUID(string: "2901"), value: "Pulse"), "<CBMutableDescriptor, UUID = 2901>"),
            (
                request,
                "<CBATTRequest, central = 00000000-0000-0000-0000-000000000002, UUID = 2A37, offset = 3>"
            ),
            // Apple's is the text alone, which apps print and compare.
            (CBUUID(string: "180D"), "180D"),
        ]
        for (object, text) in described {
            #expect(object.description == text)
            #expect(object.debugDescription == text)
            #expect("\(object)" == text)
        }
    }

    @Test("Foundation's collections compare them as Swift's do")
    func collections() {
        let list = NSMutableArray(array: [CBUUID(string: "180D"), peripheral(1, name: nil)])
        #expect(list.contains(CBUUID(string: "0000180D")) && !list.contains(CBUUID(string: "180F")))
        #expect(list.index(of: peripheral(1, name: nil)) == NSNotFound)
        let set = NSMutableSet(array: [CBUUID(string: "180D"), CBUUID(string: "0000180D")])
        #expect(set.count == 1)
    }

    @Test("A protocol of the app's that refines NSObjectProtocol takes them")
    func refined() {
        let named: any Named = peripheral(1, name: "Door")
        #expect(named.name == "Door")
    }
}

extension CBPeripheral: ObjectTests.Named {}
