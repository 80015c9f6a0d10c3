import BluetoothHost
import FoundationEssentials
import Simulation
import TestSupport
import Testing
import WorldSupport

@testable import CoreBluetoothEssentials

/// An app that calls whatever comes to mind, beside a small model of what Apple's documentation says that it hears.
private final class Fickle: CBCentralManagerCallbacks, CBPeripheralCallbacks {
    enum Operation: CaseIterable { case services, included, characteristics, descriptors, read, write, notify, rssi }
    enum Wish { case connect, connectForGood, cancel, scan, stop }

    private(set) var manager: CBCentralManager?
    private var random: SeededGenerator
    private(set) var peripheral: CBPeripheral?
    private(set) var violations: [String] = []
    /// Everything that was done and heard: what a violation is read beside.
    private(set) var story: [String] = []

    // The model.
    /// Operations whose callback has not come, of a connection that nobody had given up: they end before it.
    private(set) var outstanding: [Operation: Int] = [:]
    /// Those that were asked for when the connection was being given up, or in a callback, when it may have been over already.
    private(set) var late: [Operation: Int] = [:]
    private var isInCallback = false
    private(set) var isConnected = false
    /// Whether a connection is wished for, or stands.
    private(set) var isWished = false
    /// How often the app has asked for a connection that stood already, and not heard again that it does.
    private var askedAgain = 0
    /// Ends that the app has asked for and not heard of.
    private(set) var endsAwaited = 0
    /// A connection was given up that had been asked for again, by this end or by one awaited before it: if the first one was
    /// lost meanwhile, its loss is told besides.
    private var gaveUpAnother = false
    private var lastState = CBManagerState.unknown
    private(set) var answers = 0

    init(_ host: CBHost, seed: UInt64) {
        random = SeededGenerator(seed: seed)
        manager = CBCentralManager(callbacks: self, delivery: .inline, host: host)
    }

    var isOn: Bool { manager?.state == .poweredOn }
    var isIdle: Bool {
        outstanding.values.allSatisfy { $0 == 0 } && late.values.allSatisfy { $0 == 0 } && endsAwaited == 0
    }

    private func note(_ line: String) { story.append(line) }
    private func expect(_ condition: Bool, _ rule: String) { if !condition { violations.append(rule) } }

    // MARK: What it does

    func wish(_ wish: Wish) {
        guard let manager else { return }
        note("\(wish)")
        switch wish {
        case .scan: manager.scanForPeripherals(withServices: [Door.service])
        case .stop: manager.stopScan()
        case .connect, .connectForGood:
            guard let peripheral else { return }
            if isOn {
                // One that is given up stands no more, whatever the app has heard: what is asked for then is another one, once.
                if isConnected, isWished, endsAwaited == 0 { askedAgain += 1 }
                isWished = true
            }
            manager.connect(
                peripheral,
                options: wish == .connect ? nil : [CBConnectPeripheralOptionEnableAutoReconnect: true])
        case .cancel:
            guard let peripheral else { return }
            if isOn, isWished {
                gaveUpAnother = gaveUpAnother || askedAgain > 0
                (isWished, askedAgain) = (false, 0)
                endsAwaited += 1
            }
            manager.cancelPeripheralConnection(peripheral)
        }
    }

    func operate(_ operation: Operation) {
        guard let peripheral else { return }
        let service = peripheral.services?.first
        let characteristic = service?.characteristics?.randomElement(using: &random)
        note("\(operation)")
        let isLate = isInCallback || endsAwaited > 0
        if isOn, isLate { late[operation, default: 0] += 1 }
        if isOn, !isLate { outstanding[operation, default: 0] += 1 }
        switch (operation, service, characteristic) {
        case (.services, _, _): peripheral.discoverServices(Bool.random(using: &random) ? nil : [Door.service])
        case (.rssi, _, _): peripheral.readRSSI()
        case (.included, let service?, _): peripheral.discoverIncludedServices(nil, for: service)
        case (.characteristics, let service?, _): peripheral.discoverCharacteristics(nil, for: service)
        case (.descriptors, _, let characteristic?): peripheral.discoverDescriptors(for: characteristic)
        case (.read, _, let characteristic?): peripheral.readValue(for: characteristic)
        case (.write, _, let characteristic?):
            peripheral.writeValue(Data([1, 2]), for: characteristic, type: .withResponse)
        case (.notify, _, let characteristic?):
            peripheral.setNotifyValue(Bool.random(using: &random), for: characteristic)
        // There is nothing to ask for.
        default: if isOn { forget(operation, isLate: isLate) }
        }
    }

    private func forget(_ operation: Operation, isLate: Bool) {
        if isLate { late[operation, default: 0] -= 1 } else { outstanding[operation, default: 0] -= 1 }
    }

    /// What is called from within a callback.
    private func mayDoSomething() {
        isInCallback = true
        defer { isInCallback = false }
        switch Int.random(in: 0..<8, using: &random) {
        case 0: wish(.connect)
        case 1: wish(.cancel)
        case 2...4: operate(Operation.allCases.randomElement(using: &random) ?? .services)
        default: break
        }
    }

    // MARK: What it hears

    private func ended(_ operation: Operation) {
        note("ended \(operation)")
        answers += 1
        forget(operation, isLate: outstanding[operation, default: 0] == 0)
        expect(late[operation, default: 0] >= 0, "\(operation) ended, and nobody had asked for it")
        mayDoSomething()
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        note("state \(central.state)")
        expect(central.state != lastState, "the state is told twice")
        lastState = central.state
        if central.state == .poweredOn, peripheral == nil { wish(.scan) }
        if central.state == .poweredOn { mayDoSomething() }
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: Int
    ) {
        expect(central.isScanning, "discovered without a scan")
        expect(self.peripheral.map { $0 === peripheral } ?? true, "one peer, two objects")
        self.peripheral = peripheral
        peripheral.callbacks = self
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        note("connected")
        expect(isWished || endsAwaited > 0, "connected, and nobody wished for it")
        expect(!isConnected || askedAgain > 0 || endsAwaited > 0, "connected twice")
        if isConnected { askedAgain = max(0, askedAgain - 1) }
        expect(peripheral.state == .connected || endsAwaited > 0, "connected, and the state says \(peripheral.state)")
        isConnected = true
        mayDoSomething()
    }

    func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?) {
        note("failed")
        expect(isWished && !isConnected, "a connection failed that nobody waited for")
        expect(error != nil, "failed without an error")
        isWished = false
    }

    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, timestamp: Double,
        isReconnecting: Bool, error: (any Error)?
    ) {
        note("disconnected\(isReconnecting ? ", reconnecting" : "")\(error == nil ? "" : ", lost")")
        if error == nil {
            expect(endsAwaited > 0, "ended without a reason and without a wish")
            endsAwaited -= 1
            gaveUpAnother = false
        } else {
            expect(isConnected, "a connection was lost that did not stand")
            // An app may give up what is lost already: its wish is over with the loss, unless that leaves one to give up.
            if endsAwaited == 0 {
                isWished = isReconnecting || askedAgain > 0
            } else if !isReconnecting, !gaveUpAnother {
                endsAwaited -= 1
            }
        }
        for (operation, count) in outstanding where isConnected {
            expect(count == 0, "\(count) \(operation) outlived their connection")
        }
        if isReconnecting {
            // What the app has asked for since is no older than this news.
            expect(
                peripheral.state == (isWished ? .connecting : .disconnecting), "reconnecting, and \(peripheral.state)")
        }
        (isConnected, askedAgain) = (false, 0)
        mayDoSomething()
    }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) { ended(.services) }
    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverIncludedServicesFor service: CBService, error: (any Error)?
    ) { ended(.included) }
    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) { ended(.characteristics) }
    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverDescriptorsFor characteristic: CBCharacteristic, error: (any Error)?
    ) { ended(.descriptors) }
    func peripheral(
        _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) {
        // The door notifies nothing: each value was read.
        ended(.read)
    }
    func peripheral(
        _ peripheral: CBPeripheral, didWriteValueFor characteristic: CBCharacteristic, error: (any Error)?
    ) { ended(.write) }
    func peripheral(
        _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
        error: (any Error)?
    ) { ended(.notify) }
    func peripheral(_ peripheral: CBPeripheral, didReadRSSI RSSI: Int, error: (any Error)?) { ended(.rssi) }
}

@Suite("Random operations beside a model", .capturesFailures)
struct RandomOperationsTests {
    static let runs = 1_000
    private static let stepsMaximum = 40

    @Test(
        "Every call ends once, in its connection, and nothing is heard that nobody asked for, whatever befalls the adapter"
    )
    func model() throws {
        var generator = SeededGenerator(announcedBy: "RandomOperationsTests.model")
        var (answers, lost, resets) = (0, 0, 0)
        for _ in 0..<Self.runs {
            let run = try Self.play(seed: generator.next())
            answers += run.answers
            lost += run.losses
            resets += run.resets
            guard run.violations.isEmpty else {
                Issue.record("\(run.violations), in \(run.story.suffix(60))")
                return
            }
        }
        // That it was a test of anything.
        #expect(answers > Self.runs * 5 && lost > Self.runs / 10 && resets > Self.runs / 10)
    }

    private struct Run {
        var violations: [String]
        var story: [String]
        var answers: Int
        var losses: Int
        var resets: Int
    }

    private static func play(seed: UInt64) throws -> Run {
        var random = SeededGenerator(seed: seed)
        let world = World()
        let lock = world.add("lock", seed: random.next())
        let pocket = world.add("key", seed: random.next())
        var (door, app): (Door?, Fickle?)
        lock.launchApp { door = Door($0) }
        pocket.launchApp { app = Fickle($0, seed: random.next()) }
        let fickle = try #require(app)
        try #require(world.run { fickle.peripheral != nil })
        var (isCut, isDead, resets) = (false, false, 0)
        for _ in 0..<Int.random(in: 5...stepsMaximum, using: &random) {
            switch Int.random(in: 0..<24, using: &random) {
            case 0...4: fickle.wish(.connect)
            case 5: fickle.wish(.connectForGood)
            case 6, 7: fickle.wish(.cancel)
            case 8: fickle.wish(.scan)
            case 9: fickle.wish(.stop)
            case 10...18:
                for _ in 0..<Int.random(in: 1...4, using: &random) {
                    fickle.operate(Fickle.Operation.allCases.randomElement(using: &random) ?? .rssi)
                }
            case 19:
                pocket.loseController()
                resets += 1
            case 20:
                if isCut { world.join(lock, pocket) } else { world.cut(lock, pocket) }
                isCut.toggle()
            case 21:
                if isDead {
                    lock.launchApp { door = Door($0) }
                } else {
                    lock.kill()
                    door?.vanish()
                }
                isDead.toggle()
            default: break
            }
            let times: [UInt64] = [0, 0, 1, 20, 300, 4_000]
            world.run(forMilliseconds: times.randomElement(using: &random) ?? 0)
        }
        if isCut { world.join(lock, pocket) }
        if isDead { lock.launchApp { door = Door($0) } }
        // Everything that is owed comes, and what is wished for stands.
        let comesToRest = world.run(forMilliseconds: 60_000) {
            fickle.isOn && fickle.isIdle && fickle.isConnected == fickle.isWished
        }
        var violations = fickle.violations
        if !comesToRest {
            violations.append(
                "never at rest: \(fickle.outstanding), \(fickle.late), \(fickle.endsAwaited) ends, "
                    + "\(fickle.isConnected ? "connected" : "not connected")")
        }
        withExtendedLifetime(door) {}
        return Run(
            violations: violations, story: fickle.story, answers: fickle.answers,
            losses: fickle.story.filter { $0.hasSuffix("lost") }.count, resets: resets)
    }
}
