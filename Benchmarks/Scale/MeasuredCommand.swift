import CLinux
import Glibc

/// What a command of `latch` takes from its exec to its exit, and how much memory it has had at the most.
struct MeasuredCommand {
    let milliseconds: Double
    /// What it has had of a processor: the neighbours' load does not lengthen that as it does the clock's time.
    let processor: Double
    let kilobytes: Int
    /// What it wrote to standard output and to standard error.
    let octets: Int

    /// By a process between, which is small: until its exec a child has its parent's memory, and that would count.
    init(_ words: [String], in directory: String) throws {
        let (report, output) = (directory + "/measured", directory + "/output")
        for path in [report, output] where unlink(path) != 0 && errno != ENOENT { throw BenchmarkError(system: path) }
        let status = try Child(
            [try Executable.path(), "measured", report] + words, output: output
        ).wait()
        var found = stat()
        guard status == 0, stat(output, &found) == 0 else {
            let said = (try? contents(output)).map { String(decoding: $0, as: UTF8.self) } ?? ""
            throw BenchmarkError("\(words.joined(separator: " ")): \(said)")
        }
        let figures = String(decoding: try contents(report), as: UTF8.self).split(separator: " ")
        guard figures.count == 3, let milliseconds = Double(figures[0]), let processor = Double(figures[1]),
            let kilobytes = Int(figures[2])
        else { throw BenchmarkError("\(report) has no figures") }
        (self.milliseconds, self.processor, self.kilobytes) = (milliseconds, processor, kilobytes)
        octets = Int(found.st_size)
    }

    /// `Benchmarks measured FILE COMMAND...`: what it writes goes where this process's own goes.
    static func run(_ words: [String]) throws {
        guard words.count >= 2 else { throw BenchmarkError("measured takes a file and a command") }
        let begin = Clock.milliseconds
        let child = try Child(Array(words.dropFirst()), output: nil)
        let (status, usage) = child.waitForUsage()
        let processor = milliseconds(usage.ru_utime) + milliseconds(usage.ru_stime)
        try write("\(Clock.milliseconds - begin) \(processor) \(usage.ru_maxrss)", to: words[0])
        exit(status == 0 ? 0 : 1)
    }

    private static func milliseconds(_ time: timeval) -> Double {
        Double(time.tv_sec) * 1e3 + Double(time.tv_usec) / 1e3
    }
}
