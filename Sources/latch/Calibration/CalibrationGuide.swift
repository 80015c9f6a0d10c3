import BluetoothCore
import CLinux
import CommandInterface
import DaemonControl
import Glibc
import LockCentral
import ProximityWalks

/// A lock after its walk.
struct WalkedLock {
    var id: String
    var lock: String
    /// What counted until now, and whether it was the lock's own.
    var rules: ProximityRules
    var isCalibrated: Bool
    var walk: CalibrationWalk
}

/// Leads through a walk: what the key's daemon reads on one side, Enter on the other.
struct CalibrationGuide {
    /// The daemon ends a walk before: this is one that has stopped.
    private static let silenceMaximumMilliseconds: UInt64 = CalibrationSession.linkWaitMaximumMilliseconds + 10_000
    private static let tickMilliseconds: UInt64 = 100
    private static let sendMilliseconds: UInt64 = 5_000

    private var walk: CalibrationWalk
    private var screen: CalibrationScreen
    private var enters = EnterKey()
    private var walked: WalkedLock?
    /// When the walk began, by this process's clock.
    private var began = Self.now
    private var lastHeard = Self.now

    init(standSeconds: UInt64, screen: CalibrationScreen) {
        walk = CalibrationWalk(standMilliseconds: standSeconds * 1_000)
        self.screen = screen
    }

    private static var now: UInt64 { latch_boottime_nanoseconds() / 1_000_000 }

    /// - Throws: ``ControlFailure`` when the daemon refuses or ends the walk, ``ControlClientError`` when it is silent, ``Failure`` when
    /// standard input ends before the walk.
    mutating func walk(_ lock: String?, with client: inout ControlClient) throws -> WalkedLock? {
        try client.send(CentralRequest.calibrate(lock: lock), deadline: ControlCommand.deadline(Self.sendMilliseconds))
        while walk.phase != .over {
            try hear(&client)
            let milliseconds = Self.now - began
            let isAsked = walk.isLinked && (walk.phase == .comingNear || walk.phase == .goingAway)
            screen.scrolled(by: enters.read(isAsked: isAsked))
            if isAsked, try enters.take() { walk.enter(milliseconds: milliseconds) }
            walk.pass(to: milliseconds)
            if let walked { screen.show(walk, of: walked, milliseconds) }
        }
        screen.end()
        walked?.walk = walk
        return walked
    }

    private mutating func hear(_ client: inout ControlClient) throws {
        let reply: ControlReply
        do throws(ControlClientError) {
            reply = try client.next(deadline: ControlCommand.deadline(Self.tickMilliseconds))
        } catch {
            guard case .timeout = error, Self.now - lastHeard < Self.silenceMaximumMilliseconds else { throw error }
            return
        }
        lastHeard = Self.now
        try take(reply)
    }

    private mutating func take(_ reply: ControlReply) throws {
        switch reply {
        case .error(let failure): throw failure
        case .result: break
        case .event("calibrating", let fields):
            began = Self.now
            let rules = ProximityRules(
                nearDBm: Int8(clamping: fields["near_dbm"]?.number ?? 0),
                awayDBm: Int8(clamping: fields["away_dbm"]?.number ?? 0),
                hearsAdvertisements: fields["hears_advertisements"] != .bool(false))
            walked = WalkedLock(
                id: fields["id"]?.string ?? "", lock: fields["lock"]?.string ?? "", rules: rules,
                isCalibrated: fields["calibrated"] == .bool(true), walk: walk)
        case .event("linked", _): walk.linked()
        case .event("link_lost", _): walk.linkLost(milliseconds: Self.now - began)
        case .event("reading", let fields):
            guard let milliseconds = fields["ms"]?.number.flatMap({ UInt64(exactly: $0) }),
                milliseconds <= CalibrationSession.maximumMilliseconds, let rssi = fields["rssi"]?.number
            else { return }
            walk.read(Int8(clamping: rssi), milliseconds: milliseconds)
        case .event: break
        }
    }
}

/// Lines on standard input, of which each is an Enter. What a script writes ahead waits for its turn; what a person types before being
/// asked says nothing.
private struct EnterKey {
    private static let octetsMaximum = 256

    private let isTerminal = isatty(STDIN_FILENO) == 1
    private var waiting = 0
    private var hasEnded = false

    /// - Throws: ``Failure`` when no more can come.
    mutating func take() throws(Failure) -> Bool {
        guard waiting > 0 else {
            guard !hasEnded else {
                throw Failure(
                    .usage, "standard input ended before the walk did: each of its two stands begins with a line")
            }
            return false
        }
        waiting -= 1
        return true
    }

    /// Takes what is there. How many lines a terminal has shown of it.
    mutating func read(isAsked: Bool) -> Int {
        var interest = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        guard !hasEnded, poll(&interest, 1, 0) > 0 else { return 0 }
        var octets = [UInt8](repeating: 0, count: Self.octetsMaximum)
        let count = Glibc.read(STDIN_FILENO, &octets, octets.count)
        guard count > 0 else {
            hasEnded = count == 0 || errno != EINTR
            return 0
        }
        let lines = octets[..<count].count { $0 == UInt8(ascii: "\n") }
        waiting = isTerminal ? (isAsked ? min(lines, 1) : 0) : waiting + lines
        return isTerminal ? lines : 0
    }
}
