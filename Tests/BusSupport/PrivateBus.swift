import DBus
import DBusTransport
import Foundation
import HCITransport
import TestSupport

/// A bus of its own, which ends with this object.
package final class PrivateBus {
    private let folder = ScratchDirectory()
    private let daemon: ChildProcess
    package let address: String

    /// `passesEverything`: also answers that nobody has asked for.
    package init(passesEverything: Bool = false) throws {
        address = "unix:path=\(folder.path)/bus"
        guard passesEverything else {
            daemon = try Self.begin(at: address)
            return
        }
        let file = "\(folder.path)/bus.conf"
        try Self.permissive.write(toFile: file, atomically: true, encoding: .utf8)
        daemon = try Self.begin(at: address, "--config-file=\(file)")
    }

    private static let permissive = """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig>
          <type>session</type>
          <listen>unix:tmpdir=/tmp</listen>
          <auth>EXTERNAL</auth>
          <policy context="default">
            <allow own="*"/>
            <allow send_type="method_call"/>
            <allow send_type="signal"/>
            <allow send_type="method_return" send_requested_reply="false"/>
            <allow send_type="error" send_requested_reply="false"/>
            <allow receive_type="method_call"/>
            <allow receive_type="signal"/>
            <allow receive_type="method_return" receive_requested_reply="false"/>
            <allow receive_type="error" receive_requested_reply="false"/>
          </policy>
        </busconfig>
        """

    /// The same address with nobody there, and a way to have somebody there.
    package static func begin(at address: String, _ configuration: String = "--session") throws -> ChildProcess {
        let daemon = try ChildProcess([
            "/usr/bin/dbus-daemon", configuration, "--nofork", "--nopidfile", "--nosyslog", "--address=\(address)",
            "--print-address=1",
        ])
        // It says where it is when it can be reached.
        let said = String(decoding: daemon.output.availableData, as: UTF8.self)
        guard said.hasPrefix("unix:path=") else { throw NoBus(said: said) }
        return daemon
    }

    /// The daemon has not begun.
    package struct NoBus: Error {
        package let said: String
    }
}

/// One connection to a bus and what it was told, on a loop that runs as long as something is waited for.
package final class Party {
    package let bus: SystemBus
    package private(set) var events: [DBusEvent] = []
    package private(set) var notices: [TransportNotice] = []
    package private(set) var hasEnded = false
    private var nextCall: UInt64 = 1
    /// Answers calls of others, or has one wait for ever; nil for none.
    package var service: ((DBusMessage) -> Result<[DBusValue], DBusError>?)?

    /// `servesAnybody`: also those that it has not called.
    package init(at address: String, _ loop: EventLoop, matches: [String] = [], servesAnybody: Bool = false) {
        bus = SystemBus(.address(address), matches: matches, servesAnybody: servesAnybody, loop: loop)
    }

    package func start() {
        bus.start(
            BusListener(
                begin: {},
                event: { [unowned self] event in
                    events.append(event)
                    guard case .called(let id, let message) = event, let service else { return }
                    switch service(message) {
                    case .success(let body): bus.perform(.answer(id, body))
                    case .failure(let error): bus.perform(.refuse(id, error))
                    // It waits for ever.
                    case nil: break
                    }
                }, notice: { [unowned self] in notices.append($0) }, ended: { [unowned self] _ in hasEnded = true }))
    }

    @discardableResult
    package func call(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ body: [DBusValue] = []
    ) -> DBusCallID {
        let id = DBusCallID(rawValue: nextCall)
        nextCall += 1
        bus.perform(
            .call(id, DBusCall(to: destination, path: path, interface: interface, member: member, body: body)))
        return id
    }

    package func callBus(_ member: String, _ body: [DBusValue]) -> DBusCallID {
        call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", member, body)
    }

    package func answer(to call: DBusCallID) -> Result<[DBusValue], DBusError>? {
        for case .answered(call, let result) in events { return result }
        return nil
    }
}

extension EventLoop {
    /// Runs these parties until something is so.
    package func run(_ parties: [Party], until isSo: () -> Bool) throws {
        let isDue = { parties.compactMap(\.bus.deadline).min() }
        onDeadline = { parties.forEach { $0.bus.timerFired() } }
        guard !isSo() else { return }
        parties.forEach { $0.bus.flush() }
        deadline = isDue()
        try run {
            parties.forEach { $0.bus.flush() }
            deadline = isDue()
            return isSo() ? .stop : .wait
        }
    }
}
