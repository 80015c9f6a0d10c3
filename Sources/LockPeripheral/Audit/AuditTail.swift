/// What a launch has to know of the audit's last record.
package struct AuditTail: Hashable, Sendable {
    /// It says that the program began, and nothing has happened since.
    package var isLaunch = false
    /// Launches behind it that are counted and not recorded one by one: a program that is killed over and over would otherwise
    /// displace all that the audit tells.
    package var relaunches: UInt64 = 0
    /// The record's time. Times never go back, so it is the latest that the clock was ever trusted with.
    package var wallClockSeconds: Int64?

    package init() {}

    package init(_ last: AuditRecord) {
        isLaunch = last.event == .launched
        wallClockSeconds = last.wallClockSeconds
    }
}
