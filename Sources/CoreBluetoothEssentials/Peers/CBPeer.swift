import BluetoothCore
import FoundationEssentials

/// A device on the other side. A manager has one object for each, for as long as anybody holds it; equal only to itself.
///
/// Only this module makes subclasses, and each guards its mutable state with a `Mutex`.
public class CBPeer: Hashable, @unchecked Sendable {
    /// This side's name for the device: made at random, the same in every launch.
    public let identifier: UUID

    /// The same name, as the host uses it.
    package let peer: PeerIdentifier

    /// Callbacks that it caused and that wait for the app. They hold this object.
    let backlog: Backlog

    init(_ peer: PeerIdentifier, backlog: Backlog) {
        identifier = UUID(peer)
        self.peer = peer
        self.backlog = backlog
    }

    /// Whether both are the same object.
    public static func == (a: CBPeer, b: CBPeer) -> Bool { a === b }
    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
