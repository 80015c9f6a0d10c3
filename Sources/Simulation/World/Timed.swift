import BluetoothCore

/// Somebody in a world who is no host and has a time of his own: a program beside a lock, or the metal of a door.
package protocol Timed: AnyObject {
    /// When it has something to do by itself.
    var deadline: Instant? { get }
    /// Does what is due by now.
    func fireTimers()
    /// Does what has come meanwhile; whether there was anything.
    func step() -> Bool
}
