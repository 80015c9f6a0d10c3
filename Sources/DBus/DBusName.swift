/// Names that every bus has.
///
/// D-Bus Specification, Standard Interfaces; Message Bus Messages
package enum DBusName {
    /// The bus itself: its name, and its interface.
    package static let bus = "org.freedesktop.DBus"
    package static let busPath = "/org/freedesktop/DBus"
    package static let objectManager = "org.freedesktop.DBus.ObjectManager"
    package static let properties = "org.freedesktop.DBus.Properties"

    package static let accessDenied = "org.freedesktop.DBus.Error.AccessDenied"
    package static let unknownMethod = "org.freedesktop.DBus.Error.UnknownMethod"
}
