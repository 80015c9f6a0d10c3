import Dispatch
import FoundationEssentials
import HCI
import Simulation
import Synchronization
import Testing
import WorldSupport

@testable import CoreBluetoothEssentials

@Suite("Attack: peers that never stop, and an app whose queue stands still", .capturesFailures)
struct StandstillTests {
    private let world = World()
    private let lock: Node
    private let pocket: Node
    private let queue = DispatchQueue(label: "app")

    init() {
        lock = world.add("lock", seed: 31)
        pocket = world.add("key", seed: 32)
    }

    private func run(until condition: () -> Bool) -> Bool {
        for _ in 0..<2_000 {
            world.run(forMilliseconds: 10)
            queue.sync {}
            if condition() { return true }
        }
        return false
    }

    /// A key on a queue, connected to a door and subscribed to its notifications.
    private func subscribed() throws -> (Door, Key, CBMutableCharacteristic) {
        var door: Door?
        var key: Key?
        lock.launchApp { door = Door($0) }
        pocket.launchApp { key = Key($0, queue: queue) }
        let (theDoor, theKey) = (try #require(door), try #require(key))
        #expect(run { theKey.has("characteristics") })
        queue.async {
            guard let notifying = theKey.characteristic(Door.notifying) else { return }
            theKey.door?.setNotifyValue(true, for: notifying)
        }
        #expect(run { theKey.has("notify true") })
        return (theDoor, theKey, try #require(theDoor.characteristic(Door.notifying)))
    }

    /// A door on a queue, connected to a key that has discovered it.
    private func discovered() throws -> (Door, Key) {
        var door: Door?
        var key: Key?
        lock.launchApp { door = Door($0, queue: queue) }
        pocket.launchApp { key = Key($0) }
        let (theDoor, theKey) = (try #require(door), try #require(key))
        #expect(run { theKey.has("characteristics") })
        return (theDoor, theKey)
    }

    @Test("Notifications: as many as the bound are kept for the app, the others are lost, and the link stands")
    func notifications() throws {
        let (theDoor, theKey, notifying) = try subscribed()
        let before = theKey.values.count
        queue.suspend()
        var sent = 0
        while sent <= Backlog.callbacksMaximum {
            if theDoor.manager?.updateValue(Data([7]), for: notifying, onSubscribedCentrals: nil) == true { sent += 1 }
            world.run(forMilliseconds: 10)
        }
        world.run(forMilliseconds: 10_000)
        queue.resume()
        queue.sync {}
        #expect(theKey.values.count - before == Backlog.callbacksMaximum)
        #expect(theDoor.manager?.updateValue(Data([8]), for: notifying, onSubscribedCentrals: nil) == true)
        #expect(run { theKey.values.last == Data([8]) })
    }

    @Test(
        "A peer whose services change when no more is kept of it for the app: that is told all the same, and its link ends"
    )
    func servicesChanged() throws {
        let (theDoor, theKey, notifying) = try subscribed()
        let backlog = try #require(theKey.door).backlog
        queue.suspend()
        while !backlog.isFull {
            _ = theDoor.manager?.updateValue(Data([7]), for: notifying, onSubscribedCentrals: nil)
            world.run(forMilliseconds: 10)
        }
        theDoor.manager?.removeAllServices()
        #expect(world.run(forMilliseconds: 5_000) { theDoor.links == 0 })
        queue.resume()
        #expect(run { theKey.has("modified [\"FFF0\"]") && theKey.has("disconnected failed") })
        #expect(theKey.count("modified [\"FFF0\"]") == 1 && theKey.door?.services == [])
    }

    @Test("A subscriber that takes nothing holds up its own updates; those for another pass them")
    func deafSubscriber() throws {
        let other = world.add("other", seed: 33)
        var (door, deafKey, key): (Door?, Key?, Key?)
        lock.launchApp { door = Door($0, queue: queue) }
        pocket.launchApp { deafKey = Key($0) }
        let theDoor = try #require(door)
        #expect(run { deafKey?.has("characteristics") == true })
        var deafHandle: [UInt8]?
        lock.wire.withholds = { packet in
            // Number Of Completed Packets of the first link, which is the only one by now.
            guard packet.count == 8, packet[1] == 0x13 else { return false }
            deafHandle = deafHandle ?? Array(packet[4..<6])
            return deafHandle == Array(packet[4..<6])
        }
        deafKey?.door?.setNotifyValue(true, for: try #require(deafKey?.characteristic(Door.notifying)))
        #expect(run { deafKey?.has("notify true") == true })
        other.launchApp { key = Key($0) }
        let theKey = try #require(key)
        #expect(run { theKey.has("characteristics") })
        theKey.door?.setNotifyValue(true, for: try #require(theKey.characteristic(Door.notifying)))
        #expect(run { theKey.has("notify true") && theDoor.centrals.count == 2 })
        let manager = try #require(theDoor.manager)
        let notifying = try #require(theDoor.characteristic(Door.notifying))
        /// As the app does, on its queue's own thread.
        func update(_ value: UInt8, _ central: CBCentral) {
            queue.async {
                _ = manager.updateValue(Data([value]), for: notifying, onSubscribedCentrals: [central])
            }
            queue.sync {}
            world.run(forMilliseconds: 1)
        }
        var count = 0
        while manager.core.waiting.isEmpty, count < 5_000 {
            update(1, theDoor.centrals[0])
            count += 1
        }
        #expect(manager.core.waiting.count == 1)
        update(9, theDoor.centrals[1])
        #expect(run { theKey.values.last == Data([9]) })
        #expect(manager.core.waiting.count == 1 && theDoor.links == 2)
    }

    @Test("An app that was refused an update hears of room when those that wait go with their service")
    func updatesThatGo() throws {
        let (theDoor, theKey) = try discovered()
        theKey.door?.setNotifyValue(true, for: try #require(theKey.characteristic(Door.notifying)))
        #expect(run { theKey.has("notify true") })
        // Number Of Completed Packets: the key takes nothing any more.
        lock.wire.withholds = { $0.count > 1 && $0[1] == 0x13 }
        let manager = try #require(theDoor.manager)
        let notifying = try #require(theDoor.characteristic(Door.notifying))
        let taken = Mutex(true)
        for _ in 0..<5_000 where taken.withLock({ $0 }) {
            // As the app does, on its queue's own thread.
            queue.async {
                let isTaken = manager.updateValue(Data([1]), for: notifying, onSubscribedCentrals: nil)
                taken.withLock { $0 = isTaken }
            }
            queue.sync {}
            world.run(forMilliseconds: 1)
        }
        #expect(manager.core.waiting.count == UpdateBudget.maximumWaiting && !theDoor.has("ready"))
        manager.removeAllServices()
        world.settle()
        queue.sync {}
        #expect(theDoor.log.count { $0 == "ready" } == 1 && theDoor.links == 1)
        #expect(manager.core.waiting.isEmpty)
    }

    @Test(
        "A central that never stops subscribing loses its link, and the app counts neither it nor its links afterwards"
    )
    func subscriptions() throws {
        let (theDoor, theKey) = try discovered()
        let notifying = try #require(theKey.characteristic(Door.notifying))
        let backlog = try #require(theDoor.centrals.first).backlog
        queue.suspend()
        while !backlog.isFull {
            let told = theKey.count("notify true") + theKey.count("notify false")
            theKey.door?.setNotifyValue(!notifying.isNotifying, for: notifying)
            world.run(forMilliseconds: 5_000) { theKey.count("notify true") + theKey.count("notify false") > told }
        }
        theKey.door?.setNotifyValue(!notifying.isNotifying, for: notifying)
        #expect(world.run(forMilliseconds: 5_000) { theKey.has("disconnected failed") })
        let disconnect = try #require(lock.sent.last { $0.starts(with: [1, 0x06, 0x04]) })
        #expect(disconnect.last == HCIErrorCode.remoteDeviceTerminatedLowResources.rawValue)
        // Its next link comes while nothing more is kept of it: neither its beginning nor its end.
        let again = try #require(theKey.door)
        theKey.manager?.connect(again)
        #expect(world.run(forMilliseconds: 20_000) { theKey.count("connected") == 2 })
        theKey.manager?.cancelPeripheralConnection(again)
        #expect(world.run(forMilliseconds: 5_000) { theKey.has("disconnected") })
        queue.resume()
        #expect(run { theDoor.links == 0 && theDoor.centrals.count == 1 })
        #expect(theDoor.log.count { $0 == "subscribed FFF3" } == theDoor.log.count { $0 == "unsubscribed FFF3" })
        #expect(theDoor.characteristic(Door.notifying)?.subscribedCentrals == [])
    }

    @Test(
        "Advertisers that are never silent are lost beyond their bound, and take nothing from a peer that is connected")
    func advertisers() throws {
        let (theDoor, theKey, notifying) = try subscribed()
        let other = world.add("other", seed: 33)
        var hawker: Door?
        other.launchApp { hawker = Door($0) }
        queue.sync {
            theKey.manager?.scanForPeripherals(
                withServices: [Door.service], options: [CBCentralManagerScanOptionAllowDuplicatesKey: true])
        }
        #expect(run { hawker?.has("advertising") == true && theKey.count("discovered") > 1 })
        let core = try #require(theKey.door).core
        queue.suspend()
        let before = theKey.count("discovered")
        #expect(world.run(forMilliseconds: 300_000) { core.discoveriesBacklog.isFull })
        world.run(forMilliseconds: 1_000)
        #expect(theDoor.manager?.updateValue(Data([9]), for: notifying, onSubscribedCentrals: nil) == true)
        world.run(forMilliseconds: 1_000)
        queue.resume()
        queue.sync {}
        #expect(theKey.count("discovered") - before == Backlog.discoveriesMaximum)
        #expect(theKey.values.last == Data([9]))
    }

    @Test(
        "Commands are dropped beyond the bound, a request is refused for want of resources, and later ones are answered"
    )
    func writes() throws {
        let (theDoor, theKey) = try discovered()
        let writable = try #require(theKey.characteristic(Door.writable))
        queue.suspend()
        for _ in 0...Backlog.callbacksMaximum {
            while theKey.door?.canSendWriteWithoutResponse == false { world.run(forMilliseconds: 10) }
            theKey.door?.writeValue(Data([7]), for: writable, type: .withoutResponse)
            world.run(forMilliseconds: 10)
        }
        theKey.door?.writeValue(Data([8]), for: writable, type: .withResponse)
        #expect(world.run(forMilliseconds: 5_000) { theKey.has("written failed") })
        #expect((theKey.errors.last as? CBATTError)?.code == .insufficientResources)
        queue.resume()
        queue.sync {}
        #expect(theDoor.requests.count == Backlog.callbacksMaximum)
        theKey.door?.writeValue(Data([9]), for: writable, type: .withResponse)
        #expect(run { theKey.has("written") })
    }
}
