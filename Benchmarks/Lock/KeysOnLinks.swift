import CLinux
import Glibc
import LockProtocol

/// The keys at the other end of a lock's links, and a watch on its metal: what the daemon writes for its controller and for its
/// bolt, as soon as it does.
struct KeysOnLinks {
    enum Heard {
        /// A word on the link with this place.
        case word(Int, SignedLink.Word)
        /// The bolt's journal has a line more.
        case bolt
    }

    private let lock: RelayedLock
    private var links: [SignedLink]
    private var stream = HCIPackets()
    /// nil where nobody looks at the metal.
    private let watch: FileWatch?

    private static let patienceMilliseconds: Int32 = 60_000

    /// Connects all of them, and waits until each has a challenge.
    init(_ lock: RelayedLock, _ links: [SignedLink], bolt: String? = nil) throws {
        self.lock = lock
        self.links = links
        watch = try bolt.map { try FileWatch($0) }
        try connect()
    }

    private mutating func connect() throws {
        try lock.send(try links.flatMap { try $0.connected() })
        try awaitChallenges()
    }

    /// Links anew: a lock lets nobody stay for long.
    mutating func reconnect() throws {
        try disconnect()
        try connect()
    }

    mutating func disconnect() throws {
        for place in links.indices { try lock.send(links[place].disconnected()) }
    }

    mutating func awaitChallenges() throws {
        while links.contains(where: { $0.challenge == nil }) { _ = try hear() }
    }

    mutating func command(_ operation: LockOperation, at place: Int = 0) throws -> [UInt8] {
        try links[place].command(operation)
    }

    /// When the next receipt came, in milliseconds.
    mutating func receipt() throws -> Double {
        while true {
            let (heard, at) = try hear()
            for case .word(_, .receipt) in heard { return at }
        }
    }

    /// Waits for what comes next, and says when it came, in milliseconds. The controller's answers go back at once.
    mutating func hear() throws -> (heard: [Heard], at: Double) {
        var waiting = [
            pollfd(fd: lock.host, events: Int16(POLLIN), revents: 0),
            pollfd(fd: lock.controller, events: Int16(POLLIN), revents: 0),
            pollfd(fd: watch?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        guard poll(&waiting, 3, Self.patienceMilliseconds) > 0 else {
            throw BenchmarkError("the lock answers no signed command")
        }
        let now = Clock.milliseconds
        var heard: [Heard] = []
        if waiting[1].revents != 0 { try lock.relay() }
        if waiting[2].revents != 0, let watch {
            watch.drain()
            heard.append(.bolt)
        }
        guard waiting[0].revents != 0 else { return (heard, now) }
        guard let packets = stream.read(lock.host) else { throw lock.isGone }
        for packet in packets {
            guard let place = links.firstIndex(where: { $0.isMine(packet) }) else {
                try lock.forward(packet)
                continue
            }
            let (word, answer) = try links[place].hear(packet)
            try lock.send(answer)
            heard.append(.word(place, word))
        }
        return (heard, now)
    }
}

/// Tells that a file was written to.
final class FileWatch {
    let descriptor: Int32

    init(_ path: String) throws {
        descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        guard descriptor >= 0, inotify_add_watch(descriptor, path, UInt32(IN_MODIFY)) >= 0 else {
            throw BenchmarkError(system: path)
        }
    }

    func drain() {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while read(descriptor, &buffer, buffer.count) > 0 {}
    }

    deinit { close(descriptor) }
}
