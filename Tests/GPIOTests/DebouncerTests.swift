import BluetoothCore
import GPIO
import TestSupport
import Testing

@Suite("A line's level that counts")
struct DebouncerTests {
    /// A line that the test reads.
    private final class Line {
        private var debouncer: Debouncer
        init(milliseconds: UInt64, isActive: Bool) {
            debouncer = Debouncer(milliseconds: milliseconds, isActive: isActive)
        }
        var isActive: Bool { debouncer.isActive }
        var deadline: Instant? { debouncer.deadline }
        func handle(_ reads: Bool, hasMoved: Bool, now: Instant) -> Bool {
            debouncer.handle(reads, hasMoved: hasMoved, now: now)
        }
    }

    private static func at(_ milliseconds: UInt64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    @Test("A level counts when it has stood for its time, and not a moment before")
    func stands() {
        let line = Line(milliseconds: 30, isActive: false)
        #expect(line.deadline == nil)
        #expect(!line.handle(true, hasMoved: true, now: Self.at(100)))
        #expect(line.deadline == Self.at(130))
        #expect(!line.handle(true, hasMoved: false, now: Self.at(129)) && !line.isActive)
        #expect(line.handle(true, hasMoved: false, now: Self.at(130)) && line.isActive)
        #expect(line.deadline == nil)
    }

    @Test("A blip changes nothing, and a bounce that reads the same begins anew")
    func bounces() {
        let line = Line(milliseconds: 30, isActive: false)
        #expect(!line.handle(true, hasMoved: true, now: Self.at(0)))
        #expect(!line.handle(false, hasMoved: true, now: Self.at(5)))
        #expect(line.deadline == nil)
        #expect(!line.handle(true, hasMoved: true, now: Self.at(10)))
        // Down and up again between two looks.
        #expect(!line.handle(true, hasMoved: true, now: Self.at(35)))
        #expect(!line.handle(true, hasMoved: false, now: Self.at(64)))
        #expect(line.handle(true, hasMoved: false, now: Self.at(65)))
    }

    @Test("Without a time a level counts at once")
    func atOnce() {
        let line = Line(milliseconds: 0, isActive: true)
        #expect(line.handle(false, hasMoved: true, now: Self.at(7)) && !line.isActive)
        #expect(!line.handle(false, hasMoved: true, now: Self.at(7)))
    }

    @Test("However a line bounces, what counts has stood for its time before it counts")
    func random() {
        var generator = SeededGenerator(announcedBy: "DebouncerTests.random")
        let line = Line(milliseconds: 30, isActive: false)
        var (reads, moved, now) = (false, UInt64(0), UInt64(0))
        var changes = 0
        for _ in 0..<20_000 {
            now += .random(in: 0...20, using: &generator)
            let hasMoved = Int.random(in: 0..<3, using: &generator) == 0
            if hasMoved {
                reads.toggle()
                moved = now
            }
            if line.handle(reads, hasMoved: hasMoved, now: Self.at(now)) {
                changes += 1
                #expect(line.isActive == reads && now - moved >= 30)
            }
        }
        #expect(changes > 100)
    }
}
