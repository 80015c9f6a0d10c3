import BluetoothCore
import BluetoothCrypto
import CLinux
import Glibc
import HCITransport
import SecurityManager
import SetupCodeGiving

/// Asks the helper that may give the kernel a setup code. One at a time, on the loop that it is made with.
package final class SetupCodeGiver {
    /// Where the helper's unit listens.
    package static let usualPath = "/run/latch-oob.socket"

    private let path: String
    private let loop: EventLoop
    private var connection: OwnedDescriptor?
    private var registration: EventLoop.Registration?

    package init(path: String = usualPath, loop: EventLoop) {
        self.path = path
        self.loop = loop
    }

    deinit { hangUp() }

    /// `answered` is called on the loop, at once where the helper cannot be asked; nil for a code that the kernel has. What is asked anew
    /// takes the place of what has no answer yet.
    package func give(_ data: OutOfBandData, adapter: UInt16, answered: @escaping (String?) -> Void) {
        hangUp()
        guard
            let code = GivenCode(
                adapter: adapter, address: data.address, random: data.random.withBytes { Array($0) },
                confirm: stride(from: 120, through: 0, by: -8).map { UInt8(truncatingIfNeeded: data.confirm >> $0) })
        else { return answered("\(GivingAnswer.malformed)") }
        if let failure = ask(code, answered) {
            hangUp()
            answered(failure)
        }
    }

    /// What is wrong where the helper cannot be asked.
    private func ask(_ code: GivenCode, _ answered: @escaping (String?) -> Void) -> String? {
        let raw = socket(AF_UNIX, latch_sequenced_packets() | latch_socket_flags(), 0)
        guard raw >= 0 else { return said(errno) }
        connection = OwnedDescriptor(raw)
        var address = sockaddr_un()
        guard latch_unix_address(&address, path) == 0 else { return said(errno) }
        let result = latch_connect_unix(raw, &address)
        guard result == 0 else { return said(errno) }
        var octets = code.octets
        let sent = octets.withUnsafeBytes { send(raw, $0.baseAddress, $0.count, latch_message_flags()) }
        octets.withUnsafeMutableBytes { latch_wipe($0.baseAddress, $0.count) }
        guard sent == GivenCode.octetsCount else { return said(errno) }
        do throws(TransportError) {
            registration = try loop.register(raw, .readable) { [unowned self] _ in heard(answered) }
            return nil
        } catch {
            return error.description
        }
    }

    private func heard(_ answered: (String?) -> Void) {
        guard let raw = connection?.rawValue else { return }
        var octets = [UInt8](repeating: 0, count: 3)
        let count = octets.withUnsafeMutableBytes { recv(raw, $0.baseAddress, $0.count, 0) }
        if count < 0, errno == EAGAIN || errno == EINTR { return }
        let answer = GivingAnswer(Array(octets.prefix(max(0, count))))
        hangUp()
        switch answer {
        case .given: answered(nil)
        case .some(let refusal): answered("\(refusal)")
        case nil: answered("\(path): the helper has ended without an answer: \"journalctl -u 'latch-oob@*'\" says why")
        }
    }

    private func said(_ number: Int32) -> String {
        switch number {
        case ENOENT, ECONNREFUSED:
            "\(path): the helper latch-oob is not there: install it, and \"systemctl start latch-oob.socket\""
        case EACCES, EPERM: "\(path): not permitted: the socket's group says who may pair"
        default: "\(path): \(String(cString: strerror(number)))"
        }
    }

    private func hangUp() {
        if let registration { loop.unregister(registration) }
        registration = nil
        connection = nil
    }
}
