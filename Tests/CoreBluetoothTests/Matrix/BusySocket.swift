import Foundation
import Glibc
import Testing

/// A unix socket at which nobody is served any more: who connects is told to try again later, as with an adapter that is switched off or
/// another program's. The file goes with the object.
final class BusySocket {
    private let path: String
    private var descriptors: [Int32] = []
    private static let connectionsMaximum = 64

    init(_ path: String) throws {
        self.path = path
        let server = Self.socket()
        descriptors.append(server)
        try #require(Self.name(path) { bind(server, $0, $1) } == 0, "bind: \(errno)")
        try #require(listen(server, 0) == 0)
        var isFull = false
        for _ in 0..<Self.connectionsMaximum where !isFull {
            let client = Self.socket()
            descriptors.append(client)
            isFull = Self.name(path) { connect(client, $0, $1) } != 0
            if isFull { try #require(errno == EAGAIN) }
        }
        try #require(isFull)
    }

    deinit {
        for descriptor in descriptors { close(descriptor) }
        unlink(path)
    }

    private static func socket() -> Int32 {
        Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
    }

    private static func name(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
        }
    }
}
