import BluetoothCore
import CLinux
import CommandInterface
import Dispatch
import Foundation
import GPIO
import Glibc
import StrikeControl
import Synchronization
import TestSupport

@testable import StrikeKeeping

/// A keeper's loop on a thread of its own, and what was soldered to its chip.
final class LoopBench: @unchecked Sendable {
    private final class Chip: DoorChip {
        private final class Lines: DoorLines {
            let owner: LoopBench
            init(_ owner: LoopBench) { self.owner = owner }
            deinit { owner.requests.withLock { $0.ended += 1 } }
            var descriptor: Int32? { nil }
            func set(isActive: Bool) throws(GPIOFailure) -> Bool {
                owner.set(isActive)
                return isActive
            }
            func isActive() throws(GPIOFailure) -> Bool { owner.level.withLock { $0 } }
            func inputs() throws(GPIOFailure) -> [LineReading] { [] }
        }

        let owner: LoopBench
        init(_ owner: LoopBench) { self.owner = owner }
        func open() throws(GPIOFailure) -> any DoorLines {
            owner.set(false)
            owner.requests.withLock { $0.made += 1 }
            return Lines(owner)
        }
    }

    /// What a test waits for at most, where a keeper does not do what it should.
    static let waitSeconds = 60

    private let scratch = ScratchDirectory()
    /// Open at first: as a kill in a pulse has left it.
    private let level = Mutex(true)
    private let moved = DispatchSemaphore(value: 0)
    private let stop: (Int32, Int32)
    private let begun = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)
    private let words = Mutex<[String]>([])
    private let said = DispatchSemaphore(value: 0)
    private let requests = Mutex((made: 0, ended: 0))
    private let outcome = Mutex<ExitCode?>(nil)
    /// Of another keeper, at this one's socket; -1 where there is none.
    private var otherKeeper: Int32 = -1

    /// `strike`: more of that section. `isTaken`: another keeper has the socket.
    init(_ strike: String = "", user: uid_t = geteuid(), isTaken: Bool = false) throws {
        if isTaken {
            otherKeeper = latch_open(scratch.path + "/s.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            guard flock(otherKeeper, LOCK_EX | LOCK_NB) == 0 else { throw DaemonEnd.Silence(code: errno) }
        }
        stop = try makeSocketPair()
        let plan = try strikePlan(
            "chip = \"door\"\n[socket]\npath = \"\(scratch.path)/s\"\nuser = \"\(user)\"\n"
                + "[strike]\nline = \"0\"\nfail = \"secure\"\n" + strike)
        let stop = stop.0
        Thread.detachNewThread { [self] in
            // It goes with the thread, and its socket too.
            let loop = try? KeeperLoop(plan, chip: Chip(self), signals: []) { [self] text in
                words.withLock { $0.append(text) }
                said.signal()
            }
            begun.signal()
            let code = try? loop?.run(until: stop)
            outcome.withLock { $0 = code }
            ended.signal()
        }
        begun.wait()
    }

    deinit {
        for end in [stop.0, stop.1] { close(end) }
        otherKeeperEnds()
    }

    /// The socket is free.
    func otherKeeperEnds() {
        if otherKeeper >= 0 { close(otherKeeper) }
        otherKeeper = -1
    }

    private func set(_ isActive: Bool) {
        level.withLock { $0 = isActive }
        moved.signal()
    }

    var isOpen: Bool { level.withLock { $0 } }
    var told: [String] { words.withLock { $0 } }
    /// The strike's line was asked of its chip so often.
    var requestsMade: Int { requests.withLock { $0.made } }
    /// It was let go so often.
    var requestsEnded: Int { requests.withLock { $0.ended } }
    /// How the loop has ended; nil where it has not, or never began.
    var result: ExitCode? { outcome.withLock { $0 } }

    /// Waits until the operator has been told one thing more; false where nothing is told.
    func isTold() -> Bool { said.wait(timeout: .now() + .seconds(Self.waitSeconds)) == .success }

    /// Waits until the line is at rest; false where it does not come to that.
    func comesToRest() -> Bool {
        while isOpen {
            guard moved.wait(timeout: .now() + .seconds(Self.waitSeconds)) == .success else { return false }
        }
        return true
    }

    /// Ends the loop as a signal does.
    func end() {
        _ = write(stop.1, "x", 1)
        ended.wait()
    }

    func connect() throws -> DaemonEnd { try DaemonEnd(scratch.path + "/s") }
}

/// The other end of a keeper's socket.
final class DaemonEnd {
    /// It was not answered; errno.
    struct Silence: Error { let code: Int32 }

    private let descriptor: Int32

    init(_ path: String) throws {
        descriptor = try makeConnection(to: path, SOCK_SEQPACKET)
        var patience = timeval(tv_sec: LoopBench.waitSeconds, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    /// False where the connection has ended.
    @discardableResult func say(_ request: StrikeRequest) -> Bool {
        let octets = request.encoded
        return send(descriptor, octets, octets.count, latch_message_flags()) == octets.count
    }

    func order(_ intent: UInt64, _ movement: StrikeMovement, pulse: UInt32 = 60_000) -> Bool {
        say(.order(StrikeOrder(intent: intent, movement: movement, pulseMilliseconds: pulse, notAfter: nil)))
    }

    /// The next report, waited for; nil when the connection has ended.
    func hear() throws -> StrikeReport? {
        var octets = [UInt8](repeating: 0, count: 64)
        let count = recv(descriptor, &octets, octets.count, 0)
        // What was not read yet when the other end went is no report any more.
        if count == 0 || count < 0 && errno == ECONNRESET { return nil }
        guard count > 0 else { throw Silence(code: errno) }
        return try StrikeReport(exactly: Array(octets[..<count]))
    }

    /// The end of that order, behind whatever is said besides.
    func end(of intent: UInt64) throws -> StrikeResult? {
        while let report = try hear() { if case .ended(intent, let result) = report { return result } }
        return nil
    }

    func greet() throws -> StrikeStatus? {
        say(.hello(version: StrikeProtocol.version))
        while let report = try hear() { if case .status(let status) = report { return status } }
        return nil
    }
}
