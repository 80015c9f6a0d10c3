import BluetoothCore
import BluetoothHost
import HCI
import Simulation
import Testing
import WorldSupport

private func at(_ milliseconds: UInt64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

private let broken = ControllerFailure.hardwareError(code: 1)
private let silent = ControllerFailure.unresponsive(HCIReset.opcode)
private let useless = ControllerFailure.bringUpFailed(HCILEReadBufferSize.opcode, .status(.hardwareFailure))

extension ControllerRecovery {
    fileprivate mutating func given(_ input: Input, at milliseconds: UInt64) -> [Output] {
        var outputs: [Output] = []
        handle(input, now: BluetoothHostTests.at(milliseconds), into: &outputs)
        return outputs
    }
}

/// Core 5.4, Vol 4, Part E, 7.7.16 (Hardware Error event) and 4.4 (Command Flow Control)
@Suite(.capturesFailures) struct ControllerRecoveryTests {
    /// A machine in each of its states, reached at instant 0.
    static let states: [(String, ControllerRecovery)] = {
        let absent = ControllerRecovery()
        var comingUp = absent
        _ = comingUp.given(.transportOpened, at: 0)
        var up = comingUp
        _ = up.given(.cameUp, at: 0)
        var resting = up
        _ = resting.given(.failed(broken), at: 0)
        _ = resting.given(.failed(broken), at: 0)
        return [("absent", absent), ("coming up", comingUp), ("up", up), ("resting", resting)]
    }()

    static let inputs: [(String, ControllerRecovery.Input)] = [
        ("opened", .transportOpened), ("closed", .transportClosed), ("failed", .failed(broken)),
        ("silent", .failed(silent)), ("useless", .failed(useless)), ("came up", .cameUp), ("timer", .timerFired),
    ]

    private static let resetNow: [ControllerRecovery.Output] = [
        .startOver(broken, .reset(afterMilliseconds: 0)), .reset,
    ]
    private static let resetUseless: [ControllerRecovery.Output] = [
        .startOver(useless, .reset(afterMilliseconds: 0)), .reset,
    ]
    private static let reopen: [ControllerRecovery.Output] = [.startOver(silent, .reopen)]

    /// One second later. What is not named changes nothing and does nothing.
    static let table: [String: ([ControllerRecovery.Output], ControllerRecovery.State)] = [
        "absent, opened": ([.reset], .comingUp),
        "coming up, opened": ([.reset], .comingUp),
        "up, opened": ([.reset], .comingUp),
        "resting, opened": ([.reset], .comingUp),
        "coming up, closed": ([], .absent),
        "up, closed": ([], .absent),
        "resting, closed": ([], .absent),
        "coming up, failed": (resetNow, .comingUp),
        "up, failed": (resetNow, .comingUp),
        "coming up, useless": (resetUseless, .comingUp),
        "up, useless": (resetUseless, .comingUp),
        "coming up, silent": (reopen, .absent),
        "up, silent": (reopen, .absent),
        "coming up, came up": ([], .up(since: at(1_000))),
        "resting, timer": ([.reset], .comingUp),
    ]

    @Test("state × input", arguments: states.map(\.0), inputs.map(\.0))
    func transition(_ state: String, _ input: String) throws {
        var machine = try #require(Self.states.first { $0.0 == state }).1
        let before = machine.state
        let given = try #require(Self.inputs.first { $0.0 == input }).1
        let outputs = machine.given(given, at: 1_000)
        let expected = Self.table["\(state), \(input)"] ?? ([], before)
        #expect(outputs == expected.0)
        #expect(machine.state == expected.1)
    }

    @Test("A controller is unsupported from a bring-up in vain until it comes up, or fails in another way")
    func unsupported() {
        var machine = ControllerRecovery()
        _ = machine.given(.transportOpened, at: 0)
        for ending in [ControllerRecovery.Input.cameUp, .failed(broken)] {
            #expect(!machine.isUnsupported)
            _ = machine.given(.failed(useless), at: 0)
            #expect(machine.isUnsupported)
            _ = machine.given(.transportClosed, at: 0)
            _ = machine.given(.transportOpened, at: 0)
            #expect(machine.isUnsupported)
            _ = machine.given(ending, at: 0)
        }
        #expect(!machine.isUnsupported)
    }

    @Test("the table names no transition that there is not")
    func tableIsWhole() {
        let all = Self.states.flatMap { state in Self.inputs.map { "\(state.0), \($0.0)" } }
        #expect(Set(Self.table.keys).isSubset(of: all))
    }

    @Test(
        "A controller that does nothing but fail: four resets, each later than the last, then its transport is closed")
    func bounded() {
        var machine = ControllerRecovery()
        _ = machine.given(.transportOpened, at: 0)
        var remedies: [ControllerRemedy] = []
        var resets = 0
        var now: UInt64 = 0
        for _ in 0..<100 {
            for output in machine.given(.failed(broken), at: now) {
                switch output {
                case .startOver(_, let remedy): remedies.append(remedy)
                case .reset: resets += 1
                }
            }
            guard let deadline = machine.deadline else { continue }
            #expect(!machine.isListening)
            #expect(machine.given(.timerFired, at: deadline.milliseconds(since: at(0)) - 1) == [], "too early")
            now = deadline.milliseconds(since: at(0))
            resets += machine.given(.timerFired, at: now).count
        }
        #expect(
            remedies == [
                .reset(afterMilliseconds: 0), .reset(afterMilliseconds: 250), .reset(afterMilliseconds: 500),
                .reset(afterMilliseconds: 1_000), .reopen,
            ])
        #expect(resets == ControllerRecovery.resetsMaximum)
        #expect(machine.state == .absent)
    }

    @Test("Up for 30 s, a controller has earned a reset at once", arguments: [29_999, 30_000])
    func forgiven(_ lasting: UInt64) {
        var machine = ControllerRecovery()
        _ = machine.given(.transportOpened, at: 0)
        _ = machine.given(.failed(broken), at: 0)
        _ = machine.given(.cameUp, at: 0)
        let delay: UInt64 = lasting < ControllerRecovery.stableMilliseconds ? 250 : 0
        #expect(
            machine.given(.failed(broken), at: lasting).first == .startOver(broken, .reset(afterMilliseconds: delay)))
    }

    // MARK: In a host

    @Test("Events of a life that a Reset has ended make no link and no report")
    func staleEvents() throws {
        let scene = HostScenarioTests.Scene()
        scene.start()
        scene.world.run(forMilliseconds: 100)
        let app = try #require(scene.peripheral)
        scene.lock.wire.withholds = { $0.starts(with: [4, 0x0E, 4, 1, 3, 0x0C]) }
        scene.lock.inject([[4, 0x10, 1, 7]])
        #expect(scene.lock.failures == [.hardwareError(code: 7)])
        // LE Connection Complete, and another hardware error: both were said before the Reset was heard.
        scene.lock.inject([
            [4, 0x3E, 19, 1, 0, 0x33, 0, 1, 1, 1, 2, 3, 4, 5, 0xC6, 24, 0, 0, 0, 200, 0, 0], [4, 0x10, 1, 8],
        ])
        #expect(app.links.isEmpty)
        #expect(scene.lock.failures.count == 1)
        scene.lock.wire.withholds = { _ in false }
        scene.lock.inject([[4, 0x0E, 4, 1, 3, 0x0C, 0]])
        scene.world.run(forMilliseconds: 100)
        #expect(app.states.last == .poweredOn)
        try scene.connect()
    }

    @Test("A controller that does not answer a Reset has its transport opened anew, and everything runs again")
    func silentReset() throws {
        let scene = HostScenarioTests.Scene()
        scene.start()
        try scene.connect()
        let app = try #require(scene.central)
        scene.key.wire.withholds = { $0.starts(with: [4, 0x0E]) }
        scene.key.inject([[4, 0x10, 1, 7]])
        scene.world.run(forMilliseconds: CommandQueue.answerTimeoutMilliseconds + 1) { scene.key.failures.count == 2 }
        #expect(scene.key.failures == [.hardwareError(code: 7), .unresponsive(HCIReset.opcode)])
        #expect(scene.key.remedies == [.reset(afterMilliseconds: 0), .reopen])
        #expect(app.disconnections == 1)
        scene.key.wire.withholds = { _ in false }
        #expect(scene.world.run(forMilliseconds: 20_000) { app.link != nil })
        #expect(app.connections == 2)
    }

    @Test("A stream out of step: resetting at once, and while the host rests nothing that is heard counts")
    func outOfStep() throws {
        let scene = HostScenarioTests.Scene()
        scene.start()
        try scene.connect()
        let app = try #require(scene.peripheral)
        let sent = scene.lock.sent.count
        scene.lock.call { $0.transportOutOfStep(indicator: 0x99) }
        #expect(app.links.isEmpty)
        #expect(scene.lock.sent.dropFirst(sent).first == [1, 3, 0x0C, 0])
        scene.world.run(forMilliseconds: 10)
        scene.lock.call { $0.transportOutOfStep(indicator: nil) }
        #expect(scene.lock.remedies.last == .reset(afterMilliseconds: 250))
        let facts = scene.lock.sent.count
        scene.lock.inject([[4, 0x0E, 4, 1, 3, 0x0C, 0], [4, 0x10, 1, 7]])
        #expect(scene.lock.sent.count == facts)
        #expect(scene.lock.failures.count == 2)
        scene.world.run(forMilliseconds: 300)
        #expect(app.states.last == .poweredOn)
    }
}
