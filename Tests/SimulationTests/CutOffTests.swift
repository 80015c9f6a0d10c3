import Simulation
import Testing

@Suite("A house that is cut off") struct CutOffTests {
    @Test("It has played those schedules that were begun, whole, and no other")
    func house() throws {
        var asked = 0
        var (cutOff, short) = (Simulation(), Simulation())
        let violation = try cutOff.playHouse(seed: 7, schedules: 100) {
            asked += 1
            return asked <= 3
        }
        #expect(violation == nil)
        #expect(asked == 4)
        #expect(try short.playHouse(seed: 7, schedules: 3) == nil)
        #expect(cutOff.tally == short.tally && cutOff.tally.schedules == 3)
    }
}
