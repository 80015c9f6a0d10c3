import BluetoothCore
import CSystemBus
import DBus
import Glibc
import HCITransport

extension SystemBus {
    /// How long a bus may take to say who is there.
    package static let inquiryMilliseconds: UInt64 = 1_000

    /// Whether somebody has this name on the bus now; false where there is no bus, or none that answers in time. Only the bus's own answer
    /// counts. It waits, and so it belongs before a loop begins.
    ///
    /// D-Bus Specification, org.freedesktop.DBus.NameHasOwner
    package static func isOwned(
        _ name: String, at place: Place = .system, waitMilliseconds: UInt64 = inquiryMilliseconds
    ) -> Bool {
        var bus: OpaquePointer?
        guard place.open(&bus) >= 0, let bus else { return false }
        defer { latch_bus_close(bus) }
        var question: OpaquePointer?
        guard latch_bus_make_call(bus, &question, DBusName.bus, DBusName.busPath, DBusName.bus, "NameHasOwner") >= 0,
            let question
        else { return false }
        defer { latch_bus_release(question) }
        var cookie: UInt64 = 0
        guard DBusWriter(question).append([.string(name)]), latch_bus_send(bus, question, &cookie) >= 0 else {
            return false
        }
        var answers = DBusAnswers()
        answers.sent(cookie, for: .call(DBusCallID(rawValue: 1)), to: DBusName.bus)
        let end = SystemClock.now().advanced(byMilliseconds: waitMilliseconds)
        while SystemClock.now() < end {
            var message: OpaquePointer?
            let result = latch_bus_process(bus, &message)
            defer { if let message { latch_bus_release(message) } }
            guard result >= 0 else { return false }
            if let message {
                let isAnswer = latch_bus_kind(message) == Int32(LATCH_BUS_ANSWER.rawValue)
                let answered = answers.take(
                    latch_bus_answered_cookie(message), from: DBusReader.text(latch_bus_sender(message)),
                    isError: !isAnswer)
                if answered != nil { return isAnswer && (try? DBusReader.body(of: message))?.first?.flag == true }
            }
            guard result == 0 else { continue }
            var ready = pollfd(
                fd: latch_bus_descriptor(bus), events: Int16(truncatingIfNeeded: latch_bus_events(bus)), revents: 0)
            let rest = SystemClock.now() < end ? end.milliseconds(since: SystemClock.now()) : 0
            guard poll(&ready, 1, Int32(clamping: rest)) >= 0 || errno == EINTR else { return false }
        }
        return false
    }
}

extension SystemBus.Place {
    /// As sd-bus says it: below zero for what is in the way, as an error's number.
    func open(_ bus: inout OpaquePointer?) -> Int32 {
        switch self {
        case .system: latch_bus_open(nil, &bus)
        case .address(let address): latch_bus_open(address, &bus)
        }
    }
}
