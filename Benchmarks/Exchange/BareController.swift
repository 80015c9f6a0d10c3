import CLinux
import Glibc

/// A controller driven by hand, with blocking reads and nothing in between: what is left of an exchange when its hosts
/// cost nothing. It is the floor that the hosts are measured against.
final class BareController {
    private let descriptor: Int32
    private var buffer = [UInt8](repeating: 0, count: 1 << 16)
    private var begin = 0
    private var end = 0

    /// `transport` as `unix:PATH`. Resets the controller and gives it a static random address that ends in `number`.
    init(_ transport: String, number: UInt8) throws {
        guard transport.hasPrefix("unix:"), let socket = try UnixSocket.connect(String(transport.dropFirst(5))) else {
            throw BenchmarkError(system: transport)
        }
        descriptor = socket
        command(0x0C03)
        command(0x0C01, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x3F])
        command(0x2001, [0x1F, 0, 0, 0, 0, 0, 0, 0])
        command(0x2005, Self.address(number))
    }

    private static func address(_ number: UInt8) -> [UInt8] { [number, 0, 0, 0, 0, 0xC0] }

    /// Core 5.4, Vol 4, Part E, 7.8.5, 7.8.7 and 7.8.9 (LE Set Advertising Parameters, Data and Enable commands)
    func advertise() {
        command(0x2006, [0x20, 0, 0x20, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0])
        command(0x2008, [3, 2, 1, 6] + [UInt8](repeating: 0, count: 28))
        command(0x200A, [1])
    }

    /// Core 5.4, Vol 4, Part E, 7.8.12 (LE Create Connection command)
    func connect(to number: UInt8) {
        command(0x200D, [0x60, 0, 0x30, 0, 0, 1] + Self.address(number) + [1, 6, 0, 6, 0, 0, 0, 0x64, 0, 0, 0, 0, 0])
    }

    /// The handle of the connection that this controller is told of next.
    ///
    /// Core 5.4, Vol 4, Part E, 7.7.65.1 (LE Connection Complete event)
    func awaitConnection() -> (low: UInt8, high: UInt8) {
        while true {
            let packet = next()
            guard packet.count > 6, packet[0] == 0x04, packet[1] == 0x3E, packet[3] == 0x01 || packet[3] == 0x0A else {
                continue
            }
            guard packet[4] == 0 else { fail("no connection: status \(packet[4])") }
            return (packet[5], packet[6])
        }
    }

    /// An ACL data packet that carries one basic frame of ATT with a payload of `count` octets.
    static func data(_ handle: (low: UInt8, high: UInt8), count: UInt8) -> [UInt8] {
        [0x02, handle.low, handle.high, count + 4, 0, count, 0, 0x04, 0] + [UInt8](repeating: 0x5A, count: Int(count))
    }

    func write(_ packet: [UInt8]) {
        guard Glibc.write(descriptor, packet, packet.count) == packet.count else { fail("the controller is gone") }
    }

    /// Reads on until data comes.
    func awaitData() { while next()[0] != 0x02 {} }

    private func command(_ opcode: UInt16, _ parameters: [UInt8] = []) {
        let header = [0x01, UInt8(truncatingIfNeeded: opcode), UInt8(opcode >> 8), UInt8(parameters.count)]
        write(header + parameters)
        while true {
            let packet = next()
            guard packet[0] == 0x04 else { continue }
            // Command Complete, Command Status.
            let place = packet[1] == 0x0E ? 4 : packet[1] == 0x0F ? 5 : nil
            if let place, packet[place] == header[1], packet[place + 1] == header[2] { return }
        }
    }

    /// The next whole packet.
    private func next() -> UnsafeBufferPointer<UInt8> {
        while true {
            if let count = packetCount() {
                defer { begin += count }
                return buffer.withUnsafeBufferPointer { UnsafeBufferPointer(rebasing: $0[begin..<begin + count]) }
            }
            if begin > 0 {
                buffer.withUnsafeMutableBytes {
                    $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer($0)[begin..<end]))
                }
                end -= begin
                begin = 0
            }
            let count = buffer.withUnsafeMutableBytes {
                read(descriptor, $0.baseAddress.map { $0 + end }, $0.count - end)
            }
            guard count > 0 else { fail("the controller is gone") }
            end += count
        }
    }

    private func packetCount() -> Int? {
        let available = end - begin
        guard available >= 3 else { return nil }
        let isData = buffer[begin] == 0x02
        guard !isData || available >= 5 else { return nil }
        let count = isData ? 5 + Int(buffer[begin + 3]) + Int(buffer[begin + 4]) << 8 : 3 + Int(buffer[begin + 2])
        return available >= count ? count : nil
    }
}
