import BluetoothHost
import CLinux
import CommandInterface
import DaemonControl
import Glibc
import HCITransport
import HostComposition

/// Where a daemon's state transitions go: the log, the journal file, and whoever streams `events`. Each is told after its
/// commit, so that what a drill read before a kill is true after it.
final class EventJournal {
    /// Octets of the file before it makes way for a new one: whoever connects adds to it, and whoever is sent away.
    static let fileOctetsMaximum = 67_108_864

    var log: Log
    /// Hears of the name of each event.
    var heard: (String) -> Void = { _ in }
    private var file: JournalFile?
    private var streams: [ObjectIdentifier: ControlExchange] = [:]
    private var sequence: UInt64 = 0

    init(log: Log, path: String?) throws(Failure) {
        self.log = log
        guard let path else { return }
        file = JournalFile(path, octetsMaximum: Self.fileOctetsMaximum)
        guard file != nil else {
            throw Failure(
                .state,
                "journal \(path) cannot be opened: \(String(cString: strerror(errno))): name another with --journal")
        }
    }

    func record(_ name: String, _ fields: JSONObject = [:], level: Log.Level = .info) {
        sequence += 1
        switch level {
        case .debug: log.debug(name, fields)
        case .info: log.info(name, fields)
        case .warning: log.warning(name, fields)
        case .error: log.error(name, fields)
        }
        heard(name)
        for stream in streams.values { stream.event(name, fields) }
        write(name, fields)
    }

    /// For the log alone: what passes, and changes no state that anybody keeps.
    func trace(_ name: String, _ fields: @autoclosure () -> JSONObject) {
        if log.level == .debug { log.debug(name, fields()) }
    }

    /// The way to the controller, as the log and those who listen hear of it.
    func record(_ notice: TransportNotice, of address: AirAddress) {
        var fields: JSONObject = ["transport": .string("\(address)")]
        switch notice {
        case .lost(let reason, let milliseconds):
            fields["reason"] = .string(reason)
            fields["retry_ms"] = .number(Int64(clamping: milliseconds))
            record("controller_lost", fields, level: .warning)
        case .unavailable(let error, let milliseconds):
            fields["reason"] = .string(error.description)
            fields["retry_ms"] = .number(Int64(clamping: milliseconds))
            record("controller_unavailable", fields, level: .error)
        case .found: record("controller_found", fields)
        case .resynchronised(let octets):
            fields["discarded_octets"] = JSONValue(octets)
            record("controller_resynchronised", fields, level: .warning)
        }
    }

    /// What is wrong with a controller that is there, and what is done about it.
    func record(_ failure: ControllerFailure, _ remedy: ControllerRemedy, of address: AirAddress) {
        var fields: JSONObject = ["transport": .string("\(address)"), "reason": .string(failure.description)]
        switch remedy {
        case .reset(let milliseconds):
            fields["remedy"] = "reset"
            fields["reset_ms"] = .number(Int64(clamping: milliseconds))
        case .reopen: fields["remedy"] = "reopen"
        }
        fields["hint"] = address.hint(for: failure).map { .string($0) }
        record("controller_failed", fields, level: .warning)
    }

    /// What the program that alarms are told to makes of them.
    func record(_ notice: AlarmHook.Notice, path: String) {
        var fields: JSONObject = ["hook": .string(path)]
        switch notice {
        case .failed(let reason):
            fields["reason"] = .string(reason)
            record("alarm_hook_failed", fields, level: .warning)
        case .full: record("alarm_hook_full", fields, level: .warning)
        }
    }

    private func write(_ name: String, _ fields: JSONObject) {
        guard file != nil else { return }
        var line: JSONObject = [
            "boottime_ns": .number(Int64(clamping: latch_boottime_nanoseconds())), "pid": JSONValue(getpid()),
            "sequence": JSONValue(sequence), "event": .string(name),
        ]
        for member in fields.members where line[member.name] == nil { line[member.name] = member.value }
        if file?.write(Array((JSONValue.object(line).text + "\n").utf8)) == false {
            log.error("the journal cannot be written", ["reason": .string(String(cString: strerror(errno)))])
        }
    }

    /// Tells `exchange` everything from now on, until its client goes.
    func stream(to exchange: ControlExchange) {
        let id = ObjectIdentifier(exchange)
        streams[id] = exchange
        exchange.onAbandoned = { [weak self] in self?.streams[id] = nil }
        exchange.event("streaming")
    }
}
