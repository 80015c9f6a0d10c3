import BluetoothHost
import Dispatch
import FoundationEssentials
import Simulation
import Testing
import WorldSupport

@testable import CoreBluetoothEssentials

/// A central app on a queue that its test holds up. It writes down what it hears, and what it sees then.
private final class Walker: CBCentralManagerCallbacks, @unchecked Sendable {
    private(set) var manager: CBCentralManager?
    private(set) var log: [String] = []
    private(set) var met: CBPeripheral?
    private(set) var names: [String?] = []

    init(_ host: CBHost, queue: DispatchQueue) {
        manager = CBCentralManager(callbacks: self, delivery: .queue(queue), host: host)
    }

    func has(_ line: String) -> Bool { log.contains(line) }
    func clear() { (log, names) = ([], []) }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {}
    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: Int
    ) {
        met = met ?? peripheral
        names.append(advertisementData[CBAdvertisementDataLocalNameKey] as? String)
    }
    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        log.append("connected, \(peripheral.state)")
    }
    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, timestamp: Double,
        isReconnecting: Bool, error: (any Error)?
    ) { log.append("disconnected, \(isReconnecting ? "reconnecting" : "over"), \(peripheral.state)") }
}

/// A peripheral app that wants its adapter as Apple's systems have it, and does as its test says.
private final class Sign: CBPeripheralManagerCallbacks, @unchecked Sendable {
    private(set) var manager: CBPeripheralManager?
    private(set) var log: [String] = []

    init(_ host: CBHost, queue: DispatchQueue) {
        manager = CBPeripheralManager(
            callbacks: self, delivery: .queue(queue), options: [CBManagerOptionEndsWithPowerKey: true], host: host)
    }

    func takeLog() -> [String] {
        defer { log = [] }
        return log
    }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) { log.append("\(peripheral.state)") }
    func peripheralManagerDidStartAdvertising(_ peripheral: CBPeripheralManager, error: (any Error)?) {
        log.append(error.map { ($0 as? CBError)?.code == .operationCancelled ? "cancelled" : "\($0)" } ?? "advertising")
    }
}

/// Calls on one thread, the loop on another, and callbacks on a queue: each may be behind the others, and what the app sees comes out
/// right.
@Suite("What an app sees, with calls and callbacks that cross", .capturesFailures)
struct CallbackOrderTests {
    private let world = World()
    private let lock: Node
    private let pocket: Node
    private let queue = DispatchQueue(label: "app")

    init() {
        lock = world.add("lock", seed: 61)
        pocket = world.add("key", seed: 62)
    }

    private func run(until condition: () -> Bool) -> Bool {
        for _ in 0..<2_000 {
            world.run(forMilliseconds: 10)
            queue.sync {}
            if condition() { return true }
        }
        return false
    }

    /// On a thread of the app: it goes on at once, and the loop hears of it when the world does.
    private func apart(_ body: @escaping @Sendable () -> Void) {
        let done = DispatchSemaphore(value: 0)
        DispatchQueue.global().async {
            body()
            done.signal()
        }
        done.wait()
    }

    /// A door, and somebody who has met it.
    private func met() throws -> (Door, Walker, CBCentralManager, CBPeripheral) {
        var door: Door?
        var walker: Walker?
        lock.launchApp { door = Door($0) }
        pocket.launchApp { walker = Walker($0, queue: queue) }
        let (theDoor, theWalker) = (try #require(door), try #require(walker))
        let manager = try #require(theWalker.manager)
        try #require(run { theDoor.has("advertising") && manager.state == .poweredOn })
        apart { manager.scanForPeripherals(withServices: [Door.service]) }
        try #require(run { theWalker.met != nil })
        apart { manager.stopScan() }
        world.settle()
        return (theDoor, theWalker, manager, try #require(theWalker.met))
    }

    // MARK: A connection

    private enum Call: CaseIterable { case connect, cancel }

    /// Everything of that length.
    private func sequences(_ length: Int) -> [[Call]] {
        guard length > 0 else { return [[]] }
        return sequences(length - 1).flatMap { begun in Call.allCases.map { begun + [$0] } }
    }

    private func make(_ call: Call, _ manager: CBCentralManager, _ peripheral: CBPeripheral) {
        apart {
            switch call {
            case .connect: manager.connect(peripheral)
            case .cancel: manager.cancelPeripheralConnection(peripheral)
            }
        }
    }

    @Test("A wish's calls, whenever the loop and the callbacks come to them: the last call is what is seen")
    func wishes() throws {
        let (_, _, manager, peripheral) = try met()
        world.cut(lock, pocket)
        // Behind each call nothing happens, or the loop has its turn, or callbacks do too.
        for calls in sequences(4) {
            for turns in 0..<81 {
                var turns = turns
                queue.suspend()
                for call in calls {
                    make(call, manager, peripheral)
                    if turns % 3 > 0 { world.settle() }
                    if turns % 3 > 1 {
                        queue.resume()
                        queue.sync {}
                        queue.suspend()
                    }
                    turns /= 3
                }
                queue.resume()
                world.settle()
                queue.sync {}
                world.settle()
                queue.sync {}
                let seen = peripheral.state
                if seen != (calls.last == .connect ? .connecting : .disconnected) {
                    Issue.record("\(seen) behind \(calls)")
                    return
                }
            }
        }
    }

    @Test("A link whose loss is on its way to the app, which asks again and takes that back")
    func loss() throws {
        let (theDoor, walker, manager, peripheral) = try met()
        for calls in [[.cancel], [.connect, .cancel], [.cancel, .connect, .cancel], [.connect]] as [[Call]] {
            world.join(lock, pocket)
            walker.clear()
            make(.connect, manager, peripheral)
            try #require(run { walker.has("connected, connected") })
            queue.suspend()
            world.cut(lock, pocket)
            try #require(world.run { theDoor.links == 0 && pocket.host?.link(of: peripheral.peer) == nil })
            for call in calls { make(call, manager, peripheral) }
            world.settle()
            queue.resume()
            queue.sync {}
            world.settle()
            queue.sync {}
            #expect(peripheral.state == (calls.last == .connect ? .connecting : .disconnected), "\(calls)")
            make(.cancel, manager, peripheral)
            world.settle()
            queue.sync {}
            #expect(peripheral.state == .disconnected)
        }
    }

    @Test("A connection that is made again by itself is taken back while the app has not heard of the loss")
    func reconnection() throws {
        let (theDoor, walker, manager, peripheral) = try met()
        apart { manager.connect(peripheral, options: [CBConnectPeripheralOptionEnableAutoReconnect: true]) }
        try #require(run { walker.has("connected, connected") })
        queue.suspend()
        world.cut(lock, pocket)
        try #require(world.run { theDoor.links == 0 && pocket.host?.link(of: peripheral.peer) == nil })
        make(.cancel, manager, peripheral)
        world.settle()
        queue.resume()
        queue.sync {}
        #expect(
            Array(walker.log.dropFirst()) == [
                "disconnected, reconnecting, disconnecting", "disconnected, over, disconnected",
            ])
        #expect(peripheral.state == .disconnected)
    }

    @Test("A connection that the app gives up before it hears of it is not seen as one that stands")
    func connected() throws {
        let (theDoor, walker, manager, peripheral) = try met()
        for isHeard in [false, true] {
            walker.clear()
            queue.suspend()
            make(.connect, manager, peripheral)
            try #require(world.run { theDoor.links == 1 })
            world.run(forMilliseconds: 1_000)
            make(.cancel, manager, peripheral)
            if isHeard { world.settle() }
            queue.resume()
            queue.sync {}
            world.settle()
            queue.sync {}
            #expect(walker.log == ["connected, disconnecting", "disconnected, over, disconnected"])
            #expect(peripheral.state == .disconnected)
            try #require(world.run { theDoor.links == 0 })
        }
    }

    // MARK: A scan

    @Test("A scan that takes another's place is told nothing of what that one heard")
    func scans() throws {
        let (_, walker, manager, _) = try met()
        let elsewhere = CBUUID(string: "AAAA")
        @Sendable func lookForAll() {
            manager.scanForPeripherals(
                withServices: nil, options: [CBCentralManagerScanOptionAllowDuplicatesKey: true])
        }
        // Heard, and on its way to the app.
        walker.clear()
        queue.suspend()
        apart { lookForAll() }
        world.run(forMilliseconds: 2_000)
        apart { manager.scanForPeripherals(withServices: [elsewhere]) }
        queue.resume()
        queue.sync {}
        world.run(forMilliseconds: 2_000)
        queue.sync {}
        #expect(walker.names.isEmpty)

        // Heard in the iteration in which the other one is asked for.
        var report: [UInt8]?
        pocket.onReceived = { packet in
            // LE Advertising Report, and its extended form.
            if packet.count > 3, packet[1] == 0x3E, [0x02, 0x0D].contains(packet[3]) { report = packet }
        }
        apart { lookForAll() }
        try #require(run { !walker.names.isEmpty })
        walker.clear()
        let heard = try #require(report)
        var packets = 0
        pocket.onReceived = { _ in
            packets += 1
            if packets == 2 { manager.scanForPeripherals(withServices: [elsewhere]) }
        }
        pocket.inject([heard, heard])
        pocket.onReceived = { _ in }
        world.settle()
        queue.sync {}
        #expect(packets == 2 && walker.names.isEmpty)
        // The same one says what it hears from then on.
        apart { lookForAll() }
        #expect(run { !walker.names.isEmpty })
    }

    // MARK: Subscribers

    @Test("Who is subscribed changes with the callback that says so, and with no earlier one")
    func subscribers() throws {
        var door: Door?
        var key: Key?
        lock.launchApp { door = Door($0, queue: queue) }
        pocket.launchApp { key = Key($0) }
        let (theDoor, theKey) = (try #require(door), try #require(key))
        try #require(run { theKey.has("characteristics") })
        let notifying = try #require(theKey.characteristic(Door.notifying))
        let published = try #require(theDoor.characteristic(Door.notifying))
        queue.suspend()
        theKey.door?.setNotifyValue(true, for: notifying)
        try #require(world.run { theKey.has("notify true") })
        #expect(published.subscribedCentrals == [] && !theDoor.has("subscribed FFF3"))
        // Back and forth, while nobody has heard of the first.
        theKey.door?.setNotifyValue(false, for: notifying)
        try #require(world.run { theKey.has("notify false") })
        theKey.door?.setNotifyValue(true, for: notifying)
        try #require(world.run { theKey.count("notify true") == 2 })
        queue.resume()
        queue.sync {}
        #expect(theDoor.log.suffix(3) == ["subscribed FFF3", "unsubscribed FFF3", "subscribed FFF3"])
        #expect(theDoor.subscriberCounts == [1, 0, 1])
        #expect(published.subscribedCentrals?.count == 1)
        // The end of a link without a bond.
        queue.suspend()
        let manager = try #require(theKey.manager)
        manager.cancelPeripheralConnection(try #require(theKey.door))
        try #require(world.run { theKey.has("disconnected") })
        world.run(forMilliseconds: 2_000)
        #expect(published.subscribedCentrals?.count == 1)
        queue.resume()
        queue.sync {}
        #expect(theDoor.log.last == "unsubscribed FFF3" && theDoor.subscriberCounts == [1, 0, 1, 0])
    }

    @Test("A service that is taken back has no subscriber, also where one was on its way to the app")
    func removed() throws {
        var door: Door?
        var key: Key?
        lock.launchApp { door = Door($0, queue: queue) }
        pocket.launchApp { key = Key($0) }
        let (theDoor, theKey) = (try #require(door), try #require(key))
        try #require(run { theKey.has("characteristics") })
        let notifying = try #require(theKey.characteristic(Door.notifying))
        let published = try #require(theDoor.characteristic(Door.notifying))
        queue.suspend()
        theKey.door?.setNotifyValue(true, for: notifying)
        try #require(world.run { theKey.has("notify true") })
        theDoor.manager?.removeAllServices()
        world.settle()
        queue.resume()
        queue.sync {}
        #expect(theDoor.subscriberCounts == [1])
        #expect(published.subscribedCentrals == [])
    }

    // MARK: Advertising

    @Test(
        "A start that the adapter's end overtakes is cancelled behind the state, and does not begin with the next adapter"
    )
    func overtaken() throws {
        var sign: Sign?
        lock.launchApp { sign = Sign($0, queue: queue) }
        let theSign = try #require(sign)
        let manager = try #require(theSign.manager)
        try #require(run { manager.state == .poweredOn })
        // The host has the call before the adapter goes, while it is away, and when the app alone has not heard that it was.
        for (moment, heard) in [
            ["resetting", "cancelled", "poweredOn"], ["resetting", "cancelled", "poweredOn"],
            ["resetting", "poweredOn", "cancelled"],
        ].enumerated() {
            _ = theSign.takeLog()
            queue.suspend()
            if moment == 0 { manager.startAdvertising(nil) }
            lock.loseController()
            if moment == 1 { apart { manager.startAdvertising(nil) } }
            world.run(forMilliseconds: 2_000)
            #expect(lock.host?.hostState(for: .peripheral) == .poweredOn)
            if moment == 2 { apart { manager.startAdvertising(nil) } }
            world.run(forMilliseconds: 2_000)
            queue.resume()
            #expect(run { theSign.log.count == heard.count })
            world.run(forMilliseconds: 2_000)
            queue.sync {}
            #expect(theSign.takeLog() == heard)
            #expect(!manager.isAdvertising)
            #expect(lock.host?.isAdvertising(try #require(manager.core.id)) == false)
            apart { manager.startAdvertising(nil) }
            #expect(run { theSign.log == ["advertising"] })
            #expect(manager.isAdvertising)
            apart { manager.stopAdvertising() }
            world.settle()
        }
    }

    @Test("Advertising that is stopped before its start is heard of is not seen to run")
    func stopped() throws {
        var door: Door?
        lock.launchApp { door = Door($0, queue: queue) }
        let theDoor = try #require(door)
        let manager = try #require(theDoor.manager)
        try #require(run { theDoor.has("advertising") })
        #expect(manager.isAdvertising)
        apart { manager.stopAdvertising() }
        world.settle()
        queue.suspend()
        apart { manager.startAdvertising(nil) }
        // Its start is on its way to the app.
        world.run(forMilliseconds: 1_000)
        apart { manager.stopAdvertising() }
        world.settle()
        queue.resume()
        queue.sync {}
        #expect(theDoor.log.count { $0 == "advertising" } == 2)
        #expect(!manager.isAdvertising)
        #expect(lock.host?.isAdvertising(try #require(manager.core.id)) == false)
        apart { manager.startAdvertising(nil) }
        #expect(run { manager.isAdvertising })
    }
}
