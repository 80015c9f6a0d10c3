import StrikeControl
import TestSupport
import Testing

@testable import StrikeKeeping

@Suite("The keeper of a strike: whatever comes")
struct KeeperChanceTests {
    @Test(
        "Orders, edges, EIO, the chip, the daemon and the keeper gone and back: the door is open for an order's time alone, and each order ends once"
    )
    func random() throws {
        var generator = SeededGenerator(announcedBy: "KeeperChanceTests.random")
        var releases = 0
        for _ in 0..<300 {
            let failure = StrikeRules.Failure.allCases.randomElement(using: &generator) ?? .secure
            let drive = StrikeRules.Drive.allCases.randomElement(using: &generator) ?? .pulse
            var text = KeeperBench.base(failure) + "drive = \"\(drive)\"\npulse_maximum_ms = 2000\norphan_ms = 1500\n"
            if Bool.random(using: &generator) {
                text += "[feedback]\nline = \"1\"\ntravel_ms = 700\nretries = 1\nretry_pause_ms = 200\n"
            }
            text += "[contact]\nline = \"2\"\n[exit]\nline = \"3\"\n"
            text += "[inputs]\ndebounce_ms = \(Bool.random(using: &generator) ? 0 : 30)\n"
            let judge = try KeeperJudge(text)
            for _ in 0..<200 where judge.broken.isEmpty { judge.step(&generator) }
            if judge.broken.isEmpty { judge.comeToRest() }
            try #require(judge.broken.isEmpty, "\(text): \(judge.broken)")
            releases += judge.releases
        }
        #expect(releases > 500, "\(releases)")
    }
}
