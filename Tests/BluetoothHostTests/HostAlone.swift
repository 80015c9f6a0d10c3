import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import Simulation
import TestSupport
import WorldSupport

extension Host {
    /// One with an empty store and no radio, for a test that makes its iterations itself.
    convenience init(alone name: String) {
        let store = MemoryHostStore()
        self.init(
            configuration: HostConfiguration(deviceName: name), boot: BootID(bits: 1), snapshot: store.load(),
            store: store, random: SeededRandom(seed: 1), makeKeyPair: P256KeyPair.generate)
    }
}
