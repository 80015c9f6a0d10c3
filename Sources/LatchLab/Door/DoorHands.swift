import BluetoothCore
import CLinux
import CommandInterface
import Glibc
import Simulation
import StrikeControl
import StrikeKeeping

/// A word on a simulated door's standard input: what somebody does to it, or what breaks.
enum DoorWord: Hashable {
    case open, close, force
    case set(InputUse, Bool)
    case turn(isLocked: Bool)
    case jam, free, unplug, plug
    case fail(Bool)
    case dead(Bool)
    case show, help, quit

    static let all: [(text: String, word: DoorWord, meaning: String)] = [
        ("open", .open, "Pull at the door: it opens if the bolt lets it."),
        ("close", .close, "Let it fall shut."),
        ("force", .force, "Open it with a crowbar."),
        ("press", .set(.exit, true), "Press the exit button."),
        ("let go", .set(.exit, false), "Let go of it."),
        ("fire", .set(.fire, true), "A fire begins."),
        ("fire over", .set(.fire, false), "It is over."),
        ("tamper", .set(.tamper, true), "Open the housing."),
        ("tamper over", .set(.tamper, false), "Close it."),
        ("turn locked", .turn(isLocked: true), "Throw the bolt by hand."),
        ("turn unlocked", .turn(isLocked: false), "Draw it by hand."),
        ("jam", .jam, "The bolt sticks where it is."),
        ("free", .free, "It moves again."),
        ("unplug", .unplug, "Take the chip away: the strike has no current."),
        ("plug", .plug, "Put it back."),
        ("fail", .fail(true), "The chip answers EIO from now on."),
        ("fail over", .fail(false), "It works again."),
        ("dead", .dead(true), "The strike's line takes every setting, and does nothing."),
        ("dead over", .dead(false), "It works again."),
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

    private let metal: StrikeMetal
    private let words: Int32
    private let timer: Int32
    /// Readable when an input has moved.
    private let edge: Int32
    private let descriptor: Int32
    private let tell: (String) -> Void
    private let quit: () -> Void
    private var buffer: [UInt8] = []

    /// `words` is read until its end, and left open then.
    ///
    /// - Throws: ``Failure`` where a descriptor cannot be had.
    init(
        _ metal: StrikeMetal, words: Int32, tell: @escaping (String) -> Void, quit: @escaping () -> Void
    ) throws(Failure) {
        self.metal = metal
        self.words = words
        self.tell = tell
        self.quit = quit
        timer = latch_timerfd_create()
        edge = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
        descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard timer >= 0, edge >= 0, descriptor >= 0, latch_epoll_add(descriptor, timer, EPOLLIN.rawValue, 0) == 0,
            latch_epoll_add(descriptor, edge, EPOLLIN.rawValue, 0) == 0
        else {
            throw Failure(.unavailable, "no descriptor: \(String(cString: strerror(errno))): raise LimitNOFILE=")
        }
        // A file on a disk cannot be waited for, and need not be: it is read with the first look.
        _ = latch_epoll_add(descriptor, words, EPOLLIN.rawValue, 0)
        metal.descriptor = descriptor
        metal.watch = { tell(Self.text($0)) }
        metal.schedule = { [timer] in _ = latch_timerfd_set(timer, $0.map { max(1, $0.nanoseconds) } ?? 0) }
        metal.wake = { [edge] in eventfd_write(edge, 1) }
        metal.attend = { [unowned self] in attend() }
    }

    deinit {
        close(timer)
        close(edge)
        close(descriptor)
    }

    private func attend() {
        var count: UInt64 = 0
        _ = read(timer, &count, MemoryLayout<UInt64>.size)
        _ = read(edge, &count, MemoryLayout<UInt64>.size)
        metal.pass()
        hear()
    }

    private func hear() {
        var octets = [UInt8](repeating: 0, count: 4_096)
        // It is not set to return at once: a terminal is its shell's too.
        while isReadable {
            let count = read(words, &octets, octets.count)
            if count < 0, errno == EINTR { continue }
            if count == 0 { _ = latch_epoll_remove(descriptor, words) }
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
        case .open: if !metal.pull() { tell("the door does not open: it is locked") }
        case .close: metal.shut()
        case .force: metal.force()
        case .set(let use, let isActive): metal.set(use, isActive: isActive)
        case .turn(let isLocked): metal.turn(isLocked: isLocked)
        case .jam: metal.jam()
        case .free: metal.free()
        case .unplug: metal.unplug()
        case .plug: metal.plug()
        case .fail(let fails): metal.code = fails ? EIO : 0
        case .dead(let isDead): metal.isLineDead = isDead
        case .show: tell(stand)
        case .help:
            for (text, _, meaning) in DoorWord.all {
                tell(text + String(repeating: " ", count: max(1, 15 - text.count)) + meaning)
            }
        case .quit: quit()
        }
    }

    private var stand: String {
        [
            metal.isClosed ? "door closed" : "door open", metal.isBoltLocked ? "bolt locked" : "bolt unlocked",
            metal.isReleased ? "strike released" : "strike at rest", metal.isJammed ? "jammed" : nil,
            metal.hasChip ? nil : "no chip",
        ].compactMap { $0 }.joined(separator: ", ")
    }

    private static func text(_ happening: StrikeMetal.Happening) -> String {
        switch happening {
        case .strike(let isReleased): isReleased ? "strike released" : "strike at rest"
        case .bolt(let isLocked): isLocked ? "bolt locked" : "bolt unlocked"
        case .leaf(let isClosed): isClosed ? "door closed" : "door open"
        case .input(let use, let isActive): "\(use.rawValue) \(isActive ? "on" : "off")"
        case .chip(let isThere): isThere ? "chip there" : "chip gone"
        }
    }
}
