import BusSupport
import DBus
import Foundation
import Glibc
import HCITransport
import TestSupport
import Testing

@testable import latch

/// What a shortcut of the keyboard does.
@Suite("Daemons: unlocking the nearest lock", .serialized, .timeLimit(.minutes(30)))
struct NearestCommandTests {
    /// A key with two locks, which the radio has as the first two controllers.
    private final class Hallway {
        let bench: Bench
        private var daemons: [Daemon] = []

        init() throws {
            bench = try Bench()
            try bench.makeRoom("lock2")
            daemons = try [bench.start("peripheral", "lock"), bench.start("peripheral", "lock2")]
            daemons.append(try bench.start("central", "key"))
            try bench.enroll("anna")
            try bench.enroll("anna", at: "lock2")
        }

        func stand(metres: Int, _ other: Int) throws {
            try bench.air("distance 1 3 \(metres)")
            try bench.air("distance 2 3 \(other)")
        }

        func unlock(_ more: String..., environment: [String: String] = [:]) throws -> Program.Outcome {
            try Program.run(
                bench.words("central", "unlock", "key", ["--nearest"] + more), environment: environment)
        }

        func bolt(_ lock: String) throws -> String {
            let text = try bench.latch("peripheral", "status", lock).output
            return text.split(separator: "\n").first { $0.hasPrefix("bolt: ") }.map { String($0.dropFirst(6)) } ?? ""
        }
    }

    @Test("The nearer of two locks opens and the other one does not; between two that are equally near none does")
    func nearer() throws {
        let hallway = try Hallway()
        try hallway.stand(metres: 8, 1)
        let outcome = try hallway.unlock("--relock", "254")
        #expect(outcome.status == 0 && outcome.output.contains("nearest lock=Latch 2"), "\(outcome)")
        #expect(try hallway.bolt("lock") == "locked" && hallway.bolt("lock2") == "unlocked")
        try hallway.stand(metres: 2, 2)
        let refused = try hallway.unlock("--json")
        #expect(refused.status == 1 && refused.errorLines.count == 1, "\(refused)")
        #expect(refused.output.contains(#""code":"refused""#), "\(refused)")
        for name in ["Latch, Latch 2", "Latch 2, Latch"].filter(refused.errors.contains) {
            #expect(refused.errors.contains("equally near: \(name): name one with --lock"))
        }
        #expect(refused.errors.contains("Latch") && refused.errors.contains("Latch 2"), "\(refused)")
        #expect(try hallway.bolt("lock") == "locked")
        for other in [1, 2] { try hallway.bench.air("cut \(other) 3") }
        let nobody = try hallway.unlock("--wait", "2")
        #expect(nobody.status == 6 && nobody.errors.contains("no lock is in reach"), "\(nobody)")
        #expect(try hallway.bench.latch("central", "status", "key").output.contains("connection: disconnected"))
    }

    @Test(
        "Between two that are equally near the preferred one opens, and one that is nearer opens whichever is preferred"
    )
    func preferred() throws {
        let hallway = try Hallway()
        func prefer(_ lock: String) throws {
            let outcome = try hallway.bench.latch("central", "prefer", "key", [lock])
            #expect(outcome.output == "\(lock): comes first\n", "\(outcome)")
        }
        try prefer("Latch")
        try prefer("Latch 2")
        try hallway.stand(metres: 2, 2)
        let outcome = try hallway.unlock("--relock", "254")
        #expect(outcome.status == 0 && outcome.output.contains("nearest lock=Latch 2"), "\(outcome)")
        #expect(outcome.output.contains("by=preference"), "\(outcome)")
        #expect(try hallway.bolt("lock") == "locked" && hallway.bolt("lock2") == "unlocked")
        try hallway.stand(metres: 1, 8)
        let nearer = try hallway.unlock("--relock", "254")
        #expect(nearer.status == 0 && nearer.output.contains("nearest lock=Latch "), "\(nearer)")
        #expect(!nearer.output.contains("by=preference"), "\(nearer)")
        #expect(try hallway.bolt("lock") == "unlocked")
    }

    @Test(
        "Without a session bus the lock opens all the same, and the terminal and a program's line say that nobody was told"
    )
    func noBus() throws {
        let bench = try Bench()
        let daemons = try [bench.start("peripheral", "lock"), bench.start("central", "key")]
        try bench.enroll("anna")
        let words = bench.words("central", "unlock", "key", ["--nearest", "--notify"])
        let told = try Program.run(words)
        #expect(told.status == 0 && told.output.hasSuffix("outcome: done\n"), "\(told)")
        #expect(told.errors == "latch: no notification was shown: this user has no session bus\n")
        let gone = try Program.run(
            words + ["--json"], environment: ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent/bus"])
        let lines = gone.output.split(separator: "\n")
        #expect(gone.status == 0 && lines.last == #"{"result":{"outcome":"done"}}"#, "\(gone)")
        #expect(lines.dropLast().last?.hasPrefix(#"{"event":"not_notified","reason":"#) == true, "\(gone)")
        let areRunning = daemons.allSatisfy { $0.isRunning }
        #expect(areRunning)
    }

    @Test("A desktop is told what came of it: that a lock opened, and why none did when the key does not run")
    func notified() throws {
        let bench = try Bench()
        let lock = try bench.start("peripheral", "lock")
        let key = try bench.start("central", "key")
        try bench.enroll("anna")
        try bench.succeed("central", "rename", "key", ["--lock", "Latch", "--name", "Front door"])
        let desktop = try Desktop()
        let words = bench.words("central", "unlock", "key", ["--nearest", "--notify"])
        let done = try desktop.run(words)
        #expect(done.status == 0 && done.errors.isEmpty, "\(done)")
        #expect(desktop.notices.map { $0[3] } == [.string("Front door")])
        #expect(desktop.notices.last?[4] == .string("Unlocked."))
        #expect(lock.isRunning && key.end() == 0)
        let failed = try desktop.run(words)
        #expect(failed.status == 6 && !failed.errors.contains("no notification was shown"), "\(failed)")
        guard desktop.notices.count == 2, case .string(let text) = desktop.notices[1][4] else {
            Issue.record("\(desktop.notices)")
            return
        }
        #expect(text.hasPrefix("No daemon is listening on"), "\(text)")
        // The command leaves the bus at once: a shell that knows its application takes the notice down with it.
        let hints = desktop.notices.compactMap { $0[6].properties }
        #expect(
            hints.count == 2 && hints.allSatisfy { $0["desktop-entry"] == nil && $0["category"] != nil }, "\(hints)")
    }

    @Test("Why a desktop shows nothing moves no cursor of the terminal's")
    func refusingDesktop() throws {
        let bench = try Bench(withRadio: false)
        let desktop = try Desktop()
        desktop.refusal = DBusError(name: "e.r.r", text: "\u{1B}[2Jno\r")
        let refused = try desktop.run(["central", "unlock", "--notify", "--state", bench.path("key")])
        #expect(refused.status == 6)
        #expect(
            refused.errors.hasPrefix(#"latch: no notification was shown: "\u001b[2Jno\r""# + "\n"),
            "\(refused.errors.debugDescription)")
    }

    @Test("A desktop that answers nothing is waited for, and no longer than its bound")
    func silentDesktop() throws {
        let bench = try Bench(withRadio: false)
        let desktop = try Desktop()
        desktop.isSilent = true
        let command = try ChildProcess(
            [Program.path, "central", "unlock", "--notify", "--state", bench.path("key")],
            environment: Program.environment.merging(["DBUS_SESSION_BUS_ADDRESS": desktop.address]) { $1 })
        // Asked what it can, the desktop says nothing from there on.
        try desktop.answers { desktop.hasBeenAsked }
        #expect(command.wait().code == 6)
        let told = String(decoding: command.errors.readDataToEndOfFile(), as: UTF8.self)
        #expect(told.contains("no notification was shown: the desktop did not answer in time"), "\(told)")
    }

    /// A session's bus with something on it that shows notices.
    private final class Desktop {
        private let bus: PrivateBus
        private let loop: EventLoop
        private let shower: Party
        /// The arguments of each Notify.
        private(set) var notices: [[DBusValue]] = []
        private(set) var hasBeenAsked = false
        var isSilent = false
        /// What it says to each notice in place of showing it.
        var refusal: DBusError?
        var address: String { bus.address }

        func answers(until isSo: () -> Bool) throws { try loop.run([shower], until: isSo) }

        init() throws {
            bus = try PrivateBus()
            loop = try EventLoop(signals: [])
            shower = Party(at: bus.address, loop, servesAnybody: true)
            shower.start()
            let owned = shower.callBus("RequestName", [.string("org.freedesktop.Notifications"), .uint32(0)])
            try loop.run([shower]) { shower.answer(to: owned) != nil }
            shower.service = { [unowned self] call in
                hasBeenAsked = true
                guard !isSilent else { return nil }
                switch call.member {
                case "GetCapabilities": return .success([.strings(["body"])])
                case "Notify":
                    notices.append(call.body)
                    if let refusal { return .failure(refusal) }
                    return .success([.uint32(UInt32(notices.count))])
                default: return .failure(DBusError(name: "org.freedesktop.DBus.Error.UnknownMethod"))
                }
            }
        }

        /// Runs a command to the end of its notice, and then to its own.
        func run(_ words: [String]) throws -> (status: Int32, errors: String) {
            let seen = notices.count
            let command = try ChildProcess(
                [Program.path] + words,
                environment: Program.environment.merging(["DBUS_SESSION_BUS_ADDRESS": bus.address]) { $1 },
                output: .unheard)
            try loop.run([shower]) { notices.count > seen }
            return (command.wait().code, String(decoding: command.errors.readDataToEndOfFile(), as: UTF8.self))
        }
    }
}
