import CLinux
import Foundation
import Glibc
import TestSupport
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
        try bindSocket(server, to: path)
        try #require(listen(server, 0) == 0)
        var isFull = false
        for _ in 0..<Self.connectionsMaximum where !isFull {
            let client = Self.socket()
            descriptors.append(client)
            do {
                try connectSocket(client, to: path)
            } catch {
                try #require(error.errorNumber == EAGAIN)
                isFull = true
            }
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
}
