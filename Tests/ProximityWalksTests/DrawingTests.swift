import LockCentral
import Testing

@testable import ProximityWalks

@Suite("A walk, drawn")
struct DrawingTests {
    private static func trace() -> WalkTrace {
        var trace = WalkTrace()
        for index in 0..<UInt64(400) {
            let isAway = (100..<300).contains(index)
            trace.add(isAway ? -90 : -50, milliseconds: index * 100)
        }
        trace.stands = [
            WalkTrace.Stand(place: .near, begin: 2_000, end: 8_000),
            WalkTrace.Stand(place: .away, begin: 20_000, end: nil),
        ]
        return trace
    }

    private func count(_ part: String, in text: String) -> Int { text.ranges(of: part).count }

    @Test(
        "A chart is as wide as the terminal and never wider, however wide that says to be",
        arguments: [0, 40, 79, 80, 120, 10_000])
    func width(columns: Int) {
        let lines = TerminalChart(width: columns).lines(Self.trace(), rules: ProximityRules())
        let wanted = min(max(columns, TerminalChart.widthMinimum), TerminalChart.widthMaximum)
        #expect(lines.allSatisfy { $0.count == wanted }, "\(lines.map(\.count))")
        #expect(lines.count == TerminalChart.rows + 3)
    }

    @Test("It shows the signal, both thresholds with their names, what was found, and where its user stood")
    func chart() throws {
        let lines = TerminalChart(width: 80).lines(Self.trace(), rules: ProximityRules())
        let near = try #require(lines.first { $0.hasPrefix("  -62┤") })
        let away = try #require(lines.first { $0.hasPrefix("  -78┤") })
        // The filter goes from one level to the other in half a second: some columns are in between.
        #expect(near.contains("█") && near.contains("─") && away.contains("╌"))
        let found = try #require(lines.first { $0.hasPrefix("found ") }).dropFirst(6)
        #expect(found.filter { $0 != " " } == "AN")
        let stood = try #require(lines.first { $0.hasPrefix("stood ") }).dropFirst(6)
        #expect(stood.contains("NNN") && stood.hasSuffix("AAA") && stood.hasPrefix("   "))
        #expect(lines.last?.hasSuffix("40 s") == true)
        // In the first quarter the signal is at -50 dBm, which is the fifth row's upper end.
        let columns = lines.map { Array($0)[TerminalChart.labelColumns + 10] }
        #expect(columns[3] == " " && columns[4] != " " && columns[13] == "█")
    }

    @Test("A walk without a reading, and one with signals that none is, are drawn too")
    func extremes() {
        var trace = WalkTrace()
        #expect(TerminalChart(width: 80).lines(trace, rules: ProximityRules()).count == TerminalChart.rows + 3)
        #expect(WalkPicture(trace).svg(title: "", present: ProximityRules(), proposed: nil).contains("<svg"))
        for rssi in [Int8.min, -128, 0, 20, .max] { trace.add(rssi, milliseconds: .max - 1) }
        #expect(TerminalChart(width: 80).lines(trace, rules: ProximityRules(nearDBm: .max, awayDBm: .min)).count > 0)
        let svg = WalkPicture(trace).svg(title: "", present: ProximityRules(), proposed: nil)
        #expect(svg.hasSuffix("</svg>\n") && svg.utf8.count < 10_000)
    }

    @Test("A picture has the readings, the signal, four thresholds, both stands and what was found")
    func picture() throws {
        let own = try #require(ProximityThresholds(nearDBm: -60, awayDBm: -70))
        let svg = WalkPicture(Self.trace()).svg(title: "Front door", present: ProximityRules(), proposed: own)
        #expect(count("<circle ", in: svg) == 400 && count("<polyline ", in: svg) == 1)
        for text in [
            "-62 near until now", "-78 away until now", "-60 near, proposed", "-70 away, proposed", "stood near",
            "stood away", "found away", "found near", "<title>Front door</title>",
        ] { #expect(svg.contains(text), "\(text)") }
        #expect(!svg.contains("nan") && !svg.contains("inf"))
    }

    @Test("A lock's name is text in a picture, whatever it says")
    func escaped() {
        let svg = WalkPicture(Self.trace()).svg(
            title: "</title><script>alert(\"1\")</script>&\u{1B}[2J\n\0", present: ProximityRules(), proposed: nil)
        #expect(!svg.contains("<script") && !svg.contains("\u{1B}") && !svg.contains("\0"))
        #expect(svg.contains("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp; [2J"))
    }
}
