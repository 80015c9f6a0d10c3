import DBusTransport
import Glibc

/// Where a user's desktop is.
struct CompanionPlace {
    /// logind's bus.
    var machine = SystemBus.Place.system
    /// The bus of the user's session; nil for none.
    var session: SystemBus.Place?
    /// Whether they are told what the key has done by itself.
    var tellsOwnActs: Bool

    init(machine: SystemBus.Place = .system, session: SystemBus.Place?, tellsOwnActs: Bool) {
        (self.machine, self.session, self.tellsOwnActs) = (machine, session, tellsOwnActs)
    }

    /// As the environment says it.
    ///
    /// D-Bus Specification, Well-known Message Bus Instances
    static func sessionBus(_ environment: (String) -> String? = variable) -> SystemBus.Place? {
        if let address = environment("DBUS_SESSION_BUS_ADDRESS"), !address.isEmpty { return .address(address) }
        guard let directory = environment("XDG_RUNTIME_DIR"), directory.hasPrefix("/") else { return nil }
        return .address("unix:path=\(directory)/bus")
    }

    private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}
