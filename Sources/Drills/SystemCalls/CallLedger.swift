import CLinux
import Glibc

/// The points that are done, one a line, added and flushed with each: what an interrupted drill goes on from.
///
/// A line is `role side number down-ms verdict call restore-µs ms violations`, with tabs between; `-` stands for nothing, and violations are
/// separated by ` | `. A line without its end is that of a drill that was killed while it wrote, and is not read.
struct CallLedger {
    struct Malformed: Error, Equatable {
        let line: Int
    }

    /// Its first line: points of another seed or of another fault are other points.
    static func header(seed: UInt64, plant: DrillOptions.Plant?) -> String {
        "latch-lab drill syscalls 1\tseed \(seed)\tplant \(plant?.rawValue ?? "-")"
    }

    static func line(_ result: CaseResult) -> String {
        let point = result.point
        let violations = result.violations.map(clean).joined(separator: " | ")
        return [
            point.role.rawValue, point.side.rawValue, "\(point.number)", number(point.downMilliseconds),
            result.verdict.rawValue, result.call ?? "-", number(result.restoreMicroseconds),
            "\(result.milliseconds)", violations.isEmpty ? "-" : violations,
        ].joined(separator: "\t")
    }

    private static func number(_ value: UInt64?) -> String { value.map { "\($0)" } ?? "-" }

    private static func isNumber(_ field: String) -> Bool { field == "-" || UInt64(field) != nil }

    private static func clean(_ text: String) -> String {
        String(text.map { $0 == "\t" || $0 == "\n" || $0 == "|" ? " " : $0 })
    }

    static func result(_ line: Substring) -> CaseResult? {
        let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        guard fields.count == 9, let role = Role(rawValue: fields[0]), let side = CallTrace.Side(rawValue: fields[1]),
            let number = Int(fields[2]), isNumber(fields[3]),
            let verdict = CaseResult.Verdict(rawValue: fields[4]), let milliseconds = UInt64(fields[7]),
            isNumber(fields[6])
        else { return nil }
        return CaseResult(
            point: CallPoint(role: role, side: side, number: number, downMilliseconds: UInt64(fields[3])),
            verdict: verdict,
            call: fields[5] == "-" ? nil : fields[5], restoreMicroseconds: UInt64(fields[6]),
            milliseconds: milliseconds,
            violations: fields[8] == "-" ? [] : fields[8].split(separator: " | ").map(String.init))
    }

    /// Every whole line behind the first.
    static func results(_ text: String) throws(Malformed) -> [CaseResult] {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        lines.removeLast()
        var results: [CaseResult] = []
        for (index, line) in lines.enumerated().dropFirst() {
            guard let result = result(line) else { throw Malformed(line: index + 1) }
            results.append(result)
        }
        return results
    }

    private let file: String
    private let descriptor: Int32
    /// The results that the file had when this opened it.
    let results: [CaseResult]

    init(_ file: String, seed: UInt64, plant: DrillOptions.Plant?) throws {
        self.file = file
        let text = String(decoding: DrillDirectory.read(file), as: UTF8.self)
        let header = Self.header(seed: seed, plant: plant)
        if let first = text.split(separator: "\n").first, text.contains("\n"), first != header {
            throw DrillError(
                .environment,
                "\(file) is no ledger of this drill: it begins `\(first)`, not `\(header)`. Name another file")
        }
        do throws(Malformed) {
            results = text.contains("\n") ? try Self.results(text) : []
        } catch {
            throw DrillError(
                .environment, "line \(error.line) of \(file) cannot be read: remove the line, or name another file")
        }
        descriptor = latch_open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw DrillError.system("cannot write \(file)") }
        // Half a line, of a drill that was killed, is cut off: the next result begins a line of its own.
        let whole = text.lastIndex(of: "\n").map { text[...$0].utf8.count } ?? 0
        guard ftruncate(descriptor, off_t(whole)) == 0 else { throw DrillError.system("cannot write \(file)") }
        if whole == 0 { try write(header) }
    }

    /// The seed of a ledger that is there already, so that nobody has to repeat it.
    static func seed(of file: String) -> UInt64? {
        let text = String(decoding: DrillDirectory.read(file), as: UTF8.self)
        guard let first = text.split(separator: "\n").first else { return nil }
        let fields = first.split(separator: "\t")
        return fields.count == 3 && fields[1].hasPrefix("seed ") ? UInt64(fields[1].dropFirst(5)) : nil
    }

    func add(_ result: CaseResult) throws { try write(Self.line(result)) }

    func close() { Glibc.close(descriptor) }

    private func write(_ line: String) throws {
        let octets = Array((line + "\n").utf8)
        guard Glibc.write(descriptor, octets, octets.count) == octets.count, fdatasync(descriptor) == 0 else {
            throw DrillError.system("cannot write \(file)")
        }
    }
}
