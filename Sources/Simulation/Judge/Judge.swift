import BluetoothCore
import LockCentral
import LockPeripheral
import LockProtocol

/// What a schedule has broken, by what operators were told, by what was seen to leave the keys, and by the metal; in the judge's
/// time. Nothing that a lock or a key keeps is asked.
package struct Judge {
    /// The lock whose metal this is.
    let door: Int
    let requests: [Ledger.Request]
    /// Whether the key's process has ended meanwhile: then nobody may have been told an end.
    let keyHasEnded: Bool
    let metal: [MetalJournal.Movement]
    let absences: [Stretch]
    /// Which keys may pull the latch.
    let unlatching: Set<Int>
    let end: Instant
    let settings: LockSettings
    /// As they were seen to leave keys.
    var commands: [ChallengeID: Ledger.Command] = [:]
    /// Whether the lock may have been in passage in this time.
    var mayBeInPassage: (Instant, Instant) -> Bool = { _, _ in false }
    /// Whether anything else has asked the lock to open in this time: the button inside, or a fire.
    var mayOpen: (Instant, Instant) -> Bool = { _, _ in false }
    /// When nobody can expect the bolt to be sent out, though the lock lives.
    var reasonsToWait: [Stretch] = []
    /// Who pressed the button inside, and when the lock could hear of that: an open bolt stays open for as long as behind a command.
    var presses: [(at: Instant, heard: Instant)] = []
    /// Whether the bolt was withdrawn about then, whoever has done that.
    var wasFree: (Instant) -> Bool = { _ in false }
    /// How many commands one request may have taken; nil: nobody knows which of them could be answered.
    var commandsMaximum: Int?
    /// Whether the metal does what it is told, and its sensors say what it does.
    var isSound = true

    /// How long a bolt takes, with a launch before it.
    private static let promptMilliseconds: UInt64 = 2_500
    package var broken: [String] {
        requests.filter { $0.door == door }.flatMap(brokenBy) + brokenByMetal + brokenRelocks
    }

    private func movements(of request: Ledger.Request) -> [BoltJournal.Line] {
        metal.map(\.line).filter { line in line.command.map { request.sent[$0] != nil } ?? false }
    }

    private func brokenBy(_ request: Ledger.Request) -> [String] {
        var broken: [String] = []
        let name = "\(request.operation.name) of key \(request.key)"
        let moved = movements(of: request)
        if request.ends.count > 1 { broken.append("\(name) has ended \(request.ends.count) times") }
        if request.ends.isEmpty, !keyHasEnded, request.id != nil { broken.append("\(name) was taken, and has no end") }
        if request.operation == .unlatch, !unlatching.contains(request.key), !moved.isEmpty {
            broken.append("\(name) has no right to it, and the bolt moved")
        }
        if let late = request.sent.values.first(where: { $0 > request.until }) {
            broken.append("\(name) left the key \(late.milliseconds(since: request.until)) ms late")
        }
        if let most = commandsMaximum, request.sent.count > most {
            broken.append("\(name) was asked of the lock with \(request.sent.count) commands")
        }
        if moved.count > 1 { broken.append("\(name) was done \(moved.count) times") }
        switch request.ends.first {
        case .done where isSound && moved.isEmpty && request.operation != .lock && !wasOpen(request):
            broken.append("\(name) is done, and nothing moved")
        case .refused, .aborted, .expired, .cancelled, .declined, .unproven:
            if isSound, !moved.isEmpty {
                broken.append("\(name) has not taken effect, it was told, and the bolt moved")
            }
        case .done, .accepted, .unknown, nil: break
        }
        if isSound, request.outcomes.contains(.done), moved.isEmpty, request.operation != .lock, !wasOpen(request) {
            broken.append("\(name) was done, it was told, and nothing moved")
        }
        return broken
    }

    /// The bolt was open already when a command of it came. Somebody may bring another one later.
    private func wasOpen(_ request: Ledger.Request) -> Bool {
        let arrivals = request.sent.keys.compactMap { commands[$0] }.flatMap(\.arrivals).filter { $0.door == door }
        return arrivals.contains { _, arrived in
            wasFree(arrived) || metal.last { $0.line.at <= arrived }.map { $0.line.movement != .lock } ?? false
        }
    }

    /// As long as the slowest disk and the next process keep an opening on its way.
    private static let slowMilliseconds: UInt64 = 15_000

    private var brokenByMetal: [String] {
        metal.compactMap { movement in
            let line = movement.line
            guard line.movement != .lock else { return nil }
            guard let command = line.command else {
                let before = line.at.nanoseconds - min(line.at.nanoseconds, Self.slowMilliseconds * 1_000_000)
                let begin = Instant(nanoseconds: before)
                return mayBeInPassage(begin, line.at) || mayOpen(begin, line.at) ? nil : "the lock opened by itself"
            }
            let asking = requests.first { $0.sent[command] != nil }
            guard let asking, let sent = asking.sent[command] else {
                return "the lock opened for a command that no key has sent"
            }
            if asking.door != door { return "the lock opened for a command to another lock" }
            if asking.operation == .lock { return "the lock opened for a command to lock" }
            guard let arrived = asking.arrived else { return "the lock opened for a command that never came to it" }
            // Intent: what is not begun by then is not begun.
            if line.at > arrived.advanced(byMilliseconds: Intent.openingLifeMilliseconds) {
                return "the lock opened \(line.at.milliseconds(since: arrived)) ms after its command had come"
            }
            // Whoever kept it meanwhile: the challenge that it answers is dead by then.
            let life = settings.challengeLifeMilliseconds + Intent.openingLifeMilliseconds
            if line.at > sent.advanced(byMilliseconds: life) {
                return "the lock opened \(line.at.milliseconds(since: sent)) ms after the key had sent its command"
            }
            // What its sender meant is in what it signed: no slack is left.
            if line.at > asking.until {
                return "the lock opened \(line.at.milliseconds(since: asking.until)) ms later than its user meant"
            }
            return nil
        }
    }

    /// Whatever opened is locked again by its time, or as soon as there is a process.
    private var brokenRelocks: [String] {
        guard let relockSeconds = settings.relockSeconds else { return [] }
        // Lock'n'go has a time of its own.
        let longest = UInt64(max(relockSeconds, settings.lockAndGoSeconds)) * 1_000
        return metal.indices.compactMap { place in
            let line = metal[place].line
            guard line.movement != .lock else { return nil }
            let next = metal.dropFirst(place + 1).first?.line
            guard let due = due(of: line, longestMilliseconds: longest) else { return nil }
            if mayBeInPassage(line.at, due) { return nil }
            guard let next else { return due < end ? "the door stayed open" : nil }
            return next.at > due ? "the door was locked \(next.at.milliseconds(since: due)) ms late" : nil
        }
    }

    /// When somebody can be expected to have done what was due.
    private func expected(_ due: Instant) -> Instant {
        (absences + reasonsToWait).sorted { $0.from < $1.from }.reduce(due) { due, wait in
            wait.from <= due ? max(due, (wait.to ?? end).advanced(byMilliseconds: Self.promptMilliseconds)) : due
        }
    }

    /// When the bolt has to be on its way back; nil: never. Commands, and the button inside, put that off while it is open.
    private func due(of line: BoltJournal.Line, longestMilliseconds longest: UInt64) -> Instant? {
        func due(_ command: Ledger.Command?, from instant: Instant) -> Instant? {
            let argument = command?.argument ?? 0
            guard argument < 255 else { return nil }
            let open = argument == 0 ? longest : max(longest, UInt64(argument) * 1_000)
            return instant.advanced(byMilliseconds: open + Self.promptMilliseconds)
        }
        guard var last = due(line.command.flatMap { commands[$0] }, from: line.at) else { return nil }
        let opening = commands.values.filter { $0.operation != 1 }
        let later = opening.flatMap { command in command.arrivals.filter { $0.door == door }.map { (command, $0.at) } }
        for (command, at) in later.sorted(by: { $0.1 < $1.1 }) where at >= line.at && at <= expected(last) {
            guard let further = due(command, from: at) else { return nil }
            last = max(last, further)
        }
        for (at, heard) in presses where at >= line.at && at <= expected(last) {
            last = max(last, heard.advanced(byMilliseconds: longest + Self.promptMilliseconds))
        }
        return expected(last)
    }
}
