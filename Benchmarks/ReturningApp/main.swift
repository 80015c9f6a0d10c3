// A central app that has met a crowd, listens, and waits for some of the crowd to come near: `Benchmarks restored` kills it, and
// watches what its next life does. It knows nothing but Apple's API.
//
//     ReturningApp               its next life: says when its first callback came, and what was restored
//     ReturningApp meet N WAIT   its first life: connects to N peripherals, one behind the other, and then waits for WAIT of them
//     ReturningApp --version     nothing: what its launch costs before any Bluetooth
import CoreBluetooth

func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

/// Everything of it runs on the main queue.
final class App: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
    /// How many peripherals it meets in this life, and for how many of them it then waits.
    private let meeting: Int
    private let waiting: Int
    private var manager: CBCentralManager?
    private var hasBeenCalled = false
    private var met: [CBPeripheral] = []
    private var current: CBPeripheral?
    private var undiscovered = 0

    init(meeting: Int, waiting: Int) {
        self.meeting = meeting
        self.waiting = waiting
    }

    func open() {
        manager = CBCentralManager(
            delegate: self, queue: nil, options: [CBCentralManagerOptionRestoreIdentifierKey: "returning"])
    }

    /// Of the monotonic clock, as its first callback has begun.
    private func called() {
        let now = DispatchTime.now().uptimeNanoseconds
        guard !hasBeenCalled else { return }
        hasBeenCalled = true
        say("called \(now)")
    }

    func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
        called()
        let peripherals = dict[CBCentralManagerRestoredStatePeripheralsKey] as? [CBPeripheral] ?? []
        let named = peripherals.filter { $0.name != nil }
        let known = peripherals.filter { $0.services?.contains { $0.characteristics?.isEmpty == false } == true }
        let isScanning = dict[CBCentralManagerRestoredStateScanOptionsKey] != nil
        say("restored \(peripherals.count) \(named.count) \(known.count) \(isScanning ? "scanning" : "not-scanning")")
    }

    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        called()
        if central.state == .poweredOn, meeting > 0 { central.scanForPeripherals(withServices: nil) }
    }

    func centralManager(
        _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
        rssi RSSI: NSNumber
    ) {
        guard current == nil, met.count < meeting, !met.contains(peripheral) else { return }
        current = peripheral
        peripheral.delegate = self
        central.connect(peripheral)
    }

    func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
        peripheral.discoverServices(nil)
    }

    func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
        let services = peripheral.services ?? []
        undiscovered = services.count
        for service in services { peripheral.discoverCharacteristics(nil, for: service) }
    }

    func peripheral(
        _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
    ) {
        undiscovered -= 1
        guard undiscovered == 0, let manager else { return }
        met.append(peripheral)
        // Asked for before the last link ends: when the app hears of that end, the wishes are on disk.
        if met.count == meeting {
            for wanted in met.prefix(waiting) where wanted != peripheral { manager.connect(wanted) }
        }
        manager.cancelPeripheralConnection(peripheral)
    }

    func centralManager(
        _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral, error: (any Error)?
    ) {
        current = nil
        if met.count == meeting { say("waiting") }
    }

    func centralManager(_ central: CBCentralManager, didFailToConnect peripheral: CBPeripheral, error: (any Error)?) {
        current = nil
    }
}

let words = CommandLine.arguments.dropFirst()
if words.first == "--version" { exit(0) }
let numbers = words.dropFirst().compactMap { Int($0) }
let app =
    words.first == "meet" && numbers.count == 2
    ? App(meeting: numbers[0], waiting: numbers[1]) : App(meeting: 0, waiting: 0)
app.open()
RunLoop.main.run()
