import BluetoothCore
import Simulation

extension Intruder {
    func connect(to peer: DeviceAddress, as address: DeviceAddress, in world: World) {
        initiate(to: peer, as: address)
        world.run(forMilliseconds: 2_000) { isConnected(.central) }
    }

    func disconnect(_ side: Side, in world: World) {
        disconnect(side)
        world.run(forMilliseconds: 2_000) { !isConnected(side) }
    }
}
