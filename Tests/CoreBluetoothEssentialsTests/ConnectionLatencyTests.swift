import BluetoothCore
import BluetoothHost
import Simulation
import Testing
import WorldSupport

@testable import CoreBluetoothEssentials

@Suite("Desired connection latency", .capturesFailures)
struct ConnectionLatencyTests {
    @Test(
        "Each latency is within the specification's ranges and Apple's for accessories",
        arguments: [CBPeripheralManagerConnectionLatency.low, .medium, .high])
    func ranges(_ latency: CBPeripheralManagerConnectionLatency) {
        let preferred = PreferredConnection(latency)
        #expect(
            (6...3200).contains(preferred.interval.lowerBound) && (6...3200).contains(preferred.interval.upperBound))
        let longest = Double(preferred.interval.upperBound) * 1.25 * Double(preferred.latency + 1)
        #expect(longest <= 2_000 && longest * 3 < Double(preferred.timeout) * 10)
        #expect(Double(preferred.interval.upperBound - preferred.interval.lowerBound) * 1.25 >= 15)
        #expect((200...600).contains(preferred.timeout))
    }

    @Test("A central that is there is asked")
    func asks() throws {
        let scene = Scene()
        try scene.start()
        let door = try #require(scene.door)
        let central = try #require(door.centrals.first)
        scene.world.run(forMilliseconds: 6_000) { false }
        door.manager?.setDesiredConnectionLatency(.high, for: central)
        #expect(
            scene.world.run(forMilliseconds: 2_000) {
                // LE Connection Update, by which a peripheral asks: intervals of 200 ms to 400 ms.
                scene.lock.sent.contains { $0.starts(with: [1, 0x13, 0x20]) && $0[6...9] == [160, 0, 64, 1] }
            })
    }
}
