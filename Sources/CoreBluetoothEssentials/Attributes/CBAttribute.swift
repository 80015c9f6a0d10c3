/// What services, characteristics and descriptors have in common: a type. Equal only to itself.
///
/// Only this module makes subclasses, and each guards its mutable state with a `Mutex`.
public class CBAttribute: Hashable, @unchecked Sendable {
    /// The attribute's type.
    public let uuid: CBUUID

    init(uuid: CBUUID) { self.uuid = uuid }

    /// Whether both are the same object.
    public static func == (a: CBAttribute, b: CBAttribute) -> Bool { a === b }
    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
