import CLinux
import Glibc

// No test may make a descriptor that children inherit: a program that another test starts at that moment would hold it
// open, so that nobody sees its end, or take it for one that was handed over to it. Whoever asks for one closes it.

/// The system has no descriptors left.
package struct NoSocket: Error { package let errorNumber: Int32 }

/// Two ends of one connection.
package func makeSocketPair(_ type: __socket_type = SOCK_STREAM) throws(NoSocket) -> (Int32, Int32) {
    var ends: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(type.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
        throw NoSocket(errorNumber: errno)
    }
    return (ends[0], ends[1])
}

/// A stream's socket, neither bound nor connected.
package func makeSocket(_ family: Int32 = AF_UNIX) throws(NoSocket) -> Int32 {
    let made = socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard made >= 0 else { throw NoSocket(errorNumber: errno) }
    return made
}

/// The next who connects to `listener`, waited for; reading from it waits too.
package func acceptConnection(_ listener: Int32) throws(NoSocket) -> Int32 {
    let accepted = latch_accept(listener)
    guard accepted >= 0, latch_fcntl(accepted, F_SETFL, 0) == 0 else { throw NoSocket(errorNumber: errno) }
    return accepted
}
