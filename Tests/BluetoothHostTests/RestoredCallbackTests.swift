import BluetoothCore
import Simulation
import Testing
import WorldSupport

@testable import BluetoothHost

/// When an app hears its first word behind a launch: what was restored is at work by then.
@Suite(.capturesFailures) struct RestoredCallbackTests {
    /// A passer-by whose app scans, and waits for somebody who never comes.
    private final class Street {
        let world = World()
        let passer: Node
        var app: CentralApp?
        /// Opcodes of what the controller has answered in this life with success.
        var answered: [UInt16] = []
        /// What the app has heard, and how much had been answered then.
        var told: [(word: String, answers: [UInt16])] = []

        init() {
            passer = world.add("passer", seed: 91)
            passer.onReceived = { [unowned self] packet in
                guard packet.count >= 7, packet[0] == 0x04 else { return }
                if packet[1] == 0x0E, packet[6] == 0 { answered.append(UInt16(packet[4]) | UInt16(packet[5]) << 8) }
                if packet[1] == 0x0F, packet[3] == 0 { answered.append(UInt16(packet[5]) | UInt16(packet[6]) << 8) }
            }
        }

        func live(asks: Bool) {
            answered = []
            told = []
            passer.launch { host in
                let app = CentralApp(host, restoreIdentifier: "passer")
                self.app = app
                tell("first", host)
                tell("second", host)
                guard asks else { return }
                host.startScan(app.manager, ScanRecord(services: [], allowDuplicates: false))
                let stranger = DeviceAddress(kind: .random, bits: 0xC000_0000_0001)
                host.connect(app.manager, host.peer(at: stranger), options: 0, askedAtSeconds: 0)
            }
        }

        func tell(_ word: String, _ host: Host) {
            host.tellAfterCommit { [unowned self] in told.append((word, answered)) }
        }

        /// A life that asks, and ends once it scans and connects.
        func liveBefore() {
            live(asks: true)
            world.run(forMilliseconds: 1_000)
            kill()
        }

        func kill() {
            passer.kill()
            app = nil
        }

        var words: [String] { told.map(\.word) }
    }

    private static let scanning: UInt16 = 0x2042
    private static let connecting: UInt16 = 0x2043

    @Test("An app that comes back hears nothing before its controller scans and connects, and then everything in order")
    func returns() throws {
        let street = Street()
        street.liveBefore()
        street.live(asks: false)
        #expect(street.told.isEmpty)
        // While the first ones wait.
        try #require(street.world.run { street.passer.host?.hostState(for: .central) == .poweredOn })
        street.passer.call { street.tell("third", $0) }
        try #require(street.world.run { !street.told.isEmpty })
        street.passer.call { street.tell("fourth", $0) }
        #expect(street.words == ["first", "second", "third", "fourth"])
        let answers = try #require(street.told.first?.answers)
        #expect(answers.contains(Self.scanning) && answers.contains(Self.connecting))
        #expect(street.passer.host?.deadline.map { $0 > street.world.now } ?? true, "nothing that is due stays due")
    }

    @Test("An app for which nothing was restored waits for nothing but the commit")
    func isNew() {
        let street = Street()
        street.live(asks: true)
        #expect(street.words == ["first", "second"])
        #expect(street.answered.isEmpty)
    }

    @Test("A controller that does not answer keeps an app for a second, and not for a millisecond more")
    func isSilent() {
        let street = Street()
        street.liveBefore()
        street.passer.wire.withholds = { _ in true }
        street.live(asks: false)
        street.world.run(forMilliseconds: RestoredCallbacks.waitMaximumMilliseconds - 1)
        #expect(street.told.isEmpty)
        street.world.run(forMilliseconds: 1)
        #expect(street.words == ["first", "second"])
        #expect(street.answered.isEmpty)
    }

    @Test(
        "Without a controller there is nothing to wait for",
        arguments: [HostState.unsupported, .unauthorized, .poweredOff])
    func isAbsent(_ state: HostState) {
        let street = Street()
        street.liveBefore()
        street.passer.wire.withholds = { _ in true }
        street.live(asks: false)
        #expect(street.told.isEmpty)
        street.passer.call { $0.transportUnavailable(state) }
        #expect(street.words == ["first", "second"])
    }

    @Test("A controller that refuses to scan keeps nobody waiting until it is asked again")
    func isRefused() throws {
        let street = Street()
        street.liveBefore()
        // Command Disallowed.
        street.passer.wire.rewrites = { packet in
            guard packet.starts(with: [0x04, 0x0E]), packet.count == 7, packet[4...5] == [0x42, 0x20] else {
                return packet
            }
            return packet.dropLast() + [0x0C]
        }
        street.live(asks: false)
        let begin = street.world.now
        try #require(street.world.run { !street.told.isEmpty })
        #expect(street.world.now.milliseconds(since: begin) < RestoredCallbacks.waitMaximumMilliseconds)
        #expect(!street.answered.contains(Self.scanning) && street.answered.contains(Self.connecting))
    }

    @Test("A host that ends while an app waits tells it what was committed, and nothing else")
    func ends() throws {
        let street = Street()
        street.liveBefore()
        street.passer.wire.withholds = { _ in true }
        street.live(asks: false)
        let host = try #require(street.passer.host)
        host.beginIteration(now: street.world.now)
        street.tell("never committed", host)
        host.abandon()
        host.releaseActs(clock: { street.world.now }) { act in if case .call(let call) = act { call() } }
        #expect(street.words == ["first", "second"])
    }
}
