import BluetoothCore
import BluetoothHost
import CoreBluetoothEssentials
import LockCentral
import LockPeripheral
import LockProtocol
import Simulation
import Testing
import WorldSupport

/// What the key's shell carries out beside its machines' outputs to the host.
@Suite("The key's shell", .capturesFailures)
struct KeyShellTests {
    @Test("A lock that is enrolled anew counts its receipts anew: the key believes the first of them")
    func receiptsBeginAnew() throws {
        let household = try Household()
        try household.enrollToTheEnd("alice")
        for _ in 0..<3 { #expect(household.isObeyed()) }
        let counted = try #require(household.keptReceiptCounter)
        #expect(counted > 1)
        try household.enrollToTheEnd("alice")
        #expect(household.keptReceiptCounter == nil)
        #expect(household.isObeyed())
        #expect(try #require(household.keptReceiptCounter) < counted)
    }

    @Test("An operator who is superseded hears that, and nothing of the one who took their place")
    func reports() throws {
        let household = try Household()
        try household.openWindow("alice")
        let code = try #require(household.code)
        var heard: [[KeyEnrolmentProgress]] = [[], [], []]
        for operator_ in heard.indices {
            household.call(household.pocket) {
                household.key?.enroll(code, waitMilliseconds: 120_000) { heard[operator_].append($0) }
            }
        }
        household.world.run(forMilliseconds: 30_000) {
            heard[2].contains { if case .enrolled = $0 { true } else { false } }
        }
        for superseded in heard.dropLast() {
            #expect(superseded.count == 2)
            guard case .connecting? = superseded.first, case .failed(.superseded)? = superseded.last else {
                Issue.record("\(superseded)")
                continue
            }
        }
        let last = heard[2].map { "\($0)".prefix { $0 != "(" } }
        #expect(last == ["connecting", "pairing", "paired", "enrolled"])
    }

    @Test("A lock that comes back with its service elsewhere is commanded where the service is now")
    func movedService() throws {
        let household = try Household()
        try household.enrollToTheEnd("alice")
        #expect(household.isObeyed())
        try household.moveLockService()
        #expect(household.isObeyed())
    }
}

/// Publishes another service where a lock's was.
private final class Mover: CBPeripheralManagerCallbacks, @unchecked Sendable {
    private var manager: CBPeripheralManager?
    private(set) var hasMoved = false

    init(_ bluetooth: CBHost) {
        manager = CBPeripheralManager(
            callbacks: self, delivery: .inline,
            options: [CBPeripheralManagerOptionRestoreIdentifierKey: "lock"], host: bluetooth)
    }

    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
        guard peripheral.state == .poweredOn else { return }
        peripheral.removeAllServices()
        peripheral.add(CBMutableService(type: CBUUID(0xAA00), primary: true))
    }

    func peripheralManager(_ peripheral: CBPeripheralManager, didAdd service: CBService, error: (any Error)?) {
        hasMoved = error == nil
    }
}

extension Household {
    /// The lock comes back with its service at other handles.
    fileprivate func moveLockService() throws {
        killLock()
        var mover: Mover?
        door.launchApp { mover = Mover($0) }
        try #require(world.run(forMilliseconds: 10_000) { mover?.hasMoved == true })
        mover = nil
        door.kill()
        launchLock()
        world.run(forMilliseconds: 2_000)
    }
}
