import BluetoothCore
import Foundation
import LockProtocol
import MemoryStores
import Testing

@testable import LockPeripheral

/// The bolt's table in docs/DOOR.md.
@Suite("The bolt's table")
struct DoorTableTests {
    /// Where a bolt is, or where it goes to.
    private enum Standing: String, CaseIterable {
        case locked, unlocked, jammed, unknown, unlocking, locking, unlatched

        var code: BoltCode {
            switch self {
            case .locked: .locked
            case .unlocked: .unlocked
            case .jammed: .jammed
            case .unknown: .unknown
            case .unlocking: .unlocking
            case .locking: .locking
            case .unlatched: .unlatched
            }
        }
    }

    private enum Event: String, CaseIterable {
        case unlock, lock, lockAndGo = "lock-and-go", unlatch, relock = "relock due", exit, fire, fireEnds = "fire ends"
        case handLocks = "a hand locks", handOpens = "a hand opens"
    }

    private func bench(_ standing: Standing, relock: BootDeadline? = nil) throws -> LockBench {
        let position: BoltPosition =
            switch standing {
            case .locked, .unlocking, .unlatched: .locked
            case .unlocked, .locking: .unlocked
            case .jammed: .jammed
            case .unknown: .unknown
            }
        var snapshot = LockSnapshot.furnished
        snapshot.bolt = BoltRecord(position: position, door: .closed)
        snapshot.relock = relock
        var bench = LockBench(snapshot, reading: BoltReading(position: position, door: .closed))
        switch standing {
        case .locked, .unlocked, .jammed, .unknown: break
        case .unlocking: try bench.ask(.unlock)
        case .locking: try bench.ask(.lock)
        case .unlatched: try bench.ask(.unlatch)
        }
        #expect(bench.machine.state.bolt == standing.code)
        return bench
    }

    /// What the event makes of it, in words.
    private func play(_ event: Event, on standing: Standing) throws -> String {
        let soon = BootDeadline(boot: boot, at: Instant(nanoseconds: 1_500_000_000))
        var bench = try bench(standing, relock: event == .relock ? soon : nil)
        let underWay = bench.orders.first
        var words: [String] = []
        switch event {
        case .unlock: words = refusal(try bench.ask(.unlock))
        case .lock: words = refusal(try bench.ask(.lock))
        case .lockAndGo: words = refusal(try bench.ask(.lockAndGo))
        case .unlatch: words = refusal(try bench.ask(.unlatch))
        case .relock:
            bench.outputs = bench.run(milliseconds: 1_000)
        case .exit: bench.feel(.exit)
        case .fire: bench.feel(.fire(true))
        case .fireEnds:
            bench.feel(.fire(true))
            if let order = bench.orders.first { bench.put(.actuator(.ended(order.intent, .unlocked))) }
            bench.feel(.fire(false))
        case .handLocks: bench.put(.actuator(.bolt(.locked)))
        case .handOpens: bench.put(.actuator(.bolt(.unlocked)))
        }
        words += bench.orders.map { "\($0.movement)" }
        words += bench.outputs.alarms.map { "alarm: \($0.alarm.kind == .forced ? "forced" : "jam")" }
        if let underWay, bench.machine.isMoving, bench.orders.isEmpty {
            bench.put(.actuator(.ended(underWay.intent, underWay.movement.target)))
            words += bench.orders.map { "then \($0.movement)" }
        }
        return words.isEmpty ? "–" : words.joined(separator: ", ")
    }

    private func refusal(_ result: LockResult?) -> [String] {
        switch result {
        case .accepted, .done, nil: []
        case .busy?: ["busy"]
        case .jammed?: ["jammed"]
        default: [result.map { "\($0)" } ?? ""]
        }
    }

    @Test("Each cell of the table in docs/DOOR.md is what the lock does")
    func table() throws {
        var lines = ["| | " + Event.allCases.map(\.rawValue).joined(separator: " | ") + " |"]
        lines.append("|---" + String(repeating: "|---", count: Event.allCases.count) + "|")
        for standing in Standing.allCases {
            let cells = try Event.allCases.map { try play($0, on: standing) }
            lines.append("| \(standing.rawValue) | " + cells.joined(separator: " | ") + " |")
        }
        let text = lines.joined(separator: "\n")
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let page = try String(contentsOf: root.appending(path: "docs/DOOR.md"), encoding: .utf8)
        #expect(page.contains(text), "docs/DOOR.md should have:\n\(text)")
    }
}
