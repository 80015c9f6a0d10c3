import Foundation
import TestSupport
import Testing

@testable import LockProtocol

/// Against the time zones that Foundation has by name.
@Suite("Time zones")
struct TimeZoneRuleTests {
    /// By the database's name: north, south, half an hour of daylight time, winter as daylight time, changes on other days than
    /// Sunday and beyond midnight, and places without.
    static let zones: [(text: String, name: String)] = [
        ("CET-1CEST,M3.5.0,M10.5.0/3", "Europe/Berlin"), ("AEST-10AEDT,M10.1.0,M4.1.0/3", "Australia/Sydney"),
        ("EST5EDT,M3.2.0,M11.1.0", "America/New_York"), ("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "Australia/Lord_Howe"),
        ("IST-1GMT0,M10.5.0,M3.5.0/1", "Europe/Dublin"), ("IST-2IDT,M3.4.4/26,M10.5.0", "Asia/Jerusalem"),
        ("<-04>4<-03>,M9.1.6/24,M4.1.6/24", "America/Santiago"), ("IST-5:30", "Asia/Kolkata"), ("UTC0", "UTC"),
    ]

    /// Of 2026: what schedules go by is the latest that the clock has shown.
    private struct Walk {
        static let begin: Int64 = 1_767_225_600
        static let year: Int64 = 365 * 86_400

        let zone: TimeZone
        var latest = Int64.min

        init(_ name: String) throws { zone = try #require(TimeZone(identifier: name)) }

        func shown(_ instant: Int64) -> Int64 {
            instant + Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: TimeInterval(instant))))
        }

        mutating func time(_ instant: Int64) -> Int64 {
            latest = max(latest, shown(instant))
            return latest
        }
    }

    @Test(
        "A year: what schedules go by is the latest that the clock on the wall has shown", arguments: zones)
    func year(text: String, name: String) throws {
        let rule = try TimeZoneRule(text: text)
        var walk = try Walk(name)
        var (broken, changes) = (0, 0)
        // Changes are at quarters of hours: the first two go by minutes, which takes its time.
        let step: Int64 = Self.zones.prefix(2).contains { $0.name == name } ? 60 : 900
        var before = walk.shown(Walk.begin - step)
        for instant in stride(from: Walk.begin, to: Walk.begin + Walk.year, by: Int(step)) {
            let shown = walk.shown(instant)
            if shown - before != step { changes += 1 }
            // The clock has run to the end of the step before.
            walk.latest = max(walk.latest, before + step - 1, shown)
            before = shown
            if rule.scheduleTime(at: instant).seconds != walk.latest { broken += 1 }
        }
        #expect(broken == 0)
        #expect(changes == (rule.daylight == nil ? 0 : 2))
    }

    @Test("Both changes by seconds, and every local time about them as an instant", arguments: zones)
    func changes(text: String, name: String) throws {
        let rule = try TimeZoneRule(text: text)
        let reference = try Walk(name)
        let minutes = stride(from: Walk.begin, to: Walk.begin + Walk.year, by: 1800)
        let changes = minutes.filter { reference.shown($0) - reference.shown($0 - 1800) != 1800 }
        #expect(changes.count == (rule.daylight == nil ? 0 : 2))
        var broken = 0
        for change in changes {
            var walk = reference
            /// The first instant that shows a time or a later one.
            var firsts: [Int64: Int64] = [:]
            let window = change - 3 * 3600..<change + 3 * 3600
            for instant in window {
                let previous = walk.latest
                let latest = walk.time(instant)
                if rule.scheduleTime(at: instant).seconds != latest { broken += 1 }
                if instant > window.lowerBound, latest > previous {
                    for time in previous + 1...latest { firsts[time] = instant }
                }
            }
            for (time, instant) in firsts {
                let local = try #require(LocalTime(seconds: time))
                if rule.instant(of: local) != instant { broken += 1 }
            }
            #expect(firsts.count > 4 * 3600)
        }
        #expect(broken == 0)
    }

    @Test("The hour that does not exist and the hour that comes twice, in figures")
    func figures() throws {
        let rule = try TimeZoneRule(text: "CET-1CEST,M3.5.0,M10.5.0/3")
        func instant(_ text: String) throws -> Int64 { rule.instant(of: try LocalTime(text: text)) }
        // 29 March 2026: 02:00 CET is 03:00 CEST, at 01:00 UTC.
        #expect(try instant("2026-03-29T01:59:59") == 1_774_745_999)
        #expect(try instant("2026-03-29T02:30") == 1_774_746_000)
        #expect(try instant("2026-03-29T03:00") == 1_774_746_000)
        #expect(try instant("2026-03-29T03:30") == 1_774_747_800)
        // 25 October 2026: 03:00 CEST is 02:00 CET, at 01:00 UTC.
        #expect(try instant("2026-10-25T02:00") == 1_792_886_400)
        #expect(try instant("2026-10-25T02:59:59") == 1_792_889_999)
        #expect(try instant("2026-10-25T03:00") == 1_792_893_600)
        #expect(rule.scheduleTime(at: 1_792_890_000).description == "2026-10-25T02:59:59")
        #expect(rule.scheduleTime(at: 1_792_893_599).description == "2026-10-25T02:59:59")
    }

    @Test("No instant stops it: the years have ends, and what schedules go by never goes back")
    func anyInstant() throws {
        var generator = SeededGenerator(announcedBy: "TimeZoneRuleTests.anyInstant")
        for (text, _) in Self.zones {
            let rule = try TimeZoneRule(text: text)
            #expect(rule.scheduleTime(at: .min).date.year == 1)
            #expect(rule.scheduleTime(at: .max).date.year == 9999)
            for time in [LocalTime.first, .last] { _ = rule.instant(of: time) }
            for _ in 0..<2000 {
                // Where there are changes, within four hours of one.
                let year = Int.random(in: 2...9998, using: &generator)
                let near = Bool.random(using: &generator) ? rule.daylight?.begins : rule.daylight?.ends
                let about =
                    near?.local(in: year) ?? Int64.random(in: -60_000_000_000...250_000_000_000, using: &generator)
                let instant = about - rule.offsetSeconds + Int64.random(in: -14_400...14_400, using: &generator)
                let step = Int64.random(in: 1...10_000, using: &generator)
                let (one, other) = (rule.scheduleTime(at: instant), rule.scheduleTime(at: instant + step))
                #expect(one <= other, "\(text) at \(instant), \(step) s on")
            }
        }
    }

    @Test("Rules of chance, changes days off their date: the time never goes back, and stands for its first instant")
    func randomRules() throws {
        var generator = SeededGenerator(announcedBy: "TimeZoneRuleTests.randomRules")
        for _ in 0..<300 {
            func change() -> String {
                let month = Int.random(in: 1...12, using: &generator)
                let week = Int.random(in: 1...5, using: &generator)
                let weekday = Int.random(in: 0...6, using: &generator)
                return "M\(month).\(week).\(weekday)/\(Int.random(in: -167...167, using: &generator))"
            }
            let west = Int.random(in: -24...24, using: &generator)
            let daylight = min(max(west + Int.random(in: -3...3, using: &generator), -24), 24)
            let text = "<S100>\(west)<D100>\(daylight),\(change()),\(change())"
            guard let rule = try? TimeZoneRule(text: text), let changes = rule.daylight else { continue }
            for year in [1970, 2024, 2025, 2026, 2038] {
                for about in [changes.begins.local(in: year), changes.ends.local(in: year)] {
                    var before = rule.scheduleTime(at: about - 172_800)
                    for instant in stride(from: about - 172_800, through: about + 172_800, by: 6007) {
                        let time = rule.scheduleTime(at: instant)
                        let first = rule.instant(of: time)
                        let isFirst =
                            first <= instant && rule.scheduleTime(at: first) == time
                            && rule.scheduleTime(at: first - 1) < time
                        #expect(before <= time && isFirst, "\(text) at \(instant)")
                        before = time
                    }
                }
            }
        }
    }

    @Test(
        "Texts that are no time zone, and what is said of them",
        arguments: [
            ("", "name has three letters"), ("CE-1", "name has three letters"), ("CET", "a name and an offset"),
            ("Europe/Berlin", "a name and an offset"), ("CET-25", "from 0 to 24"), ("CET-1:60", "from 0 to 59"),
            ("CET-1CEST", "two changes"), ("CET-1CEST,M3.5.0", "two changes"), ("CET-1CEST,J60,J300", "two changes"),
            ("CET-1CEST,M13.5.0,M10.5.0", "from 1 to 12"), ("CET-1CEST,M3.6.0,M10.5.0", "from 1 to 5"),
            ("CET-1CEST,M3.5.7,M10.5.0", "from 0 to 6"), ("CET-1CEST,M3.5,M10.5.0", "month, week and weekday"),
            ("CET-1CEST,M3.5.0/168,M10.5.0", "from 0 to 167"), ("CET-1CEST,M3.5.0/,M10.5.0", "behind the /"),
            ("CET-1CEST,M3.5.0,M10.5.0/3 ", "something follows"), ("CET-1CEST,M3.5.0,M3.5.0", "ends when it begins"),
            ("<+01-1", "in <>"), ("CET-99999999999999999999", "from 0 to 24"),
        ])
    func refused(text: String, reason: String) throws {
        let error = #expect(throws: ScheduleTextError.self) { try TimeZoneRule(text: text) }
        #expect(try #require(error).description.contains(reason))
    }

    @Test("A text of the greatest length is a time zone, one octet more is none")
    func textBound() throws {
        let most = "<" + String(repeating: "A", count: TimeZoneRule.textOctetsMaximum - 4) + ">-1"
        #expect(try TimeZoneRule(text: most).offsetSeconds == 3600)
        #expect(throws: ScheduleTextError.self) { try TimeZoneRule(text: most + "2") }
    }
}
