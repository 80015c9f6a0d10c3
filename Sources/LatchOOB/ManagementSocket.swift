import CBlueZ
import Glibc
import SetupCodeGiving

/// The kernel's Bluetooth management.
struct ManagementSocket {
    private static let answerMilliseconds: Int32 = 5_000
    /// Whatever happens on any adapter is said here: so much of it is read for one answer.
    private static let packetsRead = 1_000
    private static let packetOctets = 1_024

    func give(_ code: GivenCode) -> GivingAnswer {
        let socket = latch_hci_socket()
        guard socket >= 0 else { return .noKernel }
        defer { close(socket) }
        let command = ManagementCommand.add(code)
        guard latch_hci_bind_control_channel(socket) == 0,
            command.withUnsafeBytes({ write(socket, $0.baseAddress, $0.count) }) == command.count
        else { return .noKernel }
        var packet = [UInt8](repeating: 0, count: Self.packetOctets)
        for _ in 0..<Self.packetsRead {
            guard waitUntilReadable(socket, milliseconds: Self.answerMilliseconds) else { break }
            let count = packet.withUnsafeMutableBytes { read(socket, $0.baseAddress, $0.count) }
            guard count > 0 else { break }
            if let status = ManagementCommand.status(in: Array(packet.prefix(count)), adapter: code.adapter) {
                return status == .success ? .given : .kernel(status)
            }
        }
        return .noKernel
    }
}
