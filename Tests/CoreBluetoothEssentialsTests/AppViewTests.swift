import ATT
import BluetoothCore
import BluetoothHost
import Dispatch
import FoundationEssentials
import GATT
import Simulation
import Testing
import WorldSupport

@testable import CoreBluetoothEssentials

@Suite("What an app sees is what stands", .capturesFailures)
struct AppViewTests {
    // MARK: Central

    @Test("Writes without response that are made while the adapter is away take no room from later ones")
    func writesWithoutAdapter() throws {
        let scene = Scene()
        try scene.start()
        let key = try #require(scene.key)
        let door = try #require(key.door)
        let writable = try #require(key.characteristic(Door.writable))
        scene.pocket.loseController()
        try #require(key.manager?.state == .resetting && key.has("disconnected failed"))
        for _ in 0...CommandBudget.maximumWaiting { door.writeValue(Data([7]), for: writable, type: .withoutResponse) }
        #expect(door.canSendWriteWithoutResponse)
        #expect(scene.world.run { key.count("characteristics") == 2 })
        #expect(scene.door?.has("write 1") == false)
        door.writeValue(Data([8]), for: writable, type: .withoutResponse)
        #expect(scene.world.run { scene.door?.has("write 1") == true })
        #expect(scene.door?.requests.map(\.value) == [Data([8])])
    }
}
