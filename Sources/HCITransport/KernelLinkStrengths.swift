import BluetoothCore
import CBlueZ
import CLinux
import Glibc
import HCI

/// How strong links are that the kernel keeps on its adapters. A raw HCI socket, which any user may open, lets this question pass, and
/// none that changes anything.
///
/// While the kernel makes a link nothing is asked. Kernels up to 6.7 take the answer to another command for the last one that they wait for:
/// they miss that the link was made then, do nothing else for 4 s, and some cannot end that link any more.
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
        /// Whether a link is being made on the adapter of this number, as far as can be told.
        var isConnecting: (_ socket: Int32, UInt16) -> Bool
        /// What becomes readable after ``KernelLinkStrengths/pauseMilliseconds``; nil where there is none.
        var pause: () -> OwnedDescriptor?
    }

    private struct Question {
        let link: ConnectionHandle
        let answered: (Int8?) -> Void
    }

    /// One that waits for the end of a link's making.
    private struct HeldQuestion {
        let peer: DeviceAddress
        let adapter: UInt16
        var pausesLeft = KernelLinkStrengths.pausesMaximum
        let answered: (Int8?) -> Void
    }

    /// More are told at once that nobody knows.
    static let questionsMaximum = 64
    static let pauseMilliseconds: UInt64 = 20
    /// So long a question waits for the end of a link's making: most take a tenth of that, and one may take for ever.
    static let pausesMaximum = 100
    private static let packetOctets = 260

    private let kernel: Kernel
    private let loop: EventLoop
    private var adapter: UInt16?
    private var socket: OwnedDescriptor?
    private var registration: EventLoop.Registration?
    private var questions: [Question] = []
    private var held: [HeldQuestion] = []
    private var pause: OwnedDescriptor?
    private var pauseRegistration: EventLoop.Registration?

    package convenience init(loop: EventLoop) { self.init(.linux, loop: loop) }

    init(_ kernel: Kernel, loop: EventLoop) { (self.kernel, self.loop) = (kernel, loop) }

    deinit {
        hangUp()
        endPause()
    }

    /// `answered` is called on the loop, at once where the kernel cannot be asked; nil where it does not say.
    package func read(_ peer: DeviceAddress, adapter: UInt16, answered: @escaping (Int8?) -> Void) {
        guard questions.count + held.count < Self.questionsMaximum else { return answered(nil) }
        ask(HeldQuestion(peer: peer, adapter: adapter, answered: answered))
    }

    private func ask(_ question: HeldQuestion) {
        if adapter != question.adapter { close() }
        guard open(question.adapter), let raw = socket?.rawValue, let link = link(with: question.peer) else {
            return question.answered(nil)
        }
        guard !kernel.isConnecting(raw, question.adapter) else { return hold(question) }
        questions.append(Question(link: link, answered: question.answered))
        if !ask(link) { close() }
    }

    private func hold(_ question: HeldQuestion) {
        guard question.pausesLeft > 0, beginPause() else { return question.answered(nil) }
        held.append(question)
    }

    private func beginPause() -> Bool {
        if pause != nil { return true }
        pause = kernel.pause()
        guard let raw = pause?.rawValue else { return false }
        pauseRegistration = try? loop.register(raw, .readable) { [unowned self] _ in pauseEnded() }
        if pauseRegistration == nil { pause = nil }
        return pause != nil
    }

    private func pauseEnded() {
        endPause()
        let due = held
        held = []
        for var question in due {
            question.pausesLeft -= 1
            ask(question)
        }
    }

    private func endPause() {
        if let pauseRegistration { loop.unregister(pauseRegistration) }
        pauseRegistration = nil
        pause = nil
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
            link: { latch_hci_link_handle($0, $1) },
            // Who cannot tell asks nothing.
            isConnecting: { latch_hci_is_connecting($0, $1) != 0 },
            pause: {
                let raw = latch_timerfd_create()
                guard raw >= 0 else { return nil }
                let timer = OwnedDescriptor(raw)
                let end = SystemClock.now().advanced(byMilliseconds: KernelLinkStrengths.pauseMilliseconds)
                guard latch_timerfd_set(raw, end.nanoseconds) == 0 else { return nil }
                return timer
            })
    }
}
