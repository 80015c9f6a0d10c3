import BluetoothCore
import CSystemBus
import DBus
import Glibc
import HCITransport

/// A connection to a bus on one event loop, made again when it breaks. Confined to the loop's thread.
package final class SystemBus: BusConnection {
    /// Where the bus is.
    package enum Place: Hashable, Sendable, CustomStringConvertible {
        case system
        /// As D-Bus writes it: `unix:path=/run/bus`.
        case address(String)

        package var description: String {
            switch self {
            case .system: "the system bus"
            case .address(let address): "the bus at \(address)"
            }
        }
    }

    /// Calls of others that wait for an answer of this side.
    static let requestsMaximum = 64
    /// So many messages are read before the iteration's acts are let go.
    private static let messagesPerIteration = 128

    private let place: Place
    private let loop: EventLoop
    /// What is to be heard: rules of D-Bus's for matches.
    private let matches: [String]
    /// Whether signals and calls are told also of those that this side has not called.
    private let servesAnybody: Bool
    private var listener: BusListener?
    private var bus: OpaquePointer?
    private var registration: EventLoop.Registration?
    private var answers = DBusAnswers()
    /// Calls that no message can carry. Whoever made them hears so in the next iteration.
    private var unsent: [DBusCallID] = []
    private var requests: [DBusRequestID: OpaquePointer] = [:]
    private var nextRequest: UInt64 = 1
    private var recovery: TransportRecovery

    /// `servesAnybody`: for a service, which is called by those that it does not know.
    package init(_ place: Place, matches: [String], servesAnybody: Bool = false, loop: EventLoop) {
        self.place = place
        self.servesAnybody = servesAnybody
        recovery = TransportRecovery(name: place.description, canReopen: true)
        self.matches = matches
        self.loop = loop
    }

    deinit { close() }

    package func start(_ listener: BusListener) {
        self.listener = listener
        open()
    }

    package func end() {
        listener = nil
        close()
    }

    package var deadline: Instant? {
        guard let bus else { return recovery.deadline }
        if !unsent.isEmpty { return SystemClock.now() }
        var microseconds = UInt64.max
        guard latch_bus_timeout(bus, &microseconds) >= 0, microseconds != .max else { return nil }
        // sd-bus counts by a clock that stands while the machine sleeps.
        let now = Self.monotonicMicroseconds()
        let rest = microseconds > now ? (microseconds - now + 999) / 1_000 : 0
        return SystemClock.now().advanced(byMilliseconds: rest)
    }

    package func timerFired() {
        guard bus != nil else { return handle(.timerFired) }
        let refused = unsent
        unsent = []
        for call in refused { listener?.event(.answered(call, .failure(Self.unsendable))) }
        process()
    }

    private static func monotonicMicroseconds() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_nsec) / 1_000
    }

    // MARK: The connection

    private func handle(_ input: TransportRecovery.Input) {
        var outputs: [TransportRecovery.Output] = []
        recovery.handle(input, now: SystemClock.now(), into: &outputs)
        for output in outputs {
            switch output {
            case .open: open()
            case .close: close()
            case .hostOpened: listener?.event(.opened)
            case .hostClosed: listener?.event(.closed)
            case .say(let notice): listener?.notice(notice)
            case .end(let error): listener?.ended(error)
            }
        }
    }

    private func open() {
        var opened: OpaquePointer?
        let result = place.open(&opened)
        guard result >= 0, let opened else { return handle(.failed(error(-result))) }
        bus = opened
        do throws(TransportError) {
            registration = try loop.register(latch_bus_descriptor(opened), .readable) { [unowned self] _ in
                listener?.begin()
                process()
            }
        } catch {
            close()
            return handle(.failed(error))
        }
        for match in matches {
            _ = send(
                DBusCall(
                    to: DBusName.bus, path: DBusName.busPath, interface: DBusName.bus, member: "AddMatch",
                    body: [.string(match)]))
        }
        handle(.opened)
        flush()
    }

    private func error(_ number: Int32) -> TransportError {
        let kind: TransportError.Kind =
            switch number {
            case ENOSYS: .unsupported
            case ENOENT: .notFound
            case ECONNREFUSED: .refused
            case EACCES, EPERM: .notPermitted
            default: .system(number)
            }
        return TransportError(
            kind,
            number == ENOSYS
                ? "\(place): libsystemd.so.0 is missing: install the package libsystemd0"
                : "\(place): \(String(cString: strerror(number)))")
    }

    private func close() {
        if let registration { loop.unregister(registration) }
        registration = nil
        for message in requests.values { latch_bus_release(message) }
        (answers, unsent, requests) = (DBusAnswers(), [], [:])
        if let bus { latch_bus_close(bus) }
        bus = nil
    }

    private func process() {
        for _ in 0..<Self.messagesPerIteration {
            // Whoever heard of the last one may have ended it.
            guard let bus else { return }
            var message: OpaquePointer?
            let result = latch_bus_process(bus, &message)
            defer { if let message { latch_bus_release(message) } }
            if result < 0 { return handle(.broke(reason: error(-result).description)) }
            if let message { received(message) }
            if result == 0 { break }
        }
        flush()
    }

    package func flush() {
        guard let bus, let registration else { return }
        let events = latch_bus_events(bus)
        var interest: Readiness = []
        if events & Int32(POLLIN) != 0 { interest.insert(.readable) }
        if events & Int32(POLLOUT) != 0 { interest.insert(.writable) }
        loop.setInterest(interest, of: registration)
    }

    // MARK: What comes

    /// The sender is looked at before anything that is in the message: one that nobody waits for costs no more than its arrival.
    private func received(_ message: OpaquePointer) {
        let sender = DBusReader.text(latch_bus_sender(message))
        switch latch_bus_kind(message) {
        case Int32(LATCH_BUS_ANSWER.rawValue): answered(message, by: sender, isError: false)
        case Int32(LATCH_BUS_ERROR.rawValue): answered(message, by: sender, isError: true)
        case Int32(LATCH_BUS_SIGNAL.rawValue):
            guard hears(sender), let signal = try? decode(message, by: sender) else { return }
            answers.heard(signal)
            listener?.event(.signal(signal))
        case Int32(LATCH_BUS_CALL.rawValue): called(message, by: sender)
        default: break
        }
    }

    private func hears(_ sender: String) -> Bool { servesAnybody || answers.hears(sender) }

    /// What somebody else says in the place of whom was called is no answer, and the call goes on waiting.
    private func answered(_ message: OpaquePointer, by sender: String, isError: Bool) {
        switch answers.take(latch_bus_answered_cookie(message), from: sender, isError: isError) {
        case .call(let id): listener?.event(.answered(id, Self.result(message, isError: isError)))
        case .owner(let name):
            // Nobody has it yet: who does later, the bus tells by itself.
            guard case .success(let body) = Self.result(message, isError: isError), let owner = body.first?.text else {
                return
            }
            answers.owner(of: name, is: owner)
        case nil: break
        }
    }

    private static func result(_ message: OpaquePointer, isError: Bool) -> Result<[DBusValue], DBusError> {
        guard isError else { return Result { () throws(DBusError) in try DBusReader.body(of: message) } }
        return .failure(
            DBusError(
                name: DBusReader.text(latch_bus_error_name(message)),
                text: DBusReader.text(latch_bus_error_text(message))))
    }

    private func called(_ message: OpaquePointer, by sender: String) {
        func refuse(_ name: String) { answer(message) { latch_bus_make_error(message, &$0, name, "") } }
        guard hears(sender) else { return refuse(DBusName.accessDenied) }
        let call: DBusMessage
        do throws(DBusError) { call = try decode(message, by: sender) } catch { return refuse(error.name) }
        guard requests.count < Self.requestsMaximum else { return refuse("org.freedesktop.DBus.Error.Failed") }
        let id = DBusRequestID(rawValue: nextRequest)
        nextRequest += 1
        if latch_bus_wants_answer(message) { requests[id] = latch_bus_retain(message) }
        listener?.event(.called(id, call))
    }

    private func decode(_ message: OpaquePointer, by sender: String) throws(DBusError) -> DBusMessage {
        DBusMessage(
            sender: sender, path: DBusReader.text(latch_bus_path(message)),
            interface: DBusReader.text(latch_bus_interface(message)),
            member: DBusReader.text(latch_bus_member(message)), body: try DBusReader.body(of: message))
    }

    // MARK: What goes

    package func perform(_ act: DBusAct) {
        switch act {
        case .call(let id, let call):
            guard bus != nil else { return }
            if let (match, owner) = answers.prelude(to: call.destination) {
                _ = send(match)
                if let number = send(owner) {
                    answers.sent(number, for: .owner(of: call.destination), to: owner.destination)
                }
            }
            guard let number = send(call) else { return unsent.append(id) }
            answers.sent(number, for: .call(id), to: call.destination)
        case .answer(let id, let body):
            guard let message = requests.removeValue(forKey: id) else { return }
            defer { latch_bus_release(message) }
            answer(message) { answer in
                let result = latch_bus_make_answer(message, &answer)
                guard result >= 0, let answer else { return result }
                return DBusWriter(answer).append(body) ? 0 : -EINVAL
            }
        case .refuse(let id, let error):
            guard let message = requests.removeValue(forKey: id) else { return }
            defer { latch_bus_release(message) }
            answer(message) { latch_bus_make_error(message, &$0, error.name, error.text) }
        }
    }

    private static let unsendable = DBusError(name: "org.freedesktop.DBus.Error.InvalidArgs")

    private func send(_ call: DBusCall) -> UInt64? {
        guard let bus else { return nil }
        var message: OpaquePointer?
        let result = latch_bus_make_call(bus, &message, call.destination, call.path, call.interface, call.member)
        guard result >= 0, let message else { return nil }
        defer { latch_bus_release(message) }
        var cookie: UInt64 = 0
        guard DBusWriter(message).append(call.body), latch_bus_send(bus, message, &cookie) >= 0 else { return nil }
        return cookie
    }

    private func answer(_ call: OpaquePointer, _ make: (inout OpaquePointer?) -> Int32) {
        var answer: OpaquePointer?
        defer { if let answer { latch_bus_release(answer) } }
        guard let bus, latch_bus_wants_answer(call), make(&answer) >= 0, let answer else { return }
        _ = latch_bus_send(bus, answer, nil)
    }
}
