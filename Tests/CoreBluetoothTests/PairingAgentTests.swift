import BluetoothCore
import BluetoothHost
import CoreBluetooth
import Glibc
import HCITransport
import HostComposition
import Synchronization
import TestSupport
import Testing

@testable import CoreBluetooth

/// Two apps' hosts in one process, on the radio of another, whose users are asked about their pairing.
@Suite("A pairing's users", .serialized)
struct PairingAgentTests {
    /// Writes down what it is asked, and says what it was told to.
    final class Scripted: CoreBluetooth.PairingAgent {
        let capability: PairingCapability
        private let consents: Bool
        private let heard = Mutex<[String]>([])
        private let passkeys: (stream: AsyncStream<String>, continuation: AsyncStream<String>.Continuation)
        /// What the other side's user shows.
        let typed: AsyncStream<String>?

        init(_ capability: PairingCapability, consents: Bool = true, types typed: AsyncStream<String>? = nil) {
            (self.capability, self.consents, self.typed) = (capability, consents, typed)
            passkeys = AsyncStream<String>.makeStream()
        }

        var shown: AsyncStream<String> { passkeys.stream }
        var log: [String] { heard.withLock { $0 } }
        private func note(_ line: String) { heard.withLock { $0.append(line) } }

        func confirm(_ pairing: PairingAttempt) async -> Bool {
            note("confirm \(pairing.method.map { "\($0)" } ?? "renewal")")
            return consents
        }
        func show(_ passkey: String, for pairing: PairingAttempt) async {
            note("show")
            passkeys.continuation.yield(passkey)
        }
        func enter(for pairing: PairingAttempt) async -> String? {
            note("enter")
            return await typed?.first { _ in true }
        }
        func compare(_ number: String, for pairing: PairingAttempt) async -> Bool {
            note("compare \(number.count)")
            return consents
        }
        func done(_ pairing: PairingAttempt, error: (any Error)?) async {
            note(error == nil ? "paired" : "not paired")
        }
    }

    /// A door with one value that is read on encrypted links only.
    final class Door: NSObject, CBPeripheralManagerDelegate, @unchecked Sendable {
        static let service = CBUUID(string: "FFE0")
        static let value = CBUUID(string: "FFE1")
        var manager: CBPeripheralManager?

        func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {
            guard peripheral.state == .poweredOn else { return }
            let value = CBMutableCharacteristic(
                type: Self.value, properties: .read, value: Data([42]), permissions: .readEncryptionRequired)
            let service = CBMutableService(type: Self.service, primary: true)
            service.characteristics = [value]
            peripheral.add(service)
            peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [Self.service]])
        }
    }

    /// Reads the value of the first door that it meets.
    final class Reader: NSObject, CBCentralManagerDelegate, CBPeripheralDelegate, @unchecked Sendable {
        var manager: CBCentralManager?
        private var door: CBPeripheral?
        let outcome: AsyncStream<String>
        private let end: AsyncStream<String>.Continuation

        override init() {
            (outcome, end) = AsyncStream.makeStream()
            super.init()
        }

        func centralManagerDidUpdateState(_ central: CBCentralManager) {
            if central.state == .poweredOn { central.scanForPeripherals(withServices: [Door.service]) }
        }
        func centralManager(
            _ central: CBCentralManager, didDiscover peripheral: CBPeripheral, advertisementData: [String: Any],
            rssi RSSI: NSNumber
        ) {
            guard door == nil else { return }
            door = peripheral
            peripheral.delegate = self
            central.stopScan()
            central.connect(peripheral)
        }
        func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
            peripheral.discoverServices([Door.service])
        }
        func peripheral(_ peripheral: CBPeripheral, didDiscoverServices error: (any Error)?) {
            for service in peripheral.services ?? [] { peripheral.discoverCharacteristics(nil, for: service) }
        }
        func peripheral(
            _ peripheral: CBPeripheral, didDiscoverCharacteristicsFor service: CBService, error: (any Error)?
        ) { for characteristic in service.characteristics ?? [] { peripheral.readValue(for: characteristic) } }
        func peripheral(
            _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic, error: (any Error)?
        ) {
            if let error = error as? CBATTError {
                end.yield("error \(error.code.rawValue)")
            } else {
                end.yield("value \(characteristic.value?.map { $0 } ?? [])")
            }
        }
    }

    private static func host(_ air: Air, _ name: String) -> CBHost {
        let address = "unix:\(air.directory.path)/air"
        return DefaultHost.start {
            let settings = try HostSettings(
                environment: ["LATCH_TRANSPORT": address, "HOME": "/nowhere", "LATCH_NAME": name],
                boot: BootID(bits: 1), program: name, machine: name)
            let runtime = try HostRuntime(
                settings.configuration, boot: settings.boot, store: MemoryHostStore(),
                coordinator: MemoryTransactionCoordinator(), air: settings.openAir(), loop: EventLoop(signals: []),
                misuse: { _ in })
            return DefaultHost.Composition(runtime: runtime, claim: nil)
        }
    }

    /// What comes next.
    private static func read(_ pipe: Pipe) async -> Data {
        await offPool { pipe.fileHandleForReading.availableData }
    }

    /// What comes of reading the value, with these users.
    private func read(
        _ central: (any CoreBluetooth.PairingAgent)?, _ peripheral: (any CoreBluetooth.PairingAgent)?
    ) async throws -> String {
        let air = try await Air()
        let (key, lock) = (Self.host(air, "key"), Self.host(air, "lock"))
        key.pairingAgent = central
        lock.pairingAgent = peripheral
        let (door, reader) = (Door(), Reader())
        door.manager = CBPeripheralManager(callbacks: door, queue: DispatchQueue(label: "door"), host: lock)
        reader.manager = CBCentralManager(callbacks: reader, queue: DispatchQueue(label: "reader"), host: key)
        let outcome = await reader.outcome.first { _ in true }
        return try #require(outcome)
    }

    @Test("Without anybody to ask, a value that wants an encrypted link is read, by Just Works, and nobody is told")
    func nobody() async throws { #expect(try await read(nil, nil) == "value [42]") }

    @Test("Users who can only say yes are both asked; either one's no is an error of Apple's, and nobody is bonded")
    func justWorks() async throws {
        for (central, peripheral) in [(true, true), (false, true), (true, false)] {
            let users = (Scripted(.confirmOnly, consents: central), Scripted(.confirmOnly, consents: peripheral))
            let outcome = try await read(users.0, users.1)
            #expect(outcome == (central && peripheral ? "value [42]" : "error 5"))
            #expect(users.1.log.first == "confirm justWorks")
            // The one who answers second is asked only where the first one has said yes.
            #expect(users.0.log.first == (peripheral ? "confirm justWorks" : "not paired"))
        }
    }

    @Test("Six digits are compared by both, and the peripheral's user is asked first whether to pair at all")
    func comparison() async throws {
        let users = (Scripted(.displayYesNo), Scripted(.displayYesNo))
        #expect(try await read(users.0, users.1) == "value [42]")
        #expect(users.0.log.first == "compare 6")
        #expect(users.1.log.prefix(2) == ["confirm numericComparison", "compare 6"])
    }

    @Test("Six digits that one side shows are typed at the other; who types others is not paired with")
    func passkey() async throws {
        let showing = Scripted(.displayOnly)
        let typing = Scripted(.keyboardOnly, types: showing.shown)
        #expect(try await read(typing, showing) == "value [42]")
        #expect(typing.log.first == "enter" && showing.log.prefix(2) == ["confirm passkeyEntry", "show"])

        let wrong = Scripted(
            .keyboardOnly,
            types: AsyncStream {
                $0.yield("no digits")
                $0.finish()
            })
        #expect(try await read(wrong, Scripted(.displayOnly)) == "error 5")
    }

    @Test("At a terminal: a question, an answer, and how it ended")
    func terminal() async throws {
        let (input, output) = (Pipe(), Pipe())
        let agent = TerminalPairingAgent(
            input: input.fileHandleForReading.fileDescriptor, output: output.fileHandleForWriting.fileDescriptor)
        try input.fileHandleForWriting.write(contentsOf: Data("yes\n Y \n".utf8))
        try #require(try await read(Scripted(.displayYesNo), agent) == "value [42]")
        var said = ""
        while !said.contains("Paired with") {
            let more = await Self.read(output)
            try #require(!more.isEmpty)
            said += String(decoding: more, as: UTF8.self)
        }
        let peer = try #require(said.split(separator: " ").first)
        #expect(
            said.hasPrefix("\(peer) wants to pair (you will compare six digits). Allow it? [yes/no] Does \(peer) show ")
        )
        #expect(said.hasSuffix("? [yes/no] Paired with \(peer).\n"))
    }

    @Test("A question at a terminal that is withdrawn takes no answer: the next one gets it")
    func withdrawn() async throws {
        let (input, output) = (Pipe(), Pipe())
        let agent = TerminalPairingAgent(
            input: input.fileHandleForReading.fileDescriptor, output: output.fileHandleForWriting.fileDescriptor)
        let attempt = PairingAttempt(peer: UUID(), method: .passkeyEntry, replacesBond: false, link: 1)
        let first = Task { await agent.enter(for: attempt) }
        // It has asked.
        #expect(await !Self.read(output).isEmpty)
        first.cancel()
        #expect(await first.value == nil)
        try input.fileHandleForWriting.write(contentsOf: Data("12 34-56\n".utf8))
        #expect(await agent.enter(for: attempt) == "12 34-56")
        try input.fileHandleForWriting.close()
        #expect(await agent.enter(for: attempt) == nil, "the input has ended")
    }

    @Test("Six digits are six digits, however they are spaced")
    func digits() {
        #expect(PairingAgentBridge.digits(7) == "000007" && PairingAgentBridge.digits(999_999) == "999999")
        #expect(PairingAgentBridge.passkey(" 012 345 ") == 12_345 && PairingAgentBridge.passkey("123-456") == 123_456)
        for text in ["", "12345", "1234567", "12a456", "١٢٣٤٥٦"] { #expect(PairingAgentBridge.passkey(text) == nil) }
    }
}
