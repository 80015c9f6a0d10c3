import BluetoothCore
import CoreBluetoothEssentials
import DaemonControl
import FoundationEssentials

/// A central manager and the peripherals that it has met.
final class CentralSide: Side {
    let voice: Voice
    let channels: ChannelSide
    private(set) var manager: CBCentralManager?
    private var peripherals: [String: CBPeripheral] = [:]
    var attributes = AttributeTable()

    init(_ bluetooth: CBHost, _ voice: Voice, _ channels: ChannelSide, restoreIdentifier: String?) {
        self.voice = voice
        self.channels = channels
        // What the stranger has is looked at whole.
        var options: [String: Any] = [CBCentralManagerOptionShowsGenericServicesKey: true]
        options[CBCentralManagerOptionRestoreIdentifierKey] = restoreIdentifier
        manager = CBCentralManager(callbacks: self, delivery: .inline, options: options, host: bluetooth)
    }

    var commands: [String: Command] {
        let all = [managerCommands, discoveryCommands, valueCommands, linkCommands]
        return all.reduce(into: [:]) { merged, some in merged.merge(some) { first, _ in first } }
    }

    /// Keeps a peripheral, and hears of it.
    @discardableResult
    func meet(_ peripheral: CBPeripheral) -> CBPeripheral {
        peripherals[peripheral.identifier.uuidString] = peripheral
        peripheral.callbacks = self
        return peripheral
    }

    /// By its identifier, or by its address when nobody has met it yet.
    func peripheral(_ arguments: Arguments) throws(Refusal) -> CBPeripheral {
        if let text = try arguments.optionalText("address") {
            guard let address = DeviceAddress(text), let peripheral = manager?.peripheral(at: address) else {
                throw Refusal("`address` is no address, or the radio is off")
            }
            return meet(peripheral)
        }
        let identifier = try arguments.text("peripheral")
        if let known = peripherals[identifier] { return known }
        guard let uuid = UUID(uuidString: identifier),
            let found = manager?.retrievePeripherals(withIdentifiers: [uuid]).first
        else { throw Refusal("no peripheral \(identifier) is known") }
        return meet(found)
    }
}
