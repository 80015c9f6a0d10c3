import BluetoothCore

/// What a drill found in the form that continuous integration shows: a suite with its cases, as JUnit's XML.
package struct JUnit: Equatable, Sendable {
    package struct Case: Equatable, Sendable {
        var name: String
        var milliseconds: UInt64 = 0
        /// A text for each broken promise; empty where every promise held.
        var failures: [String] = []

        package init(name: String, milliseconds: UInt64 = 0, failures: [String] = []) {
            self.name = name
            self.milliseconds = milliseconds
            self.failures = failures
        }
    }

    var suite: String
    /// What brings the same drill back, such as its seed.
    var properties: [(name: String, value: String)] = []
    var cases: [Case]

    package init(suite: String, properties: [(name: String, value: String)] = [], cases: [Case]) {
        self.suite = suite
        self.properties = properties
        self.cases = cases
    }

    package static func == (one: Self, other: Self) -> Bool { one.text == other.text }

    var text: String {
        let failed = cases.count { !$0.failures.isEmpty }
        let total = cases.reduce(0) { $0 + $1.milliseconds }
        let head =
            "<testsuite name=\"\(XMLText.escaped(suite))\" tests=\"\(cases.count)\" failures=\"\(failed)\" errors=\"0\" "
            + "skipped=\"0\" time=\"\(Self.seconds(total))\">"
        let known = properties.map {
            "<property name=\"\(XMLText.escaped($0.name))\" value=\"\(XMLText.escaped($0.value))\"/>"
        }
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <testsuites>
            \(head)
            <properties>\(known.joined())</properties>
            \(cases.map(element).joined(separator: "\n"))
            </testsuite>
            </testsuites>

            """
    }

    private func element(_ test: Case) -> String {
        let begin =
            "<testcase classname=\"\(XMLText.escaped(suite))\" name=\"\(XMLText.escaped(test.name))\" "
            + "time=\"\(Self.seconds(test.milliseconds))\""
        guard let first = test.failures.first else { return begin + "/>" }
        let all = XMLText.escaped(test.failures.joined(separator: "; "))
        return begin + "><failure message=\"\(XMLText.escaped(first))\">\(all)</failure></testcase>"
    }

    private static func seconds(_ milliseconds: UInt64) -> String {
        let rest = String(milliseconds % 1000)
        return "\(milliseconds / 1000).\(String(repeating: "0", count: 3 - rest.count))\(rest)"
    }
}

extension Tally {
    /// Each promise is a case.
    func junit(milliseconds: UInt64) -> JUnit {
        var cases = Invariant.allCases.map { invariant in
            JUnit.Case(
                name: invariant.rawValue, failures: violations.filter { $0.invariant == invariant }.map(\.text))
        }
        // Every promise was looked at during the whole of the drill; its time is told once.
        cases[0].milliseconds = milliseconds
        return JUnit(
            suite: "drill processes", properties: [("seed", "\(seed)"), ("kills", "\(kills)")], cases: cases)
    }
}

extension CallTally {
    /// Each kill is a case, named by its call and with the command that comes back to it where it failed.
    var junit: JUnit {
        let cases = results.map { result in
            let point = result.point
            let down = point.downMilliseconds.map { ", down for \($0) ms" } ?? ""
            let call = result.call ?? "beyond the end"
            let replay = result.violations.isEmpty ? [] : ["again with: " + point.replay(seed: seed, plant: plant)]
            return JUnit.Case(
                name: "\(point.role.rawValue) at the \(point.side.rawValue) of call \(point.number) (\(call))\(down)",
                milliseconds: result.milliseconds, failures: result.violations + replay)
        }
        return JUnit(suite: "drill syscalls", properties: [("seed", "\(seed)")], cases: cases)
    }
}
