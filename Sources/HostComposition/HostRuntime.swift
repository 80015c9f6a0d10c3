import BlueZ
import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import CoreBluetoothEssentials
import DBusTransport
import Glibc
import HCITransport
import StatePersistence

/// One host on one controller, one store and one loop, and the handle that Apple's managers take: what a daemon, an app's
/// process and a peer of the tests stand on. Confined to the loop's thread but for ``bluetooth``.
package final class HostRuntime {
    package let host: Host
    package let bluetooth: CBHost
    package let loop: EventLoop
    package let driver: HostDriver
    private let giver: SetupCodeGiver
    private let strengths: KernelLinkStrengths
    /// Slices of the app's own that can wait until the radio is quiet: each says whether there are more.
    package var idleWork: () -> HostDriver.IdleSlice = { .over }
    /// What comes due again and again: behind the database's own.
    package var housekeeping: HostDriver.Housekeeping = ({ false }, {})

    /// Nothing has been sent when it returns. `misuse` hears of calls that are ignored because an app broke a rule of the API.
    package init(
        _ configuration: HostConfiguration, boot: BootID, store: any HostStore, coordinator: any TransactionCoordinator,
        air: AirSource, loop: EventLoop, misuse: @escaping @Sendable (String) -> Void
    ) throws {
        self.loop = loop
        var configuration = configuration
        configuration.besideBlueZ = air.adapter
        host = Host(
            configuration: configuration, boot: boot, snapshot: try store.launch(), rows: store.rows, store: store,
            random: OperatingSystemRandom(),
            makeKeyPair: P256KeyPair.generate)
        host.beginIteration(now: SystemClock.now())
        driver = HostDriver(host: host, loop: loop, air: air.connect(on: loop), coordinator: coordinator)
        giver = SetupCodeGiver(loop: loop)
        strengths = KernelLinkStrengths(loop: loop)
        driver.onCode = { [host, giver] data, adapter in
            giver.give(data, adapter: adapter) { refusal in
                host.beginIteration(now: SystemClock.now())
                host.codeProvided(refusal.map { .codeNotTaken($0) })
            }
        }
        driver.onStrength = { [host, strengths] peer, adapter in
            strengths.read(peer, adapter: adapter) { rssi in
                host.beginIteration(now: SystemClock.now())
                host.strengthRead(of: peer, rssi)
            }
        }
        bluetooth = CBHost(driver.executor, wallClockSeconds: { Int64(time(nil)) }, misuse: misuse)
    }

    /// The same on a database, which is looked after while nothing else is to do.
    package convenience init(
        _ configuration: HostConfiguration, boot: BootID, state: StateStore, store: SQLiteHostStore, air: AirSource,
        loop: EventLoop, misuse: @escaping @Sendable (String) -> Void
    ) throws {
        let database = state.database
        if database.onDamagedRow == nil {
            database.onDamagedRow = { misuse("\(database.path): \($0.table) \($0.row) is damaged (\($0.reason))") }
        }
        try self.init(
            configuration, boot: boot, store: store, coordinator: database, air: air, loop: loop, misuse: misuse)
        driver.housekeeping = (
            { [unowned self] in database.wantsCheckpoint || housekeeping.isDue() },
            { [unowned self] in
                if database.wantsCheckpoint { try database.checkpointIfNeeded() } else { try housekeeping.perform() }
            }
        )
        var isCheckDue = !database.isChecked
        driver.idleWork = { [unowned self] in
            if isCheckDue {
                isCheckDue = false
                try checkWhole(database)
            }
            return host.readOn() ? .more : idleWork()
        }
    }

    /// Damage ends the loop, as a commit that failed does, and lets nothing more be committed.
    private func checkWhole(_ database: Database) throws {
        let verdict = FileVerdict(database, driver)
        let mailbox = loop.mailbox
        try database.checkWhole { fault in
            if let fault { mailbox.post { verdict.refuse(fault) } }
        }
    }
}

/// Whom the check of a file tells, if they are still there. Only passed on by the check's thread; used on the loop's.
private final class FileVerdict: @unchecked Sendable {
    private weak var database: Database?
    private weak var driver: HostDriver?

    init(_ database: Database, _ driver: HostDriver) {
        self.database = database
        self.driver = driver
    }

    func refuse(_ fault: StoreError) {
        database?.fail(fault)
        driver?.fail(fault)
    }
}

/// Where a controller is, and how its packets are reached: each ``open`` is another attempt.
package struct ControllerSource {
    package let name: String
    /// False for what is gone once it is closed.
    package let canReopen: Bool
    package let backOff: TransportRecovery.BackOff
    package let open: () throws(TransportError) -> HCIStream

    package init(
        name: String, canReopen: Bool, backOff: TransportRecovery.BackOff = TransportRecovery.BackOff(),
        open: @escaping () throws(TransportError) -> HCIStream
    ) {
        self.name = name
        self.canReopen = canReopen
        self.backOff = backOff
        self.open = open
    }

    /// The one that `address` names; its traffic goes into `capture` too.
    package init(_ address: TransportAddress, capture: BTSnoopWriter? = nil) {
        self.init(name: "\(address)", canReopen: address.canReopen) { () throws(TransportError) in
            HCIStream(try Transport.open(address), capture: capture)
        }
    }

    /// The first attempt.
    package func launch() -> Result<HCIStream, TransportError> {
        do throws(TransportError) { return .success(try open()) } catch { return .failure(error) }
    }
}

/// The system's random source, for the host.
private struct OperatingSystemRandom: RandomSource {
    /// Keys are made of these: no second copy is left behind.
    mutating func appendOctets(_ count: Int, to octets: inout [UInt8]) { SystemRandom.append(count, to: &octets) }
}
