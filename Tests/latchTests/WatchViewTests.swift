import DaemonControl
import Testing

@testable import latch

@Suite("Watching a key: the picture")
struct WatchViewTests {
    private static func view(isColoured: Bool = false, _ events: [(String, JSONObject)] = []) -> WatchView {
        var view = WatchView(isColoured: isColoured)
        for (event, fields) in events { _ = view.take(event, fields, time: time) }
        return view
    }

    /// The day begins at 08:00:00, and nothing is older than a minute.
    private static func time(_ ago: UInt64) -> String { ago == 0 ? "08:01:00" : "08:00:\(60 - ago / 1_000)" }

    private static func lock(_ name: String, _ more: JSONObject = [:]) -> (String, JSONObject) {
        var fields: JSONObject = ["id": .string("id of \(name)"), "name": .string(name), "link": "none"]
        for member in more.members { fields[member.name] = member.value }
        return ("lock", fields)
    }

    private static let front = lock(
        "Front door",
        [
            "link": "proven", "signal_dbm": -61, "bolt": "unlocked", "door": "open", "state_age_ms": 0,
            "operation": "unlock", "result": "done", "receipt_age_ms": 12_000,
        ])
    private static let watching: (String, JSONObject) = ("watching", ["radio": "on", "locks": 1])

    @Test("A lock is one line of 80 columns, with its receipt's time; what is not known is a dash")
    func table() {
        let lines = Self.view([Self.watching, Self.lock("Back door"), Self.front]).lines(columns: 80, rows: 24)
        #expect(lines[0] == "Latch: 2 locks, radio on. Ctrl-C ends.")
        #expect(
            lines[2...] == [
                "Lock              Link      Signal         Bolt      Door    Last receipt       ",
                "Back door         none      -              -         -       -                  ",
                "Front door        proven    -61 dBm ###.   unlocked  open    08:00 unlock done  ",
            ])
        #expect(lines.dropFirst(2).allSatisfy { $0.count == 80 })
    }

    @Test("Preferred locks come first in their order with a star, and what the star is stands below")
    func preferred() {
        let events = [
            Self.watching, Self.lock("Attic"), Self.front, Self.lock("Shed", ["preference": 2]),
            Self.lock("Yard", ["preference": 1]),
        ]
        let lines = Self.view(events).lines(columns: 80, rows: 24)
        #expect(lines[3...6].map { $0.prefix(10) } == ["* Yard    ", "* Shed    ", "  Attic   ", "  Front do"])
        #expect(lines.suffix(2) == ["", "* preferred, in this order"])
        #expect(!Self.view([Self.watching, Self.front]).lines(columns: 80, rows: 24).joined().contains("*"))
    }

    @Test("Notes stand at the end of the line where there is room for one, and their lock's name gives way")
    func notes() {
        let events = [Self.watching, Self.front, Self.lock("Shed", ["note": "left door, turn twice"])]
        func lines(_ columns: Int) -> [String] { Self.view(events).lines(columns: columns, rows: 24) }
        #expect(!lines(92).joined().contains("Note"), "11 columns are no room")
        #expect(lines(93)[2].hasSuffix(" Note        ") && lines(93)[4].hasSuffix(" left door, ~"))
        #expect(lines(110)[4].hasSuffix(" left door, turn twice        "))
        #expect(lines(110).dropFirst(2).allSatisfy { $0.count == 110 })
        #expect(!Self.view([Self.watching, Self.front]).lines(columns: 200, rows: 24).joined().contains("Note"))
    }

    @Test("Every width and height is kept to, and what has no room is counted", arguments: [0, 1, 5, 40, 80, 81, 200])
    func fits(columns: Int) {
        let names = ["A", "B", String(repeating: "ä", count: 64), "Käthe's"]
        let fields: JSONObject = ["link": "unproven", "signal_dbm": -90, "note": "turn twice, and pull"]
        let view = Self.view([Self.watching] + names.map { Self.lock($0, fields) })
        for rows in 0...12 {
            let lines = view.lines(columns: columns, rows: rows)
            #expect(lines.count <= rows && lines.allSatisfy { $0.count <= columns })
        }
        #expect(Self.view([Self.watching]).lines(columns: 80, rows: 24).count == 3)
        #expect(view.lines(columns: 80, rows: 7)[4].hasPrefix("and 3 more"))
    }

    @Test("What nothing has proven is marked, on the line and below, and where there is no terminal in words")
    func unproven() {
        var view = Self.view([Self.watching])
        let (event, fields) = Self.lock("Front door", ["link": "unproven", "signal_dbm": -40])
        #expect(
            view.take(event, fields, time: Self.time)
                == "08:01:00 Front door: link unproven, signal -40 dBm, of whoever answers there")
        let lines = view.lines(columns: 80, rows: 24)
        #expect(lines[3].contains("-40 dBm #### ?") && lines.last?.hasPrefix("?") == true)
        let proven = Self.lock("Front door", ["link": "proven", "signal_dbm": -40])
        _ = view.take(proven.0, proven.1, time: Self.time)
        #expect(!view.lines(columns: 80, rows: 24).contains { $0.contains("?") })
    }

    @Test(
        "The bar grows with the signal, from none to four",
        arguments: [(-127, 0), (-100, 0), (-88, 1), (-64, 3), (-52, 4), (20, 4)])
    func bar(dBm: Int, bars: Int) {
        let line = Self.view([Self.lock("A", ["link": "proven", "signal_dbm": JSONValue(dBm)])])
            .lines(columns: 80, rows: 24)[3]
        #expect(line.contains("dBm " + String(repeating: "#", count: bars) + String(repeating: ".", count: 4 - bars)))
    }

    @Test("Without a terminal a change is a line that says all of the lock, and what is forgotten is said once")
    func lines() {
        var view = Self.view()
        #expect(view.take("watching", ["radio": "off"], time: Self.time) == "08:01:00 radio off")
        #expect(
            view.take(Self.front.0, Self.front.1, time: Self.time)
                == "08:01:00 Front door: link proven, signal -61 dBm, bolt unlocked, door open, last receipt unlock done at 08:00:48"
        )
        let noted = Self.lock("Shed", ["note": "turn twice", "preference": 2])
        #expect(
            view.take(noted.0, noted.1, time: Self.time)
                == "08:01:00 Shed: link none, preference 2, note: turn twice")
        let gone: JSONObject = ["id": "id of Front door"]
        #expect(view.take("gone", gone, time: Self.time) == "08:01:00 Front door: forgotten")
        #expect(view.take("gone", gone, time: Self.time) == nil)
        #expect(view.take("of a newer key", [:], time: Self.time) == nil)
        #expect(view.take("lock", ["name": "no id"], time: Self.time) == nil)
    }

    @Test("Attack: a lock that has named itself with a terminal's controls moves no cursor")
    func controls() {
        var view = Self.view([Self.watching])
        let (event, fields) = Self.lock(
            "\u{1B}[2J\nFront", ["bolt": "\u{1B}[31m", "door": "\u{7F}\u{9B}x", "note": "\u{1B}c"])
        let line = view.take(event, fields, time: Self.time) ?? ""
        let all = line + view.lines(columns: 120, rows: 24).joined()
        #expect(
            !all.unicodeScalars.contains { $0.value < 32 || (127..<160).contains($0.value) }, "\(all.debugDescription)")
    }

    @Test("Colours are where somebody should look, and nowhere without leave")
    func colours() {
        let events = [Self.watching, Self.lock("Back door", ["bolt": "locked", "door": "closed"]), Self.front]
        let coloured = Self.view(isColoured: true, events).lines(columns: 80, rows: 24)
        #expect(!coloured[3].contains("\u{1B}"))
        #expect(coloured[4].contains("\u{1B}[33m unlocked \u{1B}[0m"), "\(coloured[4].debugDescription)")
        #expect(!Self.view(events).lines(columns: 80, rows: 24).joined().contains("\u{1B}"))
    }

    @Test(
        "A screen writes the lines that differ, and no other, and takes away what is not there any more; each is cleared before it is written, or a full one would lose its last character"
    )
    func screen() {
        var screen = WatchScreen()
        #expect(screen.show(["a", "b"]) == "\u{1B}[1;1H\u{1B}[Ka\u{1B}[2;1H\u{1B}[Kb")
        #expect(screen.show(["a", "b"]).isEmpty)
        #expect(screen.show(["a", "c"]) == "\u{1B}[2;1H\u{1B}[Kc")
        #expect(screen.show(["a"]) == "\u{1B}[2;1H\u{1B}[K")
        #expect(screen.clear() == "\u{1B}[2J" && screen.show(["a"]) == "\u{1B}[1;1H\u{1B}[Ka")
    }
}
