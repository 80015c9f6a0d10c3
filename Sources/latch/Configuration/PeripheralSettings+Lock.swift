import LockPeripheral
import LockProtocol

extension PeripheralSettings {
    /// What the lock is to go by, and what of it nobody sets over the air: what the file says.
    ///
    /// - Throws: ``ScheduleTextError`` for a time zone or holidays that no configuration file can have.
    func lockSettings() throws(ScheduleTextError) -> ConfiguredLockSettings {
        var settings = LockSettings()
        var fixed: LockSettings.Fields = []
        if let relockSeconds {
            settings.relockSeconds = relockSeconds == 0 ? nil : UInt16(relockSeconds)
            fixed.insert(.relock)
        }
        if let lockAndGoSeconds {
            settings.lockAndGoSeconds = UInt16(lockAndGoSeconds)
            fixed.insert(.lockAndGo)
        }
        if let challengeLifeMilliseconds {
            settings.challengeLifeMilliseconds = UInt64(challengeLifeMilliseconds)
            fixed.insert(.challengeLife)
        }
        if let isSignedAllowed {
            settings.acceptsSigned = isSignedAllowed
            fixed.insert(.acceptsSigned)
        }
        settings.calendar = try LockCalendar(timeZone: timeZone ?? TimeZoneRule.utc.text, holidays: holidays)
        if timeZone != nil { fixed.insert(.timeZone) }
        if holidays != nil { fixed.insert(.holidays) }
        return ConfiguredLockSettings(settings, fixed: fixed)
    }

    /// What is fitted to the door. Each key has been looked at when the file was read.
    var doorRules: DoorRules {
        DoorRules(
            ajarSeconds: ajarSeconds == 0 ? nil : UInt16(ajarSeconds), locksWhenClosed: locksWhenClosed,
            exit: DoorRules.Exit(rawValue: exit) ?? .opens,
            passage: passage.flatMap { try? CredentialSchedules(weekdays: $0) } ?? .none)
    }
}
