import LockProtocol
import SecurityManager

extension LockDaemon {
    /// Makes a new lock of it, all in this iteration: nobody has a key, a bond or a window any more, and the settings are those of the
    /// configuration over a new lock's. The audit stays, and says all this. Says how many credentials went.
    ///
    /// The bolt stays where it is, unless the mode that ends kept it open.
    package func reset() throws(RevocationRefusal) -> Int {
        feed(.administration(.reset))
        cancelEnrolment()
        var removed = 0
        let names = credentialNames
        guard isStateReadable else { throw .stateUnreadable }
        for name in names {
            removed += credentials(named: name).count
            _ = try administer(name, .removed)
        }
        for row in rows?.unreadableCredentials() ?? [] {
            _ = try administer(String(Int64(bitPattern: row.id.rawValue)), .removed)
            removed += 1
        }
        deleteAllBonds()
        feed(.administration(.mode(.normal)))
        let settings = configuration.settings.over(LockSettings())
        if self.settings != settings { feed(.administration(.settings(settings))) }
        return removed
    }
}
