import BluetoothCore
import Testing

@Suite("A wait that doubles")
struct DoublingWaitTests {
    @Test("Each wait is twice the one before, up to the longest, however often it fails")
    func doubles() {
        let wait = DoublingWait(firstMilliseconds: 300, longestMilliseconds: 5_000)
        let row = ([0, 1, 2, 3, 4, 5, 6, 7, 63, 64, 65, .max] as [UInt64]).map(wait.milliseconds)
        #expect(row == [300, 300, 600, 1_200, 2_400, 4_800, 5_000, 5_000, 5_000, 5_000, 5_000, 5_000])
    }

    @Test("Nothing is lost at the ends of the numbers")
    func ends() {
        let odd = DoublingWait(firstMilliseconds: 3, longestMilliseconds: .max)
        #expect(odd.milliseconds(failures: 63) == 3 << 62)
        #expect(odd.milliseconds(failures: 64) == .max)
        #expect(DoublingWait(firstMilliseconds: 9, longestMilliseconds: 5).milliseconds(failures: 1) == 5)
        #expect(DoublingWait(firstMilliseconds: 0, longestMilliseconds: 5).milliseconds(failures: .max) == 0)
    }
}
