import BluetoothCore
import DaemonControl

/// From a kill to the next notification: peripherals that were killed by turns, beside each other.
package struct RestartReport: MeasuredReport {
    /// One peripheral, as a line of JSON tells it: `{"title": …, "milliseconds": […], "lost": …}`.
    private struct Peripheral {
        let title: String
        let milliseconds: [UInt64]
        /// Links that were lost though nothing had been killed. They are no restarts.
        let lost: Int64

        var restore: Tally.Restore { Tally.Restore(milliseconds) }
    }

    private let peripherals: [Peripheral]
    private static let binMilliseconds: UInt64 = 250
    private static let bins = 40

    /// - Parameter lines: one for each peripheral.
    package init(lines: [String]) throws {
        peripherals = try lines.enumerated().map { index, line in
            let object = Self.object(line)
            guard let title = object?["title"]?.string, let values = object?["milliseconds"]?.array,
                let lost = object?["lost"]?.number, !values.isEmpty
            else { throw Self.malformed(index) }
            let milliseconds = values.compactMap { $0.number.flatMap { UInt64(exactly: $0) } }
            guard milliseconds.count == values.count else { throw Self.malformed(index) }
            return Peripheral(title: title, milliseconds: milliseconds, lost: lost)
        }
        guard !peripherals.isEmpty else { throw DrillError(.environment, "there is no restart to tell of") }
    }

    private static func malformed(_ index: Int) -> DrillError {
        malformed(
            line: index + 1, expected: "a title, milliseconds of at least one restart, and a number of lost links")
    }

    /// A comparison: nothing here is promised.
    package var isOK: Bool { true }

    package var json: JSONObject {
        [
            "peripherals": .array(
                peripherals.map { peripheral in
                    .object([
                        "title": .string(peripheral.title), "kills": JSONValue(UInt64(peripheral.milliseconds.count)),
                        "notified_ms": peripheral.restore.json, "lost_links": .number(peripheral.lost),
                        "milliseconds": .array(peripheral.milliseconds.map { JSONValue($0) }),
                    ])
                })
        ]
    }

    package var report: Report {
        Report(page: page, json: JSONValue.object(json).text + "\n", junit: junit)
    }

    /// Each peripheral is a case: it came back from every kill, or nobody had written its line.
    private var junit: JUnit {
        JUnit(
            suite: "restarts",
            cases: peripherals.map { JUnit.Case(name: $0.title, milliseconds: $0.milliseconds.reduce(0, +)) })
    }

    private var page: String {
        let rows = peripherals.map { peripheral in
            let restore = peripheral.restore
            return [
                peripheral.title, "\(peripheral.milliseconds.count)", "\(restore.p50)", "\(restore.p99)",
                "\(restore.max)",
                "\(peripheral.lost)",
            ]
        }
        let charts = peripherals.map { peripheral in
            """
            <h2>\(XMLText.escaped(peripheral.title))</h2>
            \(BarChart(
                title: "Restarts by their length", milliseconds: peripheral.milliseconds,
                binMilliseconds: Self.binMilliseconds, bins: Self.bins
            ).text)
            """
        }
        let body = """
            <h1>From a kill to the next notification</h1>
            <p>Peripherals are killed by turns with SIGKILL, and a shell starts each again at once. One central follows them by the same
            rules: it connects again, discovers and subscribes. Its clock runs from the kill to the next notification.</p>
            \(HTMLReport.table(["peripheral", "kills", "p50, ms", "p99, ms", "max, ms", "links lost besides"], rows))
            \(charts.joined(separator: "\n"))
            """
        return HTMLReport.page(title: "From a kill to the next notification", body: body)
    }
}
