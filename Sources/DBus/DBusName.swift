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

    /// A rule of D-Bus's for matches: who has this name from now on.
    package static func ownerMatch(_ name: String) -> String {
        "type='signal',sender='\(bus)',member='NameOwnerChanged',arg0='\(name)'"
    }
}
