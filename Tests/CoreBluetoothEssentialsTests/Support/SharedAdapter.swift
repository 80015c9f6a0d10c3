import BlueZ
import BlueZSupport
import BluetoothCore
import BluetoothCrypto
import CoreBluetoothEssentials
import DBus
import HCI
import LockCentral
import LockProtocol
import MemoryStores
import SecurityManager
import Simulation
import Testing

@testable import BluetoothHost

/// A key beside a bluetoothd that does what it is asked for, and whoever is bonded with that under the lock's address, whom the test plays.
final class SharedAdapter {
    typealias Script = BlueZScript

    static let programSecret = Secret([UInt8](repeating: 8, count: ProgramKey.octets))
    static let boot = BootID(bits: 1)

    /// Reaches the host from the test's thread, inside the iteration that runs.
    private final class InPlace: HostExecutor, @unchecked Sendable {
        var host: Host?
        var isOnLoop: Bool { true }
        func execute(_ body: @escaping @Sendable (Host) -> Void) { if let host { body(host) } }
        func join() -> Host? { host }
    }

    let host: Host
    let peer: PeerIdentifier
    let keyStore = MemoryKeyStore()
    private let loop = InPlace()
    private(set) var key: KeyDaemon?
    private(set) var events: [KeyEvent] = []
    private(set) var progress: [KeyCommandProgress] = []
    private(set) var enrolment: [KeyEnrolmentProgress] = []
    private(set) var now = Instant(nanoseconds: 1_000_000_000)
    private var waiting: [(id: DBusCallID, call: DBusCall)] = []
    /// What bluetoothd was called for, each time.
    private(set) var members: [String] = []
    /// What was written, by the end of its characteristic's UUID.
    private(set) var writes: [(characteristic: UInt8, octets: [UInt8])] = []
    /// How bluetoothd refuses a write; nil: it takes it.
    var refusal: DBusError?

    /// `secret`: what the program keeps with the bond. `keys`: the bond's own, which are bluetoothd's where there are none.
    init(
        secret: Secret? = programSecret, keys: [UInt8] = [], state: BondState = .confirmed,
        unlocksWhenNear: Bool = false
    ) throws {
        let store = MemoryHostStore()
        let identity: IdentityAddress? = IdentityAddress(Script.lockAddress)
        let bond = Bond(
            id: BondID(5), identity: identity, ltk: Secret(keys), model: .outOfBand, state: state,
            credential: "lock \(Script.lockAddress)", applicationSecret: secret)
        store.append(.bond(.upsert(bond)))
        store.didCommit()
        var configuration = HostConfiguration(deviceName: "key")
        configuration.besideBlueZ = .any
        host = Host(
            configuration: configuration, boot: Self.boot, snapshot: store.launch(), rows: store.rows, store: store,
            random: SeededRandom(seed: 1), makeKeyPair: P256KeyPair.generate)
        loop.host = host
        peer = host.peer(at: Script.lockAddress)
        keyStore.append(.lock(LockRecord(peer: peer, name: "Front", unlocksWhenNear: unlocksWhenNear)))
        keyStore.didCommit()
        host.beginIteration(now: now)
        key = try KeyDaemon(
            .init(restoreIdentifier: "key", boot: Self.boot, unlocksWhenNear: unlocksWhenNear), host: host,
            bluetooth: CBHost(loop), store: keyStore, observe: { [unowned self] in events.append($0) })
        try turn()
        try hear(.opened)
    }

    /// Of a window for a program at the lock.
    static func code() throws -> SetupCode {
        let lock = try #require(IdentityAddress(Script.lockAddress))
        let confirm = [UInt8](repeating: 3, count: SetupCode.confirmOctets)
        let random = Secret([UInt8](repeating: 4, count: SetupCode.randomOctets))
        return try #require(SetupCode(lock: lock, confirm: confirm, random: random, wantsProgramKey: true))
    }

    // MARK: Iterations

    /// One iteration and all that comes of it, bluetoothd's answers among them.
    @discardableResult
    func turn<R>(_ body: (Host) throws -> R = { _ in }) throws -> R {
        let result = try iterate(body)
        while !waiting.isEmpty {
            let next = waiting.removeFirst()
            for event in answers(to: next.id, next.call) { try iterate { $0.heard(event) } }
        }
        return result
    }

    @discardableResult
    private func iterate<R>(_ body: (Host) throws -> R) throws -> R {
        host.beginIteration(now: now)
        let result = try body(host)
        repeat {
            try host.settleRound(MemoryTransactionCoordinator(), clock: { now }) { act in
                switch act {
                case .bus(.call(let id, let call)): waiting.append((id, call))
                case .call(let call): call()
                case .packet: Issue.record("a packet for a controller")
                case .bus, .code, .strength, .controllerFailed: break
                }
            }
        } while host.hasWork
        return result
    }

    func hear(_ event: DBusEvent) throws { try turn { $0.heard(event) } }

    func run(milliseconds: UInt64) throws {
        let end = now.advanced(byMilliseconds: milliseconds)
        while let deadline = host.deadline, deadline <= end {
            now = max(now, deadline)
            try turn { $0.timerFired() }
        }
        now = end
    }

    // MARK: bluetoothd

    private func answers(to id: DBusCallID, _ call: DBusCall) -> [DBusEvent] {
        members.append(call.member)
        func answer(_ body: [DBusValue] = []) -> DBusEvent { .answered(id, .success(body)) }
        switch call.member {
        case "GetNameOwner": return [answer([.string(Script.daemon)])]
        case "GetManagedObjects": return [answer([Self.objects])]
        case "Disconnect":
            return [answer(), lock(["Connected": .boolean(false), "ServicesResolved": .boolean(false)])]
        case "WriteValue":
            if case .octets(let octets)? = call.body.first, let number = Self.number(call.path) {
                writes.append((number, octets))
            }
            return [refusal.map { .answered(id, .failure($0)) } ?? answer()]
        case "ReadValue": return [.answered(id, .failure(DBusError(name: "org.bluez.Error.Failed")))]
        default: return [answer()]
        }
    }

    private func lock(_ properties: [String: DBusValue], by sender: String = Script.daemon) -> DBusEvent {
        Script.changed(Script.lock, "Device1", properties, by: sender)
    }

    /// bluetoothd has connected with whoever was heard under the lock's address.
    func connected(_ isConnected: Bool, by sender: String = Script.daemon) throws {
        try hear(
            lock(
                isConnected
                    ? ["Connected": .boolean(true)]
                    : ["Connected": .boolean(false), "ServicesResolved": .boolean(false)], by: sender))
    }

    func powered(_ isOn: Bool) throws {
        try hear(Script.changed(Script.adapter, "Adapter1", ["Powered": .boolean(isOn)]))
    }

    /// Whoever is there has the key of bluetoothd's bond.
    func ready(by sender: String = Script.daemon) throws {
        try hear(lock(["ServicesResolved": .boolean(true)], by: sender))
    }

    func comesUp() throws {
        try connected(true)
        try ready()
    }

    func advertises(_ rssi: Int16) throws { try hear(lock(["RSSI": .int16(rssi)])) }

    /// A value of the lock's characteristic with this number.
    func notify(_ number: UInt8, _ octets: [UInt8], by sender: String = Script.daemon) throws {
        try hear(Script.changed(Self.path(number), "GattCharacteristic1", ["Value": .octets(octets)], by: sender))
    }

    func challenge(_ bits: UInt64, by sender: String = Script.daemon) throws {
        let challenge = Challenge(id: ChallengeID(bits: bits), remainingLife: 50, flags: [])
        try notify(Self.challenge, challenge.encoded, by: sender)
    }

    // MARK: The key

    /// Asks for an opening, whose progress is kept.
    func ask(waitMilliseconds: UInt64 = 10_000) throws {
        try turn { _ in
            key?.command(.unlock, lock: nil, waitMilliseconds: waitMilliseconds) { [unowned self] in
                progress.append($0)
            }
        }
    }

    /// Enrols by this code, whose progress is kept.
    func enroll(_ code: SetupCode) throws {
        try turn { _ in
            key?.enroll(code, waitMilliseconds: 60_000) { [unowned self] in enrolment.append($0) }
        }
    }

    var verdicts: [KeyVerdict] { progress.compactMap { if case .ended(let verdict) = $0 { verdict } else { nil } } }

    /// Commands that have left.
    var commands: [[UInt8]] { writes.filter { $0.characteristic == Self.command }.map(\.octets) }
    /// What was asked at the control point.
    var questions: [[UInt8]] { writes.filter { $0.characteristic == Self.controlPoint }.map(\.octets) }

    var statesTold: Int { events.count { if case .lockState = $0 { true } else { false } } }

    // MARK: The lock's tree

    static let lockState: UInt8 = 1
    static let command: UInt8 = 2
    static let challenge: UInt8 = 3
    static let controlPoint: UInt8 = 4
    static let receipt: UInt8 = 7

    private static let service = Script.lock + "/service0010"
    private static let characteristics = [lockState, command, challenge, controlPoint, receipt]

    /// A declaration, a value and a descriptor each.
    private static func handle(_ number: UInt8) -> Int { 0x11 + 3 * Int(number) }

    private static func path(_ number: UInt8, descriptor: Bool = false) -> String {
        func digits(_ handle: Int) -> String { "00" + String(handle, radix: 16) }
        let path = service + "/char" + digits(handle(number))
        return descriptor ? path + "/desc" + digits(handle(number) + 2) : path
    }

    private static func number(_ path: String) -> UInt8? { characteristics.first { self.path($0) == path } }

    private static var objects: DBusValue {
        guard case .array(let element, let all) = Script.objects() else { return Script.objects() }
        // What the script's lock has in the place of this tree goes.
        let kept = all.filter { entry in
            guard case .entry(.objectPath(let path), _) = entry else { return false }
            return !path.hasPrefix(Script.lock + "/")
        }
        func object(_ path: String, _ interface: String, _ properties: [String: DBusValue]) -> DBusValue {
            .entry(
                .objectPath(path),
                .array(of: "{sa{sv}}", [.entry(.string("org.bluez." + interface), .properties(properties))]))
        }
        func uuid(_ number: UInt8) -> DBusValue { .string("fd51000\(number)-d1db-463d-86fd-15efb82160a8") }
        var tree = [
            object(service, "GattService1", ["UUID": .string(Script.lockService), "Primary": .boolean(true)])
        ]
        for number in characteristics {
            let flags = number == command ? ["write", "write-without-response"] : ["read", "write", "notify"]
            tree.append(
                object(path(number), "GattCharacteristic1", ["UUID": uuid(number), "Flags": .strings(flags)]))
            tree.append(object(path(number, descriptor: true), "GattDescriptor1", ["UUID": .string("2902")]))
        }
        return .array(of: element, kept + tree)
    }
}
