import Foundation
import Testing

/// What `Benchmarks restored` measures, on an app that imports `CoreBluetooth` alone. No time is asserted: what comes before what is.
@Suite("An app that comes back, watched by its benchmark", .serialized)
struct RestoredBenchmarkTests {
    private struct Report: Decodable {
        let pending: Int
        let cached: Int
        let runs: Int
        let commands: Int
        let calledEarly: Int

        enum CodingKeys: String, CodingKey {
            case pending, cached, runs, commands
            case calledEarly = "called_early"
        }
    }

    /// The benchmark fails when the app is told of other peripherals, names, trees or scans than it has left.
    @Test(
        "killed and executed again, its controller scans and connects before it hears its first word, whether the accept list has room or not",
        arguments: [4, 32])
    func order(acceptListSize: Int) async throws {
        let benchmark = try App(
            "Benchmarks",
            [
                "restored", "--pending", "8", "--cached", "12", "--accept-list", String(acceptListSize), "--runs", "3",
                "--format", "json",
            ])
        let line = try #require(await benchmark.line(beginning: "{"))
        #expect(await benchmark.status == 0)
        let report = try JSONDecoder().decode(Report.self, from: Data(line.utf8))
        #expect((report.pending, report.cached, report.runs) == (8, 12, 3))
        #expect(report.commands > min(8, acceptListSize), "each of them is put into the accept list")
        #expect(report.calledEarly == 0)
    }
}
