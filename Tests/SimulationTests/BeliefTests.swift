import BluetoothCore
import Testing

@testable import Simulation

@Suite("What may be so, by what operators were told")
struct BeliefTests {
    private static func at(_ milliseconds: UInt64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    @Test("A change that was asked for may be made, until its answer says whether it is")
    func answers() {
        for isMade in [true, false] {
            var belief = Belief("a")
            belief.ask(1, at: Self.at(10)) { _ in "b" }
            #expect(belief.now == ["a", "b"] && belief.certain == nil)
            belief.tell(1, isMade: isMade, at: Self.at(20))
            #expect(belief.certain == (isMade ? "b" : "a"))
            #expect(belief.during(Self.at(5), Self.at(9)) == ["a"])
            #expect(belief.during(Self.at(15), Self.at(15)) == ["a", "b"])
        }
    }

    @Test("Of two changes under way at once either may be the last, whichever is answered first")
    func overlapping() {
        var belief = Belief("a")
        belief.ask(1, at: Self.at(10)) { _ in "b" }
        belief.ask(2, at: Self.at(20)) { _ in "c" }
        belief.tell(2, isMade: true, at: Self.at(30))
        belief.tell(1, isMade: true, at: Self.at(40))
        #expect(belief.now == ["b", "c"])
        // One that was asked for behind both answers is the last.
        belief.ask(3, at: Self.at(50)) { _ in "d" }
        belief.tell(3, isMade: true, at: Self.at(60))
        #expect(belief.certain == "d")
    }

    @Test("What was refused has changed nothing, whatever was made beside it")
    func refused() {
        var belief = Belief("")
        belief.ask(1, at: Self.at(10)) { $0 + "b" }
        belief.ask(2, at: Self.at(20)) { $0 + "c" }
        #expect(belief.now == ["", "b", "c", "bc", "cb"])
        belief.tell(2, isMade: true, at: Self.at(30))
        #expect(belief.now == ["c", "bc", "cb"])
        belief.tell(1, isMade: false, at: Self.at(40))
        #expect(belief.certain == "c")
    }

    @Test("What is never answered has happened or has not, and nothing is asked twice")
    func settled() {
        var belief = Belief("")
        belief.ask(1, at: Self.at(10)) { $0 + "b" }
        belief.settle(at: Self.at(20))
        belief.tell(1, isMade: true, at: Self.at(30))
        #expect(belief.now == ["", "b"])
        belief.forget()
        #expect(belief.during(Self.at(0), Self.at(5)) == [])
    }
}
