import BluetoothHost
import Simulation
import Testing
import VirtualRadio

extension World {
    /// A test's world. The same seeds give the same events at the same instants.
    package convenience init(seed: UInt64 = 1, sourceLocation: SourceLocation = #_sourceLocation) {
        self.init(SharedAir(AirConfiguration(pacing: .paced, seed: seed), sourceLocation: sourceLocation))
        onStandstill = { Issue.record("\($0) turns at one instant: something that is due stays due") }
    }
}

extension SharedAir {
    /// A test's air, of which is kept what was said when the test fails.
    package convenience init(
        _ configuration: AirConfiguration = AirConfiguration(), sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let scope = CaptureScope.current
        if scope == nil {
            Issue.record(
                "The suite of this test makes an air and lacks the trait `.capturesFailures`",
                sourceLocation: sourceLocation)
        }
        self.init(configuration, recorder: scope?.beginRecording())
    }
}

extension World {
    /// A node on a disk in memory, which has been written to.
    package func add(
        _ name: String, seed: UInt64, store: MemoryHostStore,
        hardware: ControllerConfiguration = ControllerConfiguration()
    ) -> Node {
        add(name, seed: seed, disk: MemoryDisk(store), hardware: hardware)
    }
}

extension Node {
    /// Of a node on a disk in memory, which is what tests' nodes are.
    package var store: MemoryHostStore {
        guard let disk = disk as? MemoryDisk else { fatalError("\(name) has a disk of files") }
        return disk.store
    }
}
