import ATT
import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import GATT
import SecurityManager
import Simulation
import Testing
import VirtualRadio
import WorldSupport

/// A lock's host with one confirmed bond, whose rightful owner is switched off: everything that comes now is an attack.
final class Fortress {
    let scene: HostScenarioTests.Scene
    let bond: Bond
    /// A 0xD2 that the owner sent and the lock took, as it lay in the air.
    let recorded: [UInt8]
    let vault: PublishedService

    static let vaultService: BluetoothUUID = 0xFFE0

    private static let vaultDefinition = ServiceDefinition(
        uuid: vaultService,
        characteristics: [
            CharacteristicDefinition(
                uuid: 0xFFE1, properties: .read, access: AttributeAccess(read: .encryptedAuthenticated)),
            CharacteristicDefinition(
                uuid: 0xFFE2, properties: [.notify, .indicate],
                access: AttributeAccess(subscribe: .encryptedAuthenticated)),
        ])

    init(linksMaximum: Int = 8, hardware: ControllerConfiguration = ControllerConfiguration()) throws {
        scene = HostScenarioTests.Scene(hardware: hardware)
        scene.lock.configuration.linksMaximum = linksMaximum
        scene.start()
        let app = try #require(scene.peripheral)
        var vault: PublishedService?
        scene.lock.call { vault = try? $0.publish(app.manager, Self.vaultDefinition) }
        self.vault = try #require(vault)
        try scene.connect()
        try scene.pairOutOfBand()
        scene.promote()
        scene.dropLink()
        try scene.connect()
        let writable = try #require(scene.published).characteristics[1].value
        guard
            case .success(.signed) = try scene.perform(.signedWriteWithoutResponse(writable, [1, 2, 3, 4, 5, 6, 7, 8]))
        else {
            throw Failure.notSigned
        }
        let peripheral = try #require(scene.peripheral)
        #expect(scene.world.run(forMilliseconds: 2_000) { peripheral.writes.count == 1 })
        recorded = try #require(scene.key.signedWrites.last)
        bond = try #require(scene.lock.host?.bonds.first)
        // The owner goes far away, with a clean end of the link.
        scene.dropLink()
        scene.key.kill()
        scene.world.run(forMilliseconds: 200)
    }

    enum Failure: Error { case notSigned }

    var world: World { scene.world }
    var lock: Node { scene.lock }

    func app() throws -> PeripheralApp { try #require(scene.peripheral) }
    /// Where it is on the air now: for whoever comes to attack it must be somewhere.
    func lockAddress() throws -> DeviceAddress { try #require(lock.host?.addressOnAir) }
    func ownerAddress() throws -> DeviceAddress { try #require(bond.identity?.address) }
    func writable() throws -> AttributeHandle { try #require(scene.published).characteristics[1].value }

    /// The name that apps on the lock know the owner by.
    var ownerName: PeerIdentifier? {
        var name: PeerIdentifier?
        lock.call { host in name = (try? ownerAddress()).map { host.peer(at: $0) } }
        return name
    }

    func impostor() throws -> RawPeer { RawPeer(world, address: try ownerAddress()) }

    func stranger(_ number: UInt64 = 1) -> RawPeer {
        RawPeer(world, address: DeviceAddress(kind: .random, bits: 0xC0DE_0000_0000 | number))
    }

    /// A signed write as only the bond's owner, or a test, can make it.
    func signed(counter: UInt32, value: [UInt8]) throws -> [UInt8] {
        let csrk = try #require(bond.remoteCSRK)
        let handle = try writable().rawValue
        let message = [0xD2, UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)] + value
        let counterOctets = (0..<4).map { UInt8(truncatingIfNeeded: counter >> (8 * UInt32($0))) }
        return message + counterOctets + DataSigning(csrk: csrk).signature(message: message, signCounter: counter)
    }
}

extension Node {
    /// The Signed Write Commands that left, each in one packet.
    var signedWrites: [[UInt8]] {
        sent.filter { $0.count > 9 && $0[0] == 2 && $0[7] == 4 && $0[8] == 0 && $0[9] == 0xD2 }.map { Array($0[9...]) }
    }

    var lastCounter: UInt32? { store.load().bonds.first?.lastRemoteSignCounter }
}
