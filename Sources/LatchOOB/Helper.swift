import CLinux
import Glibc
import SetupCodeGiving

/// One connection, and its one code.
struct Helper {
    /// Of SOCK_SEQPACKET: a message is whole.
    let connection: Int32
    let kernel: ManagementSocket

    private static let requestMilliseconds: Int32 = 5_000

    /// Reads one code, gives it to the kernel, and says what came of it.
    func answer(allows: (uid_t) -> Bool) -> GivingAnswer {
        let answer = result(allows)
        let octets = answer.octets
        _ = octets.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, latch_message_flags()) }
        return answer
    }

    private func result(_ allows: (uid_t) -> Bool) -> GivingAnswer {
        var user = uid_t.max
        guard latch_peer_user(connection, &user) == 0, allows(user) else { return .notAllowed }
        var octets = [UInt8](repeating: 0, count: GivenCode.octetsCount + 1)
        defer { octets.withUnsafeMutableBytes { latch_wipe($0.baseAddress, $0.count) } }
        guard waitUntilReadable(connection, milliseconds: Self.requestMilliseconds) else { return .malformed }
        let count = octets.withUnsafeMutableBytes { recv(connection, $0.baseAddress, $0.count, 0) }
        guard count > 0, let code = GivenCode(Array(octets.prefix(count))) else { return .malformed }
        return kernel.give(code)
    }
}

/// False when nothing has come in time.
func waitUntilReadable(_ descriptor: Int32, milliseconds: Int32) -> Bool {
    var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    while true {
        let result = poll(&waiting, 1, milliseconds)
        if result < 0, errno == EINTR { continue }
        return result > 0
    }
}
