import BluetoothHost
import CoreBluetooth
import Synchronization
import Testing

@testable import CoreBluetooth
@testable import CoreBluetoothEssentials

@Suite("A central's calls and sequences, awaited", .serialized)
struct AsyncCentralTests {
    /// Serves reads with a value, and says yes to writes, until its task is cancelled.
    private func serve(_ scene: AsyncScene, _ value: Data) async -> [Data] {
        var written: [Data] = []
        for await request in scene.door.requests {
            switch request {
            case .read(let read):
                read.value = value
                scene.door.respond(to: read, withResult: .success)
            case .write(let writes):
                written += writes.compactMap(\.value)
                if let first = writes.first { scene.door.respond(to: first, withResult: .success) }
            }
        }
        return written
    }

    @Test("a scan that is asked for before the adapter is on, a connection, discovery, a read, writes and a strength")
    func everyCall() async throws {
        let scene = try await AsyncScene()
        async let found = scene.find()
        try await scene.open()
        let connection = try await scene.visitor.connect(found)
        #expect(connection.peripheral.state == .connected)
        let serving = Task { await serve(scene, Data([7, 8])) }
        let state = try await connection.characteristic(scene.state)
        let bell = try await connection.characteristic(scene.bell)
        // Several calls with one callback: each has its own end.
        async let first = connection.readValue(for: state)
        async let second = connection.readValue(for: state)
        async let strength = connection.readRSSI()
        #expect(try await [first, second] == [Data([7, 8]), Data([7, 8])])
        #expect(try await strength < 0)
        try await connection.writeValueWithoutResponse(Data([1]), for: bell)
        try await connection.writeValue(Data([2]), for: state)
        serving.cancel()
        #expect(await serving.value == [Data([1]), Data([2])])
    }

    @Test("descriptors are discovered and read, and say who may not write them; no service is included")
    func descriptors() async throws {
        let scene = try await AsyncScene()
        let connection = try await scene.enter()
        let state = try await connection.characteristic(scene.state)
        let descriptor = try #require(try await connection.discoverDescriptors(for: state).first)
        try await connection.readValue(for: descriptor)
        #expect(descriptor.value as? String == "Open")
        let error = await failure { try await connection.writeValue(Data("Shut".utf8), for: descriptor) }
        #expect(error as? CBATTError == CBATTError(.writeNotPermitted))
        #expect(try await connection.discoverIncludedServices(for: try #require(state.service)).isEmpty)
    }

    @Test("a service that goes ends the sequences of its values, and calls on it")
    func serviceGoes() async throws {
        let scene = try await AsyncScene()
        let connection = try await scene.enter()
        let chime = try await connection.characteristic(scene.chime)
        var subscriptions = scene.door.subscriptions.makeAsyncIterator()
        let values = Task { await failure { for try await _ in connection.values(of: chime) {} } }
        #expect(await subscriptions.next()?.isSubscribed == true)
        scene.door.removeAllServices()
        let gone = CBError(.invalidHandle)
        #expect(await values.value as? CBError == gone)
        #expect(await failure { try await connection.readValue(for: chime) } as? CBError == gone)
        #expect(await failure { for try await _ in connection.values(of: chime) {} } as? CBError == gone)
    }

    @Test("an error of the peripheral is thrown, and one of a call that it cannot take")
    func errors() async throws {
        let scene = try await AsyncScene()
        let connection = try await scene.enter()
        let state = try await connection.characteristic(scene.state)
        let value = Task { try await connection.readValue(for: state) }
        for await case .read(let read) in scene.door.requests {
            scene.door.respond(to: read, withResult: .readNotPermitted)
            break
        }
        #expect(await failure { try await value.value } as? CBATTError == CBATTError(.readNotPermitted))
        connection.disconnect()
        #expect(try await connection.waitUntilEnded() == nil)
        #expect(await failure { try await connection.readValue(for: state) } as? CBError == CBError(.notConnected))
    }

    @Test("a cancelled connect takes its wish back, and so does one whose time is over")
    func connectIsTakenBack() async throws {
        let scene = try await AsyncScene(visitor: "visitor")
        try await scene.visitor.waitUntilPoweredOn()
        let nobody = try await scene.visitorHost.stranger(scene.visitor)
        let error = await failure { try await scene.visitor.connect(nobody, timeout: .milliseconds(20)) }
        #expect(error as? BluetoothSessionError == .timedOut)
        #expect(await scene.visitorHost.keptWishes() == 0)

        let visitor = scene.visitor
        let waiting = Task { try await visitor.connect(nobody) }
        while await scene.visitorHost.keptWishes() == 0 { await Task.yield() }
        waiting.cancel()
        #expect(await failure { try await waiting.value } is CancellationError)
        #expect(await scene.visitorHost.keptWishes() == 0)
    }

    @Test("calls share a wish: the last of them takes it back")
    func sharedWish() async throws {
        let scene = try await AsyncScene(visitor: "visitor")
        try await scene.visitor.waitUntilPoweredOn()
        let (visitor, nobody) = (scene.visitor, try await scene.visitorHost.stranger(scene.visitor))
        let first = Task { try await visitor.connect(nobody) }
        while await scene.visitorHost.keptWishes() == 0 { await Task.yield() }
        let error = await failure { try await visitor.connect(nobody, timeout: .milliseconds(20)) }
        #expect(error as? BluetoothSessionError == .timedOut)
        #expect(await scene.visitorHost.keptWishes() == 1)
        first.cancel()
        #expect(await failure { try await first.value } is CancellationError)
        #expect(await scene.visitorHost.keptWishes() == 0)
    }

    @Test("a connect that is cancelled while its connection comes leaves none, and the next one has one")
    func cancelledAtOnce() async throws {
        let scene = try await AsyncScene(visitor: "visitor")
        try await scene.open()
        let (visitor, door) = (scene.visitor, try await scene.find())
        for _ in 0..<20 {
            let connecting = Task { try await visitor.connect(door) }
            connecting.cancel()
            switch await connecting.result {
            // It came before.
            case .success(let connection): connection.disconnect()
            case .failure(let error): #expect(error is CancellationError)
            }
            #expect(await scene.visitorHost.keptWishes() == 0)
        }
        let connection = try await visitor.connect(door)
        // A task that is cancelled gets none, though it is there: nobody would end it. Those who have it keep it.
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await visitor.connect(door)
        }
        #expect(await failure { try await late.value } is CancellationError)
        #expect(try await connection.readRSSI() < 0)
        #expect(await scene.visitorHost.keptWishes() == 1)
    }

    @Test("a session gives a connection up for whoever waits for one")
    func disconnectWhileConnecting() async throws {
        let scene = try await AsyncScene(visitor: "visitor")
        try await scene.visitor.waitUntilPoweredOn()
        let (visitor, nobody) = (scene.visitor, try await scene.visitorHost.stranger(scene.visitor))
        let waiting = Task { try await visitor.connect(nobody) }
        while await scene.visitorHost.keptWishes() == 0 { await Task.yield() }
        visitor.disconnect(nobody)
        #expect(await failure { try await waiting.value } as? CBError == CBError(.operationCancelled))
        #expect(await scene.visitorHost.keptWishes() == 0)
    }

    @Test("another manager's peripheral is refused, and stays whose it is")
    func anothersPeripheral() async throws {
        let scene = try await AsyncScene()
        let connection = try await scene.enter()
        let peripheral = connection.peripheral
        let other = CentralSession(host: scene.visitorHost.bluetooth)
        try await other.waitUntilPoweredOn()
        let error = await failure { try await other.connect(peripheral, timeout: .milliseconds(200)) }
        #expect(error as? CBError == CBError(.invalidParameters))
        #expect(peripheral.callbacks === scene.visitor.router)
        #expect(try await connection.readRSSI() < 0)
        other.disconnect(peripheral)
        #expect(try await connection.readRSSI() < 0)
        // Its own object of the same peripheral is as good as any.
        let mine = try #require(other.retrievePeripherals(withIdentifiers: [peripheral.identifier]).first)
        #expect(mine !== peripheral)
        #expect(try await other.connect(mine).readRSSI() < 0)
    }

    @Test("two listeners get both values; the first that leaves unsubscribes nobody, and the last one does")
    func listeners() async throws {
        let scene = try await AsyncScene()
        let connection = try await scene.enter()
        let chime = try await connection.characteristic(scene.chime)
        var subscriptions = scene.door.subscriptions.makeAsyncIterator()
        var staying: AsyncThrowingStream<Data, any Error>? = connection.values(of: chime)
        do {
            let leaving = connection.values(of: chime)
            #expect(await subscriptions.next()?.isSubscribed == true)
            for value in [Data([1]), Data([2])] { try await scene.door.update(value, for: scene.chime) }
            var heard: [Data] = []
            for try await value in leaving.prefix(2) { heard.append(value) }
            #expect(heard == [Data([1]), Data([2])])
        }
        try await scene.door.update(Data([3]), for: scene.chime)
        var heard: [Data] = []
        for try await value in try #require(staying).prefix(3) { heard.append(value) }
        #expect(heard == [Data([1]), Data([2]), Data([3])])
        staying = nil
        #expect(await subscriptions.next()?.isSubscribed == false)
        // Whoever comes later subscribes anew.
        let later = connection.values(of: chime)
        #expect(await subscriptions.next()?.isSubscribed == true)
        withExtendedLifetime(later) {}
    }

    @Test("a listener that does not iterate keeps the newest values, and holds up no other")
    func slowListener() async throws {
        let scene = try await AsyncScene()
        let connection = try await scene.enter()
        let chime = try await connection.characteristic(scene.chime)
        var subscriptions = scene.door.subscriptions.makeAsyncIterator()
        let slow = connection.values(of: chime)
        var fast = connection.values(of: chime).makeAsyncIterator()
        #expect(await subscriptions.next()?.isSubscribed == true)
        let dropped = 44
        let last = ConnectedLink.valuesMaximum + dropped
        for number in 1...last {
            let value = Data([UInt8(number >> 8), UInt8(number & 0xFF)])
            try await scene.door.update(value, for: scene.chime)
            #expect(try await fast.next() == value)
        }
        // A callback behind the last value: it has come to both by then.
        _ = try await connection.readRSSI()
        var numbers: [Int] = []
        for try await value in slow.prefix(ConnectedLink.valuesMaximum) {
            numbers.append(Int(value[0]) << 8 | Int(value[1]))
        }
        #expect(numbers == Array(dropped + 1...last))
    }

    @Test("a write without response waits for room, and gives up in time")
    func commands() async throws {
        let scene = try await AsyncScene()
        let connection = try await scene.enter()
        let bell = try await connection.characteristic(scene.bell)
        let last = UInt8(CommandBudget.maximumWaiting + 1)
        let waiting = try await scene.visitorHost.holdingLoop {
            for value in 1..<last { try await connection.writeValueWithoutResponse(Data([value]), for: bell) }
            let late = await failure {
                try await connection.writeValueWithoutResponse(Data(), for: bell, timeout: .milliseconds(20))
            }
            #expect(late as? BluetoothSessionError == .timedOut)
            return Task { try await connection.writeValueWithoutResponse(Data([last]), for: bell) }
        }
        try await waiting.value
        var written: [Data] = []
        for await case .write(let requests) in scene.door.requests {
            written += requests.compactMap(\.value)
            if written.count == Int(last) { break }
        }
        #expect(written == (1...last).map { Data([$0]) })
    }

    @Test("a notification that comes while a value is read does not end the read")
    func notificationDuringRead() async throws {
        let scene = try await AsyncScene()
        let connection = try await scene.enter()
        let chime = try await connection.characteristic(scene.chime)
        var subscriptions = scene.door.subscriptions.makeAsyncIterator()
        var values = connection.values(of: chime).makeAsyncIterator()
        #expect(await subscriptions.next()?.isSubscribed == true)
        async let read = connection.readValue(for: chime)
        for await case .read(let request) in scene.door.requests {
            try await scene.door.update(Data([1]), for: scene.chime)
            #expect(try await values.next() == Data([1]))
            request.value = Data([2])
            scene.door.respond(to: request, withResult: .success)
            break
        }
        #expect(try await read == Data([2]))
        try await scene.door.update(Data([3]), for: scene.chime)
        #expect(try await values.next() == Data([3]))
    }

    @Test("a subscription that the peripheral refuses is thrown")
    func refusedSubscription() async throws {
        let scene = try await AsyncScene()
        let connection = try await scene.enter()
        let state = try await connection.characteristic(scene.state)
        let error = await failure { for try await _ in connection.values(of: state) {} }
        #expect(error as? CBError == CBError(.invalidHandle), "it notifies nobody")
    }

    @Test("the end of a connection is thrown into a read, into a sequence of values, and told to whoever waits for it")
    func disconnection() async throws {
        let scene = try await AsyncScene()
        let connection = try await scene.enter()
        let chime = try await connection.characteristic(scene.chime)
        let state = try await connection.characteristic(scene.state)
        var subscriptions = scene.door.subscriptions.makeAsyncIterator()
        let values = Task { await failure { for try await _ in connection.values(of: chime) {} } }
        let end = Task { try await connection.waitUntilEnded() }
        #expect(await subscriptions.next()?.isSubscribed == true)
        let read = Task { try await connection.readValue(for: state) }
        // Behind the first, which is never answered.
        let behind = Task { try await connection.readValue(for: state) }
        for await case .read(let request) in scene.door.requests {
            try await scene.doorHost.drop(request.central)
            break
        }
        let lost = CBError(.peripheralDisconnected)
        #expect(await failure { try await read.value } as? CBError == CBError(.notConnected), "as a delegate hears it")
        #expect(await values.value as? CBError == lost)
        #expect(try await end.value as? CBError == lost)
        let late = await failure { try await behind.value } as? CBError
        #expect(late == lost || late == CBError(.notConnected), "as it came before or after")
        // Another one is another link.
        let again = try await scene.visitor.connect(connection.peripheral)
        #expect(try await again.readRSSI() < 0)
        #expect(await failure { try await connection.readRSSI() } as? CBError == CBError(.notConnected))
    }

    @Test("this side's own end is none for a sequence of values, and takes the connection back")
    func ownEnd() async throws {
        let scene = try await AsyncScene(visitor: "visitor")
        let connection = try await scene.enter()
        let chime = try await connection.characteristic(scene.chime)
        var subscriptions = scene.door.subscriptions.makeAsyncIterator()
        let values = Task { await failure { for try await _ in connection.values(of: chime) {} } }
        #expect(await subscriptions.next()?.isSubscribed == true)
        connection.disconnect()
        #expect(await values.value == nil)
        #expect(try await connection.waitUntilEnded() == nil)
        #expect(await scene.visitorHost.keptWishes() == 0)
        #expect(await subscriptions.next()?.isSubscribed == false)
    }

    @Test("an adapter that goes ends every call, and takes back what was asked for when it comes again")
    func adapterGoes() async throws {
        let scene = try await AsyncScene(visitor: "visitor")
        let connection = try await scene.enter()
        let state = try await connection.characteristic(scene.state)
        let (visitor, nobody) = (scene.visitor, try await scene.visitorHost.stranger(scene.visitor))
        let waiting = Task { try await visitor.connect(nobody) }
        let read = Task { try await connection.readValue(for: state) }
        for await case .read in scene.door.requests { break }
        while await scene.visitorHost.keptWishes() < 2 { await Task.yield() }
        await scene.visitorHost.replug()
        let gone = BluetoothSessionError.unavailable(.resetting)
        #expect(await failure { try await waiting.value } as? BluetoothSessionError == gone)
        #expect(await failure { try await read.value } as? BluetoothSessionError == gone)
        #expect(try await connection.waitUntilEnded() as? BluetoothSessionError == gone)
        var states: [CBManagerState] = []
        for await case .state(let state) in visitor.events {
            states.append(state)
            if states.count(where: { $0 == .poweredOn }) == 2 { break }
        }
        // Before the first the radio may not have listened yet.
        #expect(states.suffix(3) == [.poweredOn, .resetting, .poweredOn])
        #expect(await scene.visitorHost.keptWishes() == 0)
        let again = try await visitor.connect(connection.peripheral)
        #expect(try await again.readRSSI() < 0)
    }

    @Test("a host that ends ends the calls of a connection too whose own end is on its way")
    func hostEndsWhileClosing() async throws {
        let scene = try await AsyncScene()
        let connection = try await scene.enter()
        let state = try await connection.characteristic(scene.state)
        let chime = try await connection.characteristic(scene.chime)
        var subscriptions = scene.door.subscriptions.makeAsyncIterator()
        let values = Task { await failure { for try await _ in connection.values(of: chime) {} } }
        #expect(await subscriptions.next()?.isSubscribed == true)
        let read = Task { await failure { try await connection.readValue(for: state, timeout: .seconds(30)) } }
        for await case .read in scene.door.requests { break }
        // As the default host ends: what has not been told yet is not told any more.
        await scene.visitorHost.onLoop { host in
            connection.disconnect()
            host.abandon()
        }
        let gone = BluetoothSessionError.unavailable(.unsupported)
        try #require(await read.value as? BluetoothSessionError == gone)
        #expect(try await connection.waitUntilEnded() == nil, "this side asked for it")
        #expect(await values.value == nil)
    }

    @Test("nothing is asked of an adapter that is not on, and whoever waits for it hears when it is")
    func notOn() async throws {
        let air = try await Air(withRadio: false)
        let host = RadioHost(on: air, "visitor")
        let visitor = CentralSession(host: host.bluetooth)
        let nobody = try await host.stranger(visitor)
        let error = await failure { try await visitor.connect(nobody) }
        guard case .unavailable = error as? BluetoothSessionError else {
            Issue.record("\(String(describing: error))")
            return
        }
        let late = await failure { try await visitor.waitUntilPoweredOn(timeout: .milliseconds(20)) }
        #expect(late as? BluetoothSessionError == .timedOut)
        try await air.plug()
        try await visitor.waitUntilPoweredOn()
        #expect(visitor.state == .poweredOn)
    }

    @Test("what was restored is the first event, and its connection is there for the asking")
    func restoration() async throws {
        let scene = try await AsyncScene()
        try await scene.open()
        let identifier = try await connectAndLeave(scene)
        let visitor = CentralSession(restoreIdentifier: "again", host: scene.visitorHost.bluetooth)
        var events = visitor.events.makeAsyncIterator()
        guard case .restored(let restoration) = await events.next() else {
            Issue.record("nothing was restored")
            return
        }
        #expect(restoration.peripherals.map(\.identifier) == [identifier])
        #expect(!restoration.isScanning && restoration.scannedServices == nil)
        guard case .state(.poweredOn) = await events.next() else {
            Issue.record("no state")
            return
        }
        let connection = try await visitor.connect(try #require(restoration.peripherals.first))
        #expect(try await connection.readRSSI() < 0)
        visitor.disconnect(connection.peripheral)
        #expect(try await connection.waitUntilEnded() == nil)
    }

    /// As a process that ends: its session goes, and nothing is taken back.
    private func connectAndLeave(_ scene: AsyncScene) async throws -> UUID {
        let visitor = CentralSession(restoreIdentifier: "again", host: scene.visitorHost.bluetooth)
        try await visitor.waitUntilPoweredOn()
        for await discovery in visitor.discoveries(withServices: [AsyncScene.service]) {
            _ = try await visitor.connect(discovery.peripheral)
            return discovery.peripheral.identifier
        }
        throw CBError(.unknownDevice)
    }

    /// Asks for another scan when it is told of a peripheral, as another thread may at that moment, and passes on what it is told.
    private final class Rescanner: CBCentralManagerCallbacks, Sendable {
        private let session: CentralSession
        let elsewhere = Mutex<AsyncStream<CentralSession.Discovery>?>(nil)
        let passed = Promise<Void>()

        init(_ session: CentralSession) { self.session = session }

        func centralManagerDidUpdateState(_ central: CBCentralManager) {
            session.router.centralManagerDidUpdateState(central)
        }
        func centralManager(
            _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
            rssi RSSI: Int
        ) {
            let other = session.discoveries(withServices: [CBUUID(string: "FFFF")])
            elsewhere.withLock { $0 = other }
            session.router.centralManager(
                central, didDiscover: peripheral, advertisementData: advertisementData, rssi: RSSI)
            passed.end(.success(()))
        }
    }

    @Test("a scan that is asked for while another's discovery is being told has none of it")
    func rescan() async throws {
        let scene = try await AsyncScene()
        try await scene.open()
        try await scene.visitor.waitUntilPoweredOn()
        let rescanner = Rescanner(scene.visitor)
        scene.visitor.manager.callbacks = rescanner
        let here = scene.visitor.discoveries(withServices: [AsyncScene.service])
        try await rescanner.passed.value()
        scene.visitor.stopScanning()
        for await _ in try #require(rescanner.elsewhere.withLock { $0 }) { Issue.record("nobody is there") }
        for await _ in here { Issue.record("another one was told") }
    }

    @Test("a session has one scan: another one ends the sequence, and so does its end")
    func scans() async throws {
        let scene = try await AsyncScene()
        try await scene.open()
        let elsewhere = scene.visitor.discoveries(withServices: [CBUUID(string: "FFFF")])
        let here = scene.visitor.discoveries(withServices: [AsyncScene.service])
        for await _ in elsewhere { Issue.record("nobody is there") }
        var names: [String] = []
        for await discovery in here {
            names.append(discovery.advertisementData[CBAdvertisementDataLocalNameKey] as? String ?? "")
            if names.last == "Door" { scene.visitor.stopScanning() }
        }
        #expect(names.last == "Door")
        #expect(!scene.visitor.manager.isScanning)
    }
}
