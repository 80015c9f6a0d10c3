import DBusTransport

extension SystemBus.Place {
    /// The bus of the user's session, as the environment names it; nil for none.
    ///
    /// D-Bus Specification, Well-known Message Bus Instances
    static func session(_ environment: (String) -> String? = Environment.variable) -> Self? {
        if let address = environment("DBUS_SESSION_BUS_ADDRESS"), !address.isEmpty { return .address(address) }
        guard let directory = environment("XDG_RUNTIME_DIR"), directory.hasPrefix("/") else { return nil }
        return .address("unix:path=\(directory)/bus")
    }
}
