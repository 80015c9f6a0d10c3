/// Takes away what a failure does not need.
package enum Shrinker {
    /// Schedules and faults are left out as long as a promise stays broken: halves of what came before the last schedule, then
    /// quarters, down to one, and then single faults.
    ///
    /// - Parameter broken: what it has come to of these schedules when a promise was broken, the breaking one last; nil when
    ///   none was.
    package static func least(
        of schedules: [Schedule], broken: ([Schedule]) throws -> [Schedule]?
    ) rethrows -> [Schedule] {
        var least = schedules
        var size = max(1, least.count / 2)
        while size > 0 {
            var end = least.count - 1
            while end > 0 {
                let begin = max(0, end - size)
                var fewer = least
                fewer.removeSubrange(begin..<end)
                if let found = try broken(fewer) {
                    least = found
                    end = min(begin, least.count - 1)
                } else {
                    end = begin
                }
            }
            size /= 2
        }
        var place = least.count - 1
        while place >= 0 {
            var fault = least[place].faults.count - 1
            while fault >= 0, place < least.count, fault < least[place].faults.count {
                var fewer = least
                fewer[place].faults.remove(at: fault)
                if let found = try broken(fewer) { least = found }
                fault -= 1
            }
            place = min(place - 1, least.count - 1)
        }
        return try withoutNeedless(least, broken)
    }

    /// The same for incidents, chores and wishes.
    private static func withoutNeedless(
        _ schedules: [Schedule], _ broken: ([Schedule]) throws -> [Schedule]?
    ) rethrows -> [Schedule] {
        var least = schedules
        for place in schedules.indices.reversed() {
            func take(_ change: (inout Schedule) -> Void) throws {
                guard least.indices.contains(place) else { return }
                var fewer = least
                change(&fewer[place])
                if let found = try broken(fewer) { least = found }
            }
            for number in schedules[place].incidents.indices.reversed() { try take { $0.incidents.remove(at: number) } }
            for number in schedules[place].chores.indices.reversed() { try take { $0.chores.remove(at: number) } }
            for number in (schedules[place].visit?.wishes ?? []).indices.reversed() {
                try take { $0.visit?.wishes.remove(at: number) }
            }
            if schedules[place].visit != nil { try take { $0.visit = nil } }
        }
        return least
    }
}
