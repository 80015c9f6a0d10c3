import BluetoothCore
import BluetoothHost
import GATT
import LockProtocol
import Synchronization
import Testing

@testable import CoreBluetoothEssentials
@testable import LockCentral

/// What the key's shell knows of one lock: state × input.
@Suite("The session of a lock")
struct LockSessionTests {
    // MARK: Links that were released

    struct Release: CustomTestStringConvertible, Sendable {
        let states: [CBPeripheralState]
        /// What is told afterwards, and whether the enrolment hears of it.
        let told: [(isEnd: Bool, isHeard: Bool)]
        var testDescription: String { "\(states) → \(told)" }

        init(_ states: [CBPeripheralState], _ told: [(Bool, Bool)]) {
            self.states = states
            self.told = told
        }
    }

    private static let (connected, ended) = (false, true)

    static let releases = [
        Release([], [(ended, true)]), Release([], [(connected, true), (ended, true)]),
        Release([.disconnected], [(ended, false), (ended, true)]),
        Release([.disconnected], [(connected, true), (ended, true)]),
        Release([.disconnecting], [(ended, false), (connected, true), (ended, true)]),
        Release([.disconnecting, .disconnecting], [(ended, false), (ended, true)]),
        Release([.connecting], [(connected, false), (ended, false), (connected, true), (ended, true)]),
        Release([.connected], [(ended, false), (connected, true), (ended, true)]),
        Release([.connected, .disconnecting], [(ended, false), (ended, true)]),
        Release([.connected, .connecting], [(ended, false), (connected, false), (ended, false), (connected, true)]),
    ]

    @Test("The enrolment hears of no link that it gave up, and of every other", arguments: releases)
    func released(_ release: Release) {
        let peripheral = CBPeripheral.ofNoHost()
        var session = LockSession(peripheral)
        for state in release.states {
            peripheral.content.withLock { $0.connection.show($0.connection.news(state)) }
            session.release()
        }
        for (number, told) in release.told.enumerated() {
            let isReleased = told.isEnd ? session.takeReleasedEnd() : session.isReleased()
            #expect(isReleased == !told.isHeard, "\(number)")
        }
    }

    // MARK: The tree

    private static let lock = RemoteDatabase(services: [
        RemoteService(
            uuid: LockUUID.lockService, declaration: AttributeHandle(1), end: AttributeHandle(20),
            characteristics: [
                LockUUID.lockState, LockUUID.lockCommand, LockUUID.challenge, LockUUID.lockControlPoint,
                LockUUID.commandReceipt,
            ].enumerated().map { number, uuid in
                let handle = UInt16(2 + 3 * number)
                return RemoteCharacteristic(
                    uuid: uuid, properties: .notify, declaration: AttributeHandle(handle),
                    value: AttributeHandle(handle + 1), end: AttributeHandle(handle + 2))
            })
    ])

    /// A session, as far as it has come.
    private struct Bench {
        let peripheral = CBPeripheral.ofNoHost()
        var session: LockSession

        /// `notifying`: so many of the characteristics that a key listens to.
        init(_ state: String, notifying: Int = 0) {
            session = LockSession(peripheral)
            guard state != "unknown" else { return }
            peripheral.show(KeptTree(database: LockSessionTests.lock, subscriptions: []))
            session.look()
            for characteristic in session.handles?.subscriptions.prefix(notifying) ?? [] {
                characteristic.state.withLock { $0.isNotifying = true }
            }
            if state == "subscribing" { _ = session.prepare(everything: true) }
        }

        var state: String {
            switch session.tree {
            case .unknown: "unknown"
            case .known: "known"
            case .subscribing(_, let awaited): "subscribing \(awaited.count)"
            }
        }

        mutating func step(_ input: String) -> String {
            let known = session.handles?.subscriptions
            let step: LockSession.Step
            switch input {
            case "prepare": step = session.prepare(everything: false)
            case "prepare everything": step = session.prepare(everything: true)
            case "taken":
                guard let first = known?.first else { return "none" }
                step = session.subscribed(to: first, isTaken: true)
            case "refused":
                guard let last = known?.last else { return "none" }
                step = session.subscribed(to: last, isTaken: false)
            case "look":
                session.look()
                return ""
            case "service changed":
                session.forgetTree()
                return ""
            default:
                session.linkEnded()
                return ""
            }
            return switch step {
            case .wait: "wait"
            case .discover: "discover"
            case .subscribe(let missing): "subscribe \(missing.count)"
            case .ready: "ready"
            case .failed: "failed"
            }
        }
    }

    /// State, how many subscriptions stand, input, what is to be done, state afterwards.
    static let steps: [(String, Int, String, String, String)] = [
        ("unknown", 0, "prepare", "discover", "unknown"), ("unknown", 0, "prepare everything", "discover", "unknown"),
        ("unknown", 0, "look", "", "unknown"), ("unknown", 0, "service changed", "", "unknown"),
        ("unknown", 0, "link ended", "", "unknown"),
        ("known", 0, "prepare", "subscribe 4", "subscribing 4"),
        ("known", 3, "prepare", "subscribe 1", "subscribing 1"),
        ("known", 4, "prepare", "ready", "known"), ("known", 4, "prepare everything", "subscribe 4", "subscribing 4"),
        ("known", 0, "taken", "wait", "known"), ("known", 0, "refused", "wait", "known"),
        ("known", 0, "look", "", "known"), ("known", 0, "service changed", "", "unknown"),
        ("known", 0, "link ended", "", "known"),
        ("subscribing", 0, "prepare", "subscribe 4", "subscribing 4"),
        ("subscribing", 0, "prepare everything", "subscribe 4", "subscribing 4"),
        ("subscribing", 0, "taken", "wait", "subscribing 3"), ("subscribing", 0, "refused", "failed", "known"),
        ("subscribing", 0, "look", "", "known"), ("subscribing", 0, "service changed", "", "unknown"),
        ("subscribing", 0, "link ended", "", "known"),
    ]

    @Test("The way to a lock that can be spoken to: every state and every input")
    func steps() {
        for (state, notifying, input, done, after) in Self.steps {
            var bench = Bench(state, notifying: notifying)
            let step = bench.step(input)
            #expect(step == done, "\(state), \(input)")
            #expect(bench.state == after, "\(state), \(input)")
        }
    }

    @Test("A lock is ready once every subscription is taken, in whichever order, and said so once")
    func lastSubscription() throws {
        var bench = Bench("subscribing")
        let awaited = try #require(bench.session.handles).subscriptions
        for characteristic in awaited.dropFirst() {
            guard case .wait = bench.session.subscribed(to: characteristic, isTaken: true) else {
                Issue.record("too early")
                return
            }
        }
        guard case .ready = bench.session.subscribed(to: awaited[0], isTaken: true) else {
            Issue.record("not ready")
            return
        }
        guard case .wait = bench.session.subscribed(to: awaited[0], isTaken: true) else {
            Issue.record("twice")
            return
        }
    }
}
