import CLinux
import Glibc

/// A lock's daemon with this process between it and its radio, from its launch until its controller has answered that it
/// advertises. Ended with SIGKILL when it is let go.
final class RelayedLock {
    /// What is executed, and where it finds things.
    struct Place {
        let latch: String
        /// The radio's socket.
        let air: String
        /// For what it leaves, and for the relay's socket.
        let directory: String
        let state: String
        /// A file.
        let configuration: String
    }

    private let place: Place
    let daemon: Child
    /// The daemon's socket.
    let host: Int32
    /// Its radio's.
    let controller: Int32
    /// When the daemon was executed.
    let begin: Double
    /// From there until its controller has answered that it advertises.
    let advertisingMilliseconds: Double

    private static let patienceMilliseconds: Int32 = 60_000

    init(_ place: Place) throws {
        self.place = place
        let relay = place.directory + "/relay"
        let listener = try UnixSocket.listen(relay)
        defer { close(listener) }
        begin = Clock.milliseconds
        daemon = try Child(
            [
                place.latch, "peripheral", "run", "--config", place.configuration, "--transport", "unix:" + relay,
                "--state", place.state, "--journal", place.directory + "/journal",
            ], output: place.directory + "/log")
        var waiting = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, Self.patienceMilliseconds) > 0 else {
            throw Self.failure("the daemon does not advertise", place)
        }
        host = accept(listener, nil, nil)
        guard host >= 0 else { throw BenchmarkError(system: relay) }
        guard let radio = try UnixSocket.connect(place.air) else {
            close(host)
            throw BenchmarkError(system: place.air)
        }
        controller = radio
        guard try Self.relayUntilAdvertising(host, radio) else {
            close(host)
            close(radio)
            throw Self.failure("the daemon does not advertise", place)
        }
        advertisingMilliseconds = Clock.milliseconds - begin
    }

    deinit {
        daemon.end()
        close(host)
        close(controller)
    }

    /// To the daemon, as from its controller.
    func send(_ octets: [UInt8]) throws { try write(octets, to: host) }

    /// To the controller, as from the daemon.
    func forward(_ packet: [UInt8]) throws { try write(packet, to: controller) }

    /// What the controller has for the daemon.
    func relay() throws {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(controller, &buffer, buffer.count)
        guard count > 0 else { throw isGone }
        try send(Array(buffer[..<count]))
    }

    private func write(_ octets: [UInt8], to socket: Int32) throws {
        guard Glibc.write(socket, octets, octets.count) == octets.count else { throw isGone }
    }

    /// What can be said when the daemon has closed its controller.
    var isGone: BenchmarkError { Self.failure("the daemon or its radio is gone", place) }

    private static func failure(_ what: String, _ place: Place) -> BenchmarkError {
        let log = try? String(decoding: contents(place.directory + "/log"), as: UTF8.self)
        return BenchmarkError("\(what): \(log?.split(separator: "\n").last ?? "it wrote no log")")
    }

    /// Command Complete, with success, of LE Set Advertising Enable or of LE Set Extended Advertising Enable.
    private static func isAdvertisingAnswered(_ octets: some Collection<UInt8>) -> Bool {
        let event = Array(octets.suffix(7))
        guard event.starts(with: [0x04, 0x0E, 0x04]) else { return false }
        return event.suffix(3) == [0x0A, 0x20, 0x00] || event.suffix(3) == [0x39, 0x20, 0x00]
    }

    private static func relayUntilAdvertising(_ host: Int32, _ controller: Int32) throws -> Bool {
        var ends = [
            pollfd(fd: host, events: Int16(POLLIN), revents: 0),
            pollfd(fd: controller, events: Int16(POLLIN), revents: 0),
        ]
        var answers: [UInt8] = []
        while poll(&ends, 2, patienceMilliseconds) > 0 {
            for (from, to) in [(0, controller), (1, host)] where ends[from].revents != 0 {
                var buffer = [UInt8](repeating: 0, count: 4096)
                let count = read(ends[from].fd, &buffer, buffer.count)
                guard count > 0, Glibc.write(to, buffer, count) == count else { return false }
                guard from == 1 else { continue }
                answers.append(contentsOf: buffer[..<count])
                if isAdvertisingAnswered(answers) { return true }
            }
        }
        return false
    }
}
