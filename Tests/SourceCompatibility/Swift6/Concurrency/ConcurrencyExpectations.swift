import CoreBluetooth
import Testing

/// What only the language mode 6 checks: who may touch what.
@Suite("Apps of Swift 6: actors and tasks")
struct ConcurrencyExpectations {
    @Test("A scanner of the main actor's wakes who waits for it, with Bluetooth or without")
    @MainActor func mainActor() async throws {
        let scanner = MainActorScanner()
        for state in [CBManagerState.unsupported, .poweredOn] {
            let waiting = Task { try await scanner.ready() }
            while !scanner.isAwaited { await Task.yield() }
            scanner.changed(to: .resetting)
            #expect(scanner.isAwaited, "nothing is decided")
            scanner.changed(to: state)
            if state == .poweredOn {
                try await waiting.value
            } else {
                await #expect(throws: CBError(.operationNotSupported)) { try await waiting.value }
            }
        }
        try await scanner.ready()
    }

    @Test("A thermometer takes values and failures on the main actor")
    @MainActor func thermometer() {
        let thermometer = HoppingThermometer()
        thermometer.take(Data([0x00, 0x6E, 0x01, 0x00, 0xFF]))
        thermometer.take(failure: CBError(.notConnected))
        #expect(thermometer.celsius.map { abs($0 - 36.6) < 0.001 } == true)
        #expect(thermometer.failures == ["The device is not connected."])
        #expect(IsolatedServer().subscribers.isEmpty)
    }

    @Test("A function that names its error throws Apple's")
    func typedThrows() {
        #expect(throws: Never.self) { try Strict.check(.success) }
        #expect(throws: CBATTError(.invalidOffset)) { try Strict.check(.invalidOffset) }
    }

    @Test("Apple's objects go from task to task")
    func tasks() async {
        let services = SimulatedBelt().makeServices()
        let outline = await Strict.outline(services)
        #expect(outline == services.flatMap { $0.outline() })
        #expect(await Strict.identifiers(of: []).isEmpty)
    }

    @Test("Conformances of the app's own")
    func retroactive() {
        #expect([CBUUID(string: "180F"), CBUUID(string: "180D")].sorted().strings == ["180D", "180F"])
        #expect("\(CBAttributePermissions.openForAll)" == "for writing")
        #expect(AsyncCentralError.unavailable(.unsupported) != .disconnected)
    }
}
