import BluetoothCore
import Testing

@testable import LockCentral

@Suite("How many links are made to measure on")
struct MeasurementBudgetTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    @Test("So many at once, and one more when there is one again, not a millisecond earlier")
    func burst() {
        var budget = MeasurementBudget(now: start)
        for _ in 0..<MeasurementBudget.burstMaximum {
            let isTaken = budget.take(now: start)
            #expect(isTaken)
        }
        let isOneMore = budget.take(now: start)
        #expect(!isOneMore)
        let again = start.advanced(byMilliseconds: MeasurementBudget.refillMilliseconds)
        #expect(budget.available == again)
        let isTooEarly = budget.take(now: Instant(nanoseconds: again.nanoseconds - 1_000_000))
        let (isThere, isAnother) = (budget.take(now: again), budget.take(now: again))
        #expect(!isTooEarly && isThere && !isAnother)
    }

    @Test("Asked every second: so many in an hour from whenever the bucket is full, and no hour has one more")
    func hour() {
        for pause in [0, 200_000, 3_600_000] as [UInt64] {
            var budget = MeasurementBudget(now: start)
            for _ in 0..<MeasurementBudget.burstMaximum { _ = budget.take(now: start) }
            let began = start.advanced(byMilliseconds: pause)
            let seconds = (0..<10_800).map { began.advanced(byMilliseconds: $0 * 1_000) }
            let taken = seconds.filter { budget.take(now: $0) }
            for first in taken {
                let end = first.advanced(byMilliseconds: 3_600_000)
                #expect(taken.count { $0 >= first && $0 < end } <= MeasurementBudget.linksPerHourMaximum)
            }
        }
    }
}
