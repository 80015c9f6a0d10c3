import CLinux
import CommandInterface
import Glibc
import Simulation
import StrikeControl
import StrikeKeeping

/// A word on a simulated door's standard input: what somebody does to it, or what breaks.
enum DoorWord: Hashable {
    /// Only as far as the bolt lets it.
    case open
    case metal(StrikeMetal.Event)
    case show, help, quit

    static let all: [(text: String, word: DoorWord, meaning: String)] = [
        ("open", .open, "Pull at the door: it opens if the bolt lets it."),
        ("close", .metal(.shuts), "Let it fall shut."),
        ("force", .metal(.opens), "Open it with a crowbar."),
        ("press", .metal(.begins(.pressed)), "Press the exit button."),
        ("let go", .metal(.ends(.pressed)), "Let go of it."),
        ("fire", .metal(.begins(.fire)), "A fire begins."),
        ("fire over", .metal(.ends(.fire)), "It is over."),
        ("tamper", .metal(.begins(.tampered)), "Open the housing."),
        ("tamper over", .metal(.ends(.tampered)), "Close it."),
        ("turn locked", .metal(.turns(isLocked: true)), "Throw the bolt by hand."),
        ("turn unlocked", .metal(.turns(isLocked: false)), "Draw it by hand."),
        ("jam", .metal(.begins(.jammed)), "The bolt sticks where it is."),
        ("free", .metal(.ends(.jammed)), "It moves again."),
        ("unplug", .metal(.begins(.unplugged)), "Take the chip away: the strike has no current."),
        ("plug", .metal(.ends(.unplugged)), "Put it back."),
        ("fail", .metal(.begins(.failing)), "The chip answers EIO from now on."),
        ("fail over", .metal(.ends(.failing)), "It works again."),
        ("dead", .metal(.begins(.line(.deaf))), "The strike's line takes every setting, and does nothing."),
        ("dead over", .metal(.ends(.line(.deaf))), "It works again."),
        ("show", .show, "Say how everything stands."),
        ("help", .help, "List these words."),
        ("quit", .quit, "Put the line to its rest, and end."),
    ]

    /// nil for what is no word.
    init?(_ text: String) {
        let words = text.split(whereSeparator: { $0 == " " || $0 == "\t" }).joined(separator: " ")
        guard let found = Self.all.first(where: { $0.text == words }) else { return nil }
        self = found.word
    }
}

/// Who stands at a simulated door: words come in, what becomes of the door goes out, a line for each.
///
/// The keeper's loop asks for the door's inputs when ``descriptor`` is readable, and looks for a chip that is gone ten times a second:
/// both is the moment in which words are read, on its own thread.
final class DoorHands {
    /// No line of words is longer.
    static let lineMaximumOctets = 256

    let door: SharedMetal
    /// How long the bolt takes.
    private let travelMilliseconds: UInt64
    private let words: Int32
    /// When the bolt arrives.
    private let timer: Int32
    /// Readable when an input has moved.
    private let edge: Int32
    private let waited: Int32
    private let tell: (String) -> Void
    private let quit: () -> Void
    private var buffer: [UInt8] = []

    /// `words` is read until its end, and left open then.
    ///
    /// - Throws: ``Failure`` where a descriptor cannot be had.
    init(
        _ rules: StrikeRules, travelMilliseconds: UInt64, words: Int32, tell: @escaping (String) -> Void,
        quit: @escaping () -> Void
    ) throws(Failure) {
        door = SharedMetal(rules)
        self.travelMilliseconds = travelMilliseconds
        self.words = words
        self.tell = tell
        self.quit = quit
        timer = latch_timerfd_create()
        edge = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
        waited = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard timer >= 0, edge >= 0, waited >= 0, latch_epoll_add(waited, timer, EPOLLIN.rawValue, 0) == 0,
            latch_epoll_add(waited, edge, EPOLLIN.rawValue, 0) == 0
        else {
            throw Failure(.unavailable, "no descriptor: \(String(cString: strerror(errno))): raise LimitNOFILE=")
        }
        // A file on a disk cannot be waited for, and need not be: it is read with the first look.
        _ = latch_epoll_add(waited, words, EPOLLIN.rawValue, 0)
        door.watch = { [unowned self] in hear($0) }
    }

    deinit {
        close(timer)
        close(edge)
        close(waited)
    }

    private func readWords() {
        var octets = [UInt8](repeating: 0, count: 4_096)
        // It is not set to return at once: a terminal is its shell's too.
        while isReadable {
            let count = read(words, &octets, octets.count)
            if count < 0, errno == EINTR { continue }
            if count == 0 { _ = latch_epoll_remove(waited, words) }
            guard count > 0 else { return }
            for octet in octets[..<count] {
                guard octet == UInt8(ascii: "\n") else {
                    if buffer.count <= Self.lineMaximumOctets { buffer.append(octet) }
                    continue
                }
                let (line, isWhole) = (String(decoding: buffer, as: UTF8.self), buffer.count <= Self.lineMaximumOctets)
                buffer.removeAll(keepingCapacity: true)
                guard isWhole else {
                    tell("a line has more than \(Self.lineMaximumOctets) octets: `help` lists the words")
                    continue
                }
                if !line.allSatisfy(\.isWhitespace) { take(line) }
            }
        }
    }

    private var isReadable: Bool {
        var interest = pollfd(fd: words, events: Int16(POLLIN), revents: 0)
        return poll(&interest, 1, 0) > 0
    }

    private func take(_ line: String) {
        guard let word = DoorWord(line) else {
            return tell("there is no word `\(Output.shown(line))`: `help` lists them")
        }
        switch word {
        case .open:
            if door.metal.isHeldShut { tell("the door does not open: it is locked") } else { door.handle(.opens) }
        case .metal(let event): door.handle(event)
        case .show: tell(stand)
        case .help:
            for (text, _, meaning) in DoorWord.all {
                tell(text + String(repeating: " ", count: max(1, 15 - text.count)) + meaning)
            }
        case .quit: quit()
        }
    }

    private var stand: String {
        let metal = door.metal
        return [
            metal.isClosed ? "door closed" : "door open", metal.isBoltLocked ? "bolt locked" : "bolt unlocked",
            metal.isReleased ? "strike released" : "strike at rest", metal.has(.jammed) ? "jammed" : nil,
            metal.has(.unplugged) ? "no chip" : nil,
        ].compactMap { $0 }.joined(separator: ", ")
    }

    // MARK: What becomes of the door

    private func hear(_ output: StrikeMetal.Output) {
        if let text = Self.text(output) { tell(text) }
        switch output {
        case .goes:
            guard travelMilliseconds > 0 else { return door.handle(.arrives) }
            _ = latch_timerfd_set(timer, latch_boottime_nanoseconds() + travelMilliseconds * 1_000_000)
        case .edge, .began(.unplugged): eventfd_write(edge, 1)
        case .began, .ended, .strike, .bolt, .leaf: break
        }
    }

    /// nil: there is nothing to see of it, or whoever wrote a word for it knows.
    private static func text(_ output: StrikeMetal.Output) -> String? {
        switch output {
        case .strike(let isReleased): isReleased ? "strike released" : "strike at rest"
        case .bolt(let isLocked): isLocked ? "bolt locked" : "bolt unlocked"
        case .leaf(let isClosed): isClosed ? "door closed" : "door open"
        case .began(.unplugged): "chip gone"
        case .ended(.unplugged): "chip there"
        case .began(let condition): input(condition).map { "\($0) on" }
        case .ended(let condition): input(condition).map { "\($0) off" }
        case .goes, .edge: nil
        }
    }

    private static func input(_ condition: StrikeMetal.Condition) -> String? {
        switch condition {
        case .pressed: InputUse.exit.rawValue
        case .fire: InputUse.fire.rawValue
        case .tampered: InputUse.tamper.rawValue
        case .line, .stuckSensor, .unplugged, .failing, .held, .jammed: nil
        }
    }
}

/// The keeper of this process, which a signal ends.
extension DoorHands: ChipProgram {
    var isOver: Bool { false }
    var descriptor: Int32? { waited }

    func looks() {
        var count: UInt64 = 0
        let isDue = read(timer, &count, MemoryLayout<UInt64>.size) > 0
        _ = read(edge, &count, MemoryLayout<UInt64>.size)
        if isDue { door.handle(.arrives) }
        readWords()
    }

    func beginsCall() {}
    func endsCall() {}
}
