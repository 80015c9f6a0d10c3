import BluetoothCore
import DBus

/// A connection to a bus, on the loop of whoever drives a host.
package protocol BusConnection: AnyObject {
    /// Opens it; ``DBusEvent/opened`` is told before it returns, or the notice why there is no connection.
    func start(_ listener: BusListener)
    /// Ends it for good, and tells nobody.
    func end()
    /// Lets an act go. While there is no connection nothing leaves: whoever waits for an answer has heard that it is closed.
    func perform(_ act: DBusAct)
    /// What could not be sent at once is watched for from now on.
    func flush()
    /// When ``timerFired()`` is due.
    var deadline: Instant? { get }
    func timerFired()
}

/// What a connection to a bus tells its owner, each in an iteration of the loop.
package struct BusListener {
    /// Something is about to be told: look at the clock.
    package var begin: () -> Void
    package var event: (DBusEvent) -> Void
    /// For the operator: that there is no connection, and that there is one again.
    package var notice: (TransportNotice) -> Void
    /// There never is one.
    package var ended: (TransportError) -> Void

    package init(
        begin: @escaping () -> Void, event: @escaping (DBusEvent) -> Void,
        notice: @escaping (TransportNotice) -> Void, ended: @escaping (TransportError) -> Void
    ) {
        (self.begin, self.event, self.notice, self.ended) = (begin, event, notice, ended)
    }
}
