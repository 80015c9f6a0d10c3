import CoreBluetooth
import Testing

@testable import CoreBluetooth
@testable import CoreBluetoothEssentials

@Suite("A peripheral's calls and sequences, awaited", .serialized)
struct AsyncPeripheralTests {
    @Test(
        "what the manager's delegate would hear is thrown: a service twice, advertising twice, a service that is gone")
    func errors() async throws {
        let scene = try await AsyncScene()
        try await scene.open()
        #expect(await failure { try await scene.door.add(scene.published) } as? CBError == CBError(.invalidParameters))
        #expect(scene.door.isAdvertising)
        #expect(await failure { try await scene.door.startAdvertising() } as? CBError == CBError(.alreadyAdvertising))
        scene.door.stopAdvertising()
        #expect(!scene.door.isAdvertising)
        try await scene.door.startAdvertising(services: [AsyncScene.service])
        try await scene.door.update(Data([1]), for: scene.chime)
        scene.door.removeAllServices()
        let gone = await failure { try await scene.door.update(Data([1]), for: scene.chime) }
        #expect(gone as? CBError == CBError(.invalidHandle))
    }

    @Test("an adapter that goes ends a start of advertising, which does not begin by itself when the adapter is back")
    func advertisingOvertaken() async throws {
        let scene = try await AsyncScene()
        let door = scene.door
        try await door.waitUntilPoweredOn()
        // The host hears of the call before its adapter goes, and behind that.
        for isBehind in [false, true] {
            let starting = await scene.doorHost.holdingLoop {
                if isBehind { scene.doorHost.losesAdapter() }
                let starting = Task { try await door.startAdvertising(services: [AsyncScene.service]) }
                while !door.router.isUnderWay(.advertise) { await Task.yield() }
                if !isBehind { scene.doorHost.losesAdapter() }
                return starting
            }
            let error = await failure { try await starting.value }
            #expect(error as? BluetoothSessionError == .unavailable(.resetting))
            try await door.waitUntilPoweredOn()
            #expect(!(await scene.doorHost.isAdvertising(door)))
            #expect(!door.isAdvertising)
            // Asked for again it runs, whatever is still said of the first.
            try await door.startAdvertising(services: [AsyncScene.service])
            #expect(door.isAdvertising)
            #expect(await scene.doorHost.isAdvertising(door))
            door.stopAdvertising()
            #expect(!door.isAdvertising)
        }
    }

    @Test("a request waits for the iteration, and an iteration that ends leaves the rest to the next")
    func requests() async throws {
        let scene = try await AsyncScene()
        let connection = try await scene.enter()
        let state = try await connection.characteristic(scene.state)
        for expected: UInt8 in 1...3 {
            async let value = connection.readValue(for: state)
            for await case .read(let request) in scene.door.requests {
                #expect(request.characteristic == scene.state && request.offset == 0)
                request.value = Data([expected])
                scene.door.respond(to: request, withResult: .success)
                break
            }
            #expect(try await value == Data([expected]))
        }
        // Whose task is cancelled takes nothing.
        let cancelled = Task { for await _ in scene.door.requests { Issue.record("nobody asked") } }
        cancelled.cancel()
        await cancelled.value
        async let written: Void = connection.writeValue(Data([4]), for: state)
        for await case .write(let requests) in scene.door.requests {
            #expect(requests.map(\.value) == [Data([4])])
            scene.door.respond(to: requests[0], withResult: .success)
            break
        }
        try await written
    }

    @Test("an update waits for room, gives up in time or when it is cancelled, and leaves in its order")
    func updates() async throws {
        let scene = try await AsyncScene()
        let connection = try await scene.enter()
        let chime = try await connection.characteristic(scene.chime)
        var subscriptions = scene.door.subscriptions.makeAsyncIterator()
        var values = connection.values(of: chime).makeAsyncIterator()
        #expect(await subscriptions.next()?.isSubscribed == true)
        let (door, characteristic) = (scene.door, scene.chime)
        let last = UInt8(UpdateBudget.maximumWaiting + 1)
        let waiting = try await scene.doorHost.holdingLoop {
            for value in 1..<last { try await door.update(Data([value]), for: characteristic) }
            let late = await failure { try await door.update(Data(), for: characteristic, timeout: .milliseconds(20)) }
            #expect(late as? BluetoothSessionError == .timedOut)
            let cancelled = Task { try await door.update(Data(), for: characteristic) }
            cancelled.cancel()
            #expect(await failure { try await cancelled.value } is CancellationError)
            return Task { try await door.update(Data([last]), for: characteristic) }
        }
        try await waiting.value
        for value in 1...last { #expect(try await values.next() == Data([value])) }
    }

    @Test("a service that is taken back ends the updates of it that wait")
    func updatesOfAServiceThatGoes() async throws {
        let scene = try await AsyncScene()
        try await scene.open()
        let (door, characteristic) = (scene.door, scene.chime)
        let gone = try await scene.doorHost.holdingLoop {
            for value in 1...UInt8(UpdateBudget.maximumWaiting) {
                try await door.update(Data([value]), for: characteristic)
            }
            let waiting = Task { await failure { try await door.update(Data(), for: characteristic) } }
            door.remove(scene.published)
            return await waiting.value
        }
        #expect(gone as? CBError == CBError(.invalidHandle))
    }

    @Test("what was restored is the first event, with its services, which can be updated")
    func restoration() async throws {
        let scene = try await AsyncScene()
        try await openAndLeave(scene)
        let door = PeripheralSession(restoreIdentifier: "again", host: scene.doorHost.bluetooth)
        var events = door.events.makeAsyncIterator()
        guard case .restored(let restoration) = await events.next() else {
            Issue.record("nothing was restored")
            return
        }
        #expect(restoration.services.map(\.uuid) == [AsyncScene.service])
        #expect(restoration.isAdvertising)
        guard case .state(.poweredOn) = await events.next() else {
            Issue.record("no state")
            return
        }
        let chime = restoration.services.flatMap { $0.characteristics ?? [] }.first { $0.uuid == scene.chime.uuid }
        try await door.update(Data([1]), for: try #require(chime as? CBMutableCharacteristic))
        #expect(try await scene.visitor.connect(scene.find()).readRSSI() < 0)
    }

    @Test("an update of a service that another one has taken the place of is thrown, and holds up no other")
    func updateOfAServiceThatIsReplaced() async throws {
        let scene = try await AsyncScene()
        try await openAndLeave(scene)
        let door = PeripheralSession(restoreIdentifier: "again", host: scene.doorHost.bluetooth)
        var events = door.events.makeAsyncIterator()
        guard case .restored(let restoration) = await events.next() else {
            Issue.record("nothing was restored")
            return
        }
        let restored = restoration.services.flatMap { $0.characteristics ?? [] }.first { $0.uuid == scene.chime.uuid }
        let former = try #require(restored as? CBMutableCharacteristic)
        try await door.waitUntilPoweredOn()
        let service = CBMutableService(type: AsyncScene.service, primary: true)
        let chime = CBMutableCharacteristic(
            type: scene.chime.uuid, properties: .notify, value: nil, permissions: .readable)
        service.characteristics = [chime]
        try await door.add(service)
        let gone = await failure { try await door.update(Data([1]), for: former, timeout: .seconds(30)) }
        #expect(gone as? CBError == CBError(.invalidHandle))
        try await door.update(Data([2]), for: chime, timeout: .seconds(30))
    }

    /// As a process that ends: its session goes, and nothing is taken back.
    private func openAndLeave(_ scene: AsyncScene) async throws {
        let door = PeripheralSession(restoreIdentifier: "again", host: scene.doorHost.bluetooth)
        try await door.waitUntilPoweredOn()
        try await door.add(scene.published)
        try await door.startAdvertising(services: [AsyncScene.service])
    }

    @Test("a channel comes to the sequence, and to the one who opens it; a service that is taken back has none")
    func channels() async throws {
        let scene = try await AsyncScene()
        try await scene.door.waitUntilPoweredOn()
        let psm = try await scene.door.publishL2CAPChannel(withEncryption: false)
        let connection = try await scene.enter()
        let mine = try await connection.openL2CAPChannel(psm)
        var channels = scene.door.channels.makeAsyncIterator()
        let theirs = try #require(await channels.next())
        #expect(mine.psm == psm && theirs.psm == psm)
        try await scene.door.unpublishL2CAPChannel(psm)
        let refused = await failure { try await connection.openL2CAPChannel(psm) }
        #expect(refused is CBError)
        withExtendedLifetime((mine, theirs)) {}
    }
}
