import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import CoreBluetoothEssentials
import Dispatch
import SecurityManager
import Simulation
import Testing
import WorldSupport

/// A door and a key within reach of each other.
final class Scene {
    let world = World()
    let lock: Node
    let pocket: Node
    var door: Door?
    var key: Key?

    init() {
        lock = world.add("lock", seed: 11)
        pocket = world.add("key", seed: 22)
    }

    func launchDoor() { lock.launchApp { door = Door($0) } }
    func launchKey() { pocket.launchApp { key = Key($0) } }

    /// Until the key has discovered the door.
    func start() throws {
        launchDoor()
        launchKey()
        try #require(world.run { key?.has("characteristics") == true })
    }

    /// Until `condition` holds, for an app that hears on `queue`, which comes to rest between steps of the virtual clock.
    func run(beside queue: DispatchQueue, until condition: () -> Bool) -> Bool {
        for _ in 0..<2_000 {
            world.run(forMilliseconds: 10)
            queue.sync {}
            if condition() { return true }
        }
        return false
    }

    /// Whether the key's disk has a connection that an app has asked for.
    var keepsConnection: Bool { pocket.store.load().restorations.values.contains { !$0.pendingConnections.isEmpty } }

    func killDoor() {
        lock.kill()
        door?.vanish()
        door = nil
    }

    func killKey() {
        pocket.kill()
        key?.vanish()
        key = nil
    }

    func pair() throws {
        let door = try #require(door)
        let key = try #require(key)
        let keyPair = P256KeyPair.generate()
        let random = Secret(Array(1...16))
        door.manager?.setPairingWindow(
            PairingWindow(method: .outOfBand(keyPair: keyPair, random: random), credential: "alice"))
        world.settle()
        let address = try #require(lock.host?.identity.address.address)
        let data = OutOfBandOffer(random: random).data(address: address, publicKey: keyPair.publicKey)
        key.door?.pair(.outOfBand(data), credential: "door")
        try #require(world.run { key.isPaired && door.paired == 1 })
        for machine in [lock, pocket] {
            for bond in machine.host?.bonds ?? [] { machine.host?.promoteBond(bond.id) }
            machine.loop?.execute { _ in }
        }
        world.settle()
    }

    func subscribe() throws {
        let key = try #require(key)
        let notifying = try #require(key.characteristic(Door.notifying))
        key.door?.setNotifyValue(true, for: notifying)
        try #require(world.run { key.has("notify true") })
    }
}
