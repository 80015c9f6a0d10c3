import CLinux
import Glibc

// No test may make a descriptor that children inherit: a program that another test starts at that moment would hold it
// open, so that nobody sees its end, or take it for one that was handed over to it. Whoever asks for one closes it.

/// What the system refused a socket with.
package struct NoSocket: Error { package let errorNumber: Int32 }

/// Two ends of one connection.
package func makeSocketPair(_ type: __socket_type = SOCK_STREAM) throws(NoSocket) -> (Int32, Int32) {
    var ends: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(type.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
        throw NoSocket(errorNumber: errno)
    }
    return (ends[0], ends[1])
}

/// Neither bound nor connected.
package func makeSocket(_ family: Int32 = AF_UNIX, _ type: __socket_type = SOCK_STREAM) throws(NoSocket) -> Int32 {
    let made = socket(family, Int32(type.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard made >= 0 else { throw NoSocket(errorNumber: errno) }
    return made
}

/// Gives a socket the name at which others find it.
package func bindSocket(_ socket: Int32, to path: String) throws(NoSocket) {
    guard with(path, { bind(socket, $0, $1) }) == 0 else { throw NoSocket(errorNumber: errno) }
}

/// Connects a socket with who listens at a path.
package func connectSocket(_ socket: Int32, to path: String) throws(NoSocket) {
    guard with(path, { connect(socket, $0, $1) }) == 0 else { throw NoSocket(errorNumber: errno) }
}

/// Who listens at a path, for ``acceptConnection(_:)``.
package func makeListener(at path: String, _ type: __socket_type = SOCK_STREAM) throws(NoSocket) -> Int32 {
    let made = try makeSocket(AF_UNIX, type)
    do throws(NoSocket) {
        try bindSocket(made, to: path)
        guard listen(made, 4) == 0 else { throw NoSocket(errorNumber: errno) }
    } catch {
        close(made)
        throw error
    }
    return made
}

/// One that is connected with who listens at a path.
package func makeConnection(to path: String, _ type: __socket_type = SOCK_STREAM) throws(NoSocket) -> Int32 {
    let made = try makeSocket(AF_UNIX, type)
    do throws(NoSocket) {
        try connectSocket(made, to: path)
    } catch {
        close(made)
        throw error
    }
    return made
}

/// -1 where `use` fails or the path is too long, with `errno`.
private func with(_ path: String, _ use: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_un()
    guard latch_unix_address(&address, path) == 0 else { return -1 }
    return withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { use($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
    }
}

/// The next who connects to `listener`, waited for; reading from it waits too.
package func acceptConnection(_ listener: Int32) throws(NoSocket) -> Int32 {
    let accepted = latch_accept(listener)
    guard accepted >= 0, latch_fcntl(accepted, F_SETFL, 0) == 0 else { throw NoSocket(errorNumber: errno) }
    return accepted
}
