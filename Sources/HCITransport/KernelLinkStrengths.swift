import BluetoothCore
import CBlueZ
import Glibc
import HCI

/// How strong links are that the kernel keeps on its adapters. A raw HCI socket, which any user may open, lets this question pass, and
/// none that changes anything.
///
/// Confined to its loop's thread. The socket is there from the first question on, and another one behind each failure.
///
/// Core 5.4, Vol 4, Part E, 7.5.4 (Read RSSI command)
package final class KernelLinkStrengths {
    /// What is asked of the kernel beside that.
    struct Kernel {
        /// A socket on an adapter of this number that hears answers to Read RSSI; nil where there is none.
        var open: (UInt16) -> OwnedDescriptor?
        /// The link with the peer of this address; below 0 where there is none.
        var link: (_ socket: Int32, _ address: UInt64) -> Int32
    }

    private struct Question {
        let link: ConnectionHandle
        let answered: (Int8?) -> Void
    }

    /// More are told at once that nobody knows.
    static let questionsMaximum = 64
    private static let packetOctets = 260

    private let kernel: Kernel
    private let loop: EventLoop
    private var adapter: UInt16?
    private var socket: OwnedDescriptor?
    private var registration: EventLoop.Registration?
    private var questions: [Question] = []

    package convenience init(loop: EventLoop) { self.init(.linux, loop: loop) }

    init(_ kernel: Kernel, loop: EventLoop) { (self.kernel, self.loop) = (kernel, loop) }

    deinit { hangUp() }

    /// `answered` is called on the loop, at once where the kernel cannot be asked; nil where it does not say.
    package func read(_ peer: DeviceAddress, adapter: UInt16, answered: @escaping (Int8?) -> Void) {
        if self.adapter != adapter { close() }
        guard questions.count < Self.questionsMaximum, open(adapter), let link = link(with: peer) else {
            return answered(nil)
        }
        questions.append(Question(link: link, answered: answered))
        if !ask(link) { close() }
    }

    private func open(_ number: UInt16) -> Bool {
        if socket != nil { return true }
        socket = kernel.open(number)
        guard let raw = socket?.rawValue else { return false }
        adapter = number
        do throws(TransportError) {
            registration = try loop.register(raw, .readable) { [unowned self] _ in hear() }
            return true
        } catch {
            close()
            return false
        }
    }

    private func link(with peer: DeviceAddress) -> ConnectionHandle? {
        guard let raw = socket?.rawValue else { return nil }
        return UInt16(exactly: kernel.link(raw, peer.bits)).map { ConnectionHandle($0) }
    }

    private func ask(_ link: ConnectionHandle) -> Bool {
        guard let raw = socket?.rawValue else { return false }
        var writer = ByteWriter()
        H4Framer.encode(HCIReadRSSI(handle: link), into: &writer)
        return writer.bytes.withUnsafeBytes { write(raw, $0.baseAddress, $0.count) } == writer.bytes.count
    }

    private func hear() {
        while let raw = socket?.rawValue {
            var packet = [UInt8](repeating: 0, count: Self.packetOctets)
            let count = packet.withUnsafeMutableBytes { Glibc.read(raw, $0.baseAddress, $0.count) }
            guard count > 0 else {
                if count < 0, errno == EAGAIN || errno == EINTR { return }
                return close()
            }
            heard(packet.prefix(count))
        }
    }

    /// Answers to other programs' questions come here too.
    private func heard(_ packet: ArraySlice<UInt8>) {
        guard packet.first == HCIPacketType.event.rawValue,
            let event = try? HCIEvent(exactly: Array(packet.dropFirst()))
        else { return }
        switch event {
        case .commandComplete(let complete) where complete.opcode == HCIReadRSSI.opcode:
            guard let status = complete.returnParameters.first,
                let said = try? HCIReadRSSI.ReturnParameters(exactly: Array(complete.returnParameters.dropFirst()))
            else { return }
            answer(said.handle, status == HCIErrorCode.success.rawValue ? said.rssi : nil)
        // Whose question it refuses it does not say.
        case .commandStatus(let status) where status.opcode == HCIReadRSSI.opcode && status.status != .success: close()
        default: break
        }
    }

    private func answer(_ link: ConnectionHandle, _ rssi: Int8?) {
        let due = questions.filter { $0.link == link }
        questions.removeAll { $0.link == link }
        for question in due { question.answered(rssi) }
    }

    /// Nobody answers any more.
    private func close() {
        hangUp()
        let unanswered = questions
        questions = []
        for question in unanswered { question.answered(nil) }
    }

    private func hangUp() {
        if let registration { loop.unregister(registration) }
        (registration, adapter) = (nil, nil)
        socket = nil
    }
}

extension KernelLinkStrengths.Kernel {
    fileprivate static var linux: Self {
        Self(
            open: { number in
                let raw = latch_hci_socket()
                guard raw >= 0 else { return nil }
                let descriptor = OwnedDescriptor(raw)
                guard latch_hci_bind_raw(raw, number, HCIReadRSSI.opcode.rawValue) == 0 else { return nil }
                return descriptor
            },
            link: { latch_hci_link_handle($0, $1) })
    }
}
