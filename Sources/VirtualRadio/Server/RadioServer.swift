import CLinux
import Glibc

/// The radio as a process: each connection to its socket is a controller, a closed one is a controller gone.
///
/// One thread, epoll. An iteration advances the air to now, reads what is ready, and writes what the controllers have to
/// say before it waits again; data that crosses a link in `immediate` pacing needs no timer.
package struct RadioServer: ~Copyable {
    package struct Configuration: Sendable {
        /// The unix stream socket that hosts connect to, in H4.
        package var socketPath: String
        /// More such sockets, the path with a number from 1 behind it: each is one adapter, which has one host at a time and
        /// the same public address for every one.
        package var adapters: Int
        /// The unix stream socket of the line protocol; nil for none.
        package var controlPath: String?
        package var air: AirConfiguration
        /// What each connection becomes.
        package var controller: ControllerConfiguration
        /// Where each controller's traffic is captured, one btsnoop file per controller; nil for nowhere.
        package var captureDirectory: String?

        package init(
            socketPath: String, adapters: Int = 0, controlPath: String? = nil,
            air: AirConfiguration = AirConfiguration(),
            controller: ControllerConfiguration = ControllerConfiguration(), captureDirectory: String? = nil
        ) {
            self.socketPath = socketPath
            self.adapters = adapters
            self.controlPath = controlPath
            self.air = air
            self.controller = controller
            self.captureDirectory = captureDirectory
        }
    }

    /// Ends `run` from any thread.
    package final class Stopper: Sendable {
        let descriptor: FileDescriptor

        init() throws(RadioServerError) {
            descriptor = try FileDescriptor(eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)), "cannot make an eventfd")
        }

        package func stop() { eventfd_write(descriptor.number, 1) }
    }

    /// A host and its controller.
    final class Host {
        let peer: Peer
        let controller: ControllerID
        /// The adapter that it is, 0 for one that is made for this host alone.
        let adapter: Int
        var capture: CaptureFile?

        init(peer: Peer, controller: ControllerID, adapter: Int) {
            self.peer = peer
            self.controller = controller
            self.adapter = adapter
        }
    }

    package let stopper: Stopper
    private let configuration: Configuration
    var air: Air
    var hosts: [Host] = []
    var controls: [Peer] = []
    var captureDirectory: String?
    /// Public addresses of controllers that are to come back, the first to the next host.
    private var returning: [RadioAddress] = []
    /// The common socket, and then one for each adapter.
    private let hostListeners: [UnixListener]
    private let controlListener: UnixListener?
    private let epoll: FileDescriptor
    private let timer: FileDescriptor
    private let signals: FileDescriptor
    private let readBuffer = ReadBuffer()
    private var lastToken = Token.lastFixed
    private var armedInstant: UInt64?
    private var isStopping = false

    static let maximumControls = 64
    static let maximumReturning = 64
    package static let maximumAdapters = 64

    /// What epoll says is ready: the fixed ones, and then every connection by a number of its own.
    private enum Token {
        static let controlListener: UInt64 = 1
        static let timer: UInt64 = 2
        static let signals: UInt64 = 3
        static let stopper: UInt64 = 4
        /// And behind it the adapters'.
        static let hostListener: UInt64 = 16
        static let lastFixed = hostListener + UInt64(RadioServer.maximumAdapters)
    }

    /// Makes and binds the sockets; from its return on hosts can connect. SIGTERM and SIGINT are blocked in this thread
    /// from here on and end `run`.
    package init(configuration: Configuration) throws(RadioServerError) {
        let stopper = try Stopper()
        var hostListeners = [try UnixListener(path: configuration.socketPath)]
        for adapter in 0..<min(configuration.adapters, Self.maximumAdapters) {
            hostListeners.append(try UnixListener(path: "\(configuration.socketPath).\(adapter + 1)"))
        }
        var controlListener: UnixListener?
        if let path = configuration.controlPath { controlListener = try UnixListener(path: path) }
        let epoll = try FileDescriptor(epoll_create1(Int32(EPOLL_CLOEXEC)), "cannot make an epoll")
        let timer = try FileDescriptor(latch_timerfd_create(), "cannot make a timer")
        let signals = try FileDescriptor(
            latch_signalfd(1 << UInt64(SIGTERM) | 1 << UInt64(SIGINT)), "cannot take signals")

        var airConfiguration = configuration.air
        airConfiguration.startNanoseconds = latch_boottime_nanoseconds()
        self.init(
            configuration, air: Air(configuration: airConfiguration), stopper: stopper, hostListeners: hostListeners,
            controlListener: controlListener, epoll: epoll, timer: timer, signals: signals)
    }

    /// Of its own, since Swift before 6.3 errs about what becomes of the other properties' first values where the initializer that
    /// gives them throws.
    private init(
        _ configuration: Configuration, air: Air, stopper: Stopper, hostListeners: [UnixListener],
        controlListener: UnixListener?, epoll: consuming FileDescriptor, timer: consuming FileDescriptor,
        signals: consuming FileDescriptor
    ) {
        self.air = air
        captureDirectory = configuration.captureDirectory
        self.configuration = configuration
        self.stopper = stopper
        self.hostListeners = hostListeners
        self.controlListener = controlListener
        self.epoll = epoll
        self.timer = timer
        self.signals = signals
    }

    /// Serves until SIGTERM, SIGINT or `stopper.stop()`.
    package mutating func run() throws(RadioServerError) {
        for (adapter, listener) in hostListeners.enumerated() {
            try watch(listener.descriptor.number, Token.hostListener + UInt64(adapter))
        }
        if let control = controlListener?.descriptor.number { try watch(control, Token.controlListener) }
        try watch(timer.number, Token.timer)
        try watch(signals.number, Token.signals)
        try watch(stopper.descriptor.number, Token.stopper)
        var events = [epoll_event](repeating: epoll_event(), count: 64)
        while !isStopping {
            let count = epoll_wait(epoll.number, &events, Int32(events.count), -1)
            guard count >= 0 || errno == EINTR else { throw .errno("cannot wait") }
            air.advance(to: latch_boottime_nanoseconds())
            for index in 0..<Int(max(count, 0)) {
                try handle(latch_epoll_token(&events[index]), latch_epoll_events(&events[index]))
            }
            air.settle()
            deliverAll()
            armTimer()
        }
    }

    // MARK: One iteration

    /// Until nothing moves: what one host takes can make room for what another is then told.
    private mutating func deliverAll() {
        var hasMoved = true
        while hasMoved {
            hasMoved = false
            for host in hosts where deliver(to: host) { hasMoved = true }
        }
    }

    private mutating func handle(_ token: UInt64, _ ready: UInt32) throws(RadioServerError) {
        switch token {
        case Token.hostListener...Token.lastFixed: try acceptHosts(of: Int(token - Token.hostListener))
        case Token.controlListener: try acceptControls()
        case Token.timer:
            var expirations: UInt64 = 0
            read(timer.number, &expirations, MemoryLayout<UInt64>.size)
            armedInstant = nil
        case Token.signals: isStopping = latch_signalfd_read(signals.number) != 0 || isStopping
        case Token.stopper: isStopping = true
        default:
            if let host = hosts.first(where: { $0.peer.token == token }) {
                serve(host, ready)
            } else if let control = controls.first(where: { $0.token == token }) {
                serve(control, ready)
            }
        }
    }

    private mutating func acceptHosts(of adapter: Int) throws(RadioServerError) {
        while let connection = hostListeners[adapter].accept() {
            let peer = try admit(connection)
            var controller = configuration.controller
            if adapter > 0 {
                controller.publicAddress = .ofAdapter(adapter)
                // The end of the host before may be read after this one's beginning.
                for host in hosts where host.adapter == adapter { unplug(host) }
            } else if !returning.isEmpty {
                controller.publicAddress = returning.removeFirst()
            }
            let host = Host(peer: peer, controller: air.addController(controller), adapter: adapter)
            hosts.append(host)
            if let directory = captureDirectory {
                do { try startCapture(of: host, in: directory) } catch { report(error.description) }
            }
        }
    }

    private mutating func acceptControls() throws(RadioServerError) {
        while let connection = controlListener?.accept() {
            let peer = try admit(connection)
            if controls.count < Self.maximumControls { controls.append(peer) }
        }
    }

    private mutating func admit(_ connection: Int32) throws(RadioServerError) -> Peer {
        lastToken += 1
        let peer = Peer(descriptor: try FileDescriptor(connection, "cannot accept"), token: lastToken)
        try watch(connection, peer.token)
        return peer
    }

    private func watch(_ descriptor: Int32, _ token: UInt64) throws(RadioServerError) {
        guard latch_epoll_add(epoll.number, descriptor, EPOLLIN.rawValue, token) == 0 else {
            throw .errno("cannot watch a descriptor")
        }
    }

    /// Waits for room as long as something is unsent.
    private func watchForRoom(_ peer: Peer) {
        let events = peer.hasUnsent ? EPOLLIN.rawValue | EPOLLOUT.rawValue : EPOLLIN.rawValue
        _ = latch_epoll_modify(epoll.number, peer.descriptor.number, events, peer.token)
    }

    private mutating func armTimer() {
        guard let next = air.nextEventInstant, next != armedInstant else { return }
        armedInstant = next
        _ = latch_timerfd_set(timer.number, max(next, 1))
    }

    // MARK: Hosts

    private mutating func serve(_ host: Host, _ ready: UInt32) {
        if ready & EPOLLOUT.rawValue != 0 {
            guard host.peer.flush() else { return unplug(host) }
            watchForRoom(host.peer)
        }
        guard ready & ~EPOLLOUT.rawValue != 0 else { return }
        switch Reading(host.peer.descriptor.number, into: readBuffer.bytes) {
        case .nothing: break
        case .end: unplug(host)
        case .octets(let count):
            let isWellFormed: Bool
            if host.peer.inbound.isEmpty {
                isWellFormed = receive(UnsafeRawBufferPointer(rebasing: readBuffer.bytes[..<count]), from: host)
            } else {
                let octets = host.peer.inbound + readBuffer.bytes[..<count]
                host.peer.inbound.removeAll(keepingCapacity: true)
                isWellFormed = octets.withUnsafeBytes { receive($0, from: host) }
            }
            if !isWellFormed {
                air.reportMalformedStream(of: host.controller)
                deliver(to: host)
                report("controller \(host.controller): its host sent octets that are no H4 packet")
                unplug(host)
            }
        }
    }

    /// Every whole packet goes to the air; what is left of one waits.
    private mutating func receive(_ octets: UnsafeRawBufferPointer, from host: Host) -> Bool {
        let span = Span<UInt8>(_unsafeBytes: octets)
        var start = 0
        while true {
            switch PacketBoundary(span, from: start) {
            case .packet(let count):
                capture(host, UnsafeRawBufferPointer(rebasing: octets[start..<start + count]))
                air.receive(span.extracting(start..<start + count), from: host.controller)
                start += count
            case .incomplete:
                host.peer.inbound.append(contentsOf: octets[start...])
                return true
            case .malformed: return false
            }
        }
    }

    private func capture(_ host: Host, _ packet: UnsafeRawBufferPointer) {
        guard host.capture != nil else { return }
        if host.capture?.append(packet, .hostToController, at: air.now) == false { host.capture = nil }
    }

    /// What a controller has to say goes to its host, unless that still has to read what was said before. True when
    /// something went.
    @discardableResult
    private mutating func deliver(to host: Host) -> Bool {
        guard !host.peer.hasUnsent, let index = air.index(of: host.controller),
            !air.controllers[index].outbox.isEmpty
        else { return false }
        if host.capture != nil {
            var isKept = true
            air.controllers[index].outbox.forEachPacket { instant, packet in
                isKept = isKept && host.capture?.append(packet, .controllerToHost, at: instant) == true
            }
            if !isKept { host.capture = nil }
        }
        guard air.controllers[index].outbox.withOctets(host.peer.send) else {
            report("controller \(host.controller): its host does not read")
            unplug(host)
            return true
        }
        air.discardPackets(of: index)
        if host.peer.hasUnsent { watchForRoom(host.peer) }
        return true
    }

    private mutating func unplug(_ host: Host) {
        air.removeController(host.controller)
        hosts.removeAll { $0 === host }
    }

    /// For the operator.
    private func report(_ line: String) {
        Array("latch-lab radio: \(line)\n".utf8).withUnsafeBytes { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    // MARK: Control

    private mutating func serve(_ control: Peer, _ ready: UInt32) {
        var isGood = control.flush()
        if isGood, !control.isClosing, ready & ~EPOLLOUT.rawValue != 0 {
            switch Reading(control.descriptor.number, into: readBuffer.bytes) {
            case .nothing: break
            case .end: isGood = false
            case .octets(let count):
                control.inbound.append(contentsOf: readBuffer.bytes[..<count])
                isGood = answerLines(of: control)
            }
        }
        if isGood, control.hasUnsent || !control.isClosing {
            watchForRoom(control)
        } else {
            controls.removeAll { $0 === control }
        }
    }

    private mutating func answerLines(of control: Peer) -> Bool {
        while let end = control.inbound.firstIndex(of: UInt8(ascii: "\n")) {
            let line = String(decoding: control.inbound[..<end], as: UTF8.self)
            control.inbound.removeFirst(end + 1)
            guard control.send(answer(line)) else { return false }
        }
        guard control.inbound.count > ControlCommand.maximumLineOctets else { return true }
        control.isClosing = true
        return control.send("error a line of more than \(ControlCommand.maximumLineOctets) octets\n")
    }

    private mutating func answer(_ line: String) -> String {
        do throws(ControlError) {
            let command = try ControlCommand(line.hasSuffix("\r") ? String(line.dropLast()) : line)
            let answer = try perform(command)
            return answer.isEmpty ? "ok\n" : "ok \(answer)\n"
        } catch {
            return "error \(error.message)\n"
        }
    }

    private mutating func perform(_ command: ControlCommand) throws(ControlError) -> String {
        switch command {
        case .capture(let name, let path):
            let controller = try air.controller(name)
            guard let host = hosts.first(where: { $0.controller == controller }) else { break }
            try capturing { () throws(RadioServerError) in host.capture = try CaptureFile(path: path) }
        case .captureAll(let directory):
            for host in hosts {
                try capturing { () throws(RadioServerError) in try startCapture(of: host, in: directory) }
            }
            captureDirectory = directory
        case .unplug(let name):
            let controller = try air.controller(name)
            hosts.removeAll { $0.controller == controller }
            air.removeController(controller)
        case .replug(let name):
            let controller = try air.controller(name)
            guard returning.count < Self.maximumReturning else { throw ControlError("too many are to come back") }
            if let index = air.index(of: controller) { returning.append(air.controllers[index].publicAddress) }
            hosts.removeAll { $0.controller == controller }
            air.removeController(controller)
        case .help, .list, .distance, .loss, .cut, .join, .power, .seed, .hardwareError, .garbage:
            return try air.perform(command)
        }
        return ""
    }

    private func capturing(_ body: () throws(RadioServerError) -> Void) throws(ControlError) {
        do throws(RadioServerError) { try body() } catch { throw ControlError(error.description) }
    }

    private func startCapture(of host: Host, in directory: String) throws(RadioServerError) {
        host.capture = try CaptureFile(path: "\(directory)/controller-\(host.controller).btsnoop")
    }
}

/// Why the radio cannot serve, in one line for its operator.
package struct RadioServerError: Error, Equatable, CustomStringConvertible {
    package let description: String
}
