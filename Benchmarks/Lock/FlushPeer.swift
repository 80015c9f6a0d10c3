import CLinux
import Glibc

/// A process that flushes a page for each packet that it gets, and answers with a packet: the least that a durable answer costs
/// between two processes.
enum FlushPeer {
    private static let packetOctets = 32

    /// `Benchmarks flush-peer SOCKET FILE`.
    static func run(_ words: [String]) throws {
        guard words.count == 2 else { throw BenchmarkError("flush-peer takes a socket and a file") }
        let flush = try BareFlush(words[1])
        let listener = try UnixSocket.listen(words[0])
        let peer = accept(listener, nil, nil)
        var packet = [UInt8](repeating: 0, count: packetOctets)
        while read(peer, &packet, packet.count) > 0 {
            _ = try flush.milliseconds()
            guard write(peer, packet, packet.count) == packet.count else { return }
        }
    }

    /// The other end.
    final class Client {
        private let child: Child
        private let socket: Int32

        init(in directory: String) throws {
            let path = directory + "/flush-peer"
            child = try Child([try Executable.path(), "flush-peer", path, path + ".pages"])
            socket = try UnixSocket.connectWhenThere(path)
        }

        func milliseconds() throws -> Double {
            var packet = [UInt8](repeating: 0, count: packetOctets)
            let begin = Clock.milliseconds
            guard write(socket, packet, packet.count) == packet.count, read(socket, &packet, packet.count) > 0 else {
                throw BenchmarkError("the flushing process is gone")
            }
            return Clock.milliseconds - begin
        }

        deinit {
            close(socket)
            child.end()
        }
    }
}
