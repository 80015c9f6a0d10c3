/// The figures of ``ScaleBenchmark``, as people and programs read them.
struct ScaleReport {
    private let machine = Machine()
    private let users: Int
    private let history: AuditHistory
    private let made: Double
    private var lines: [String] = []
    private var members: [String] = []

    /// `made`: milliseconds that it took to make both locks.
    init(users: Int, history: AuditHistory, made: Double) {
        self.users = users
        self.history = history
        self.made = made
    }

    private static let width = 68

    /// Of one thing alone.
    mutating func add(_ name: String, _ title: String, _ values: [Double]) {
        let sample = Sample(values, digits: 3)
        lines.append(title.padded(to: Self.width) + sample.row)
        members.append("\"\(name)\":{\(sample.members)}")
    }

    /// Of both locks in turn.
    mutating func add(_ name: String, _ title: String, few: [Double], many: [Double]) {
        let samples = (few: Sample(few, digits: 3), many: Sample(many, digits: 3))
        let ratio = Sample.text(samples.many.percentile(50) / samples.few.percentile(50), digits: 2)
        lines.append((title + ", ten users").padded(to: Self.width) + samples.few.row)
        lines.append((title + ", all").padded(to: Self.width) + samples.many.row + "  p50 to ten's \(ratio)")
        members.append(
            "\"\(name)\":{\"few\":{\(samples.few.members)},\"many\":{\(samples.many.members)},\"p50_to_few\":\(ratio)}")
    }

    mutating func add(_ name: String, _ title: String, kilobytes few: Int, _ many: Int) {
        lines.append(title.padded(to: Self.width) + "\(few) kB, all \(many) kB")
        members.append("\"\(name)_kilobytes\":{\"few\":\(few),\"many\":\(many)}")
    }

    mutating func add(_ list: borrowing OperatorList) {
        let (name, pages) = (list.kind.rawValue, list.milliseconds.count)
        let sample = Sample(list.milliseconds, digits: 3)
        lines.append(
            "a page of \(name): \(pages) with \(list.rows) rows".padded(to: Self.width) + sample.row
                + "  \(list.octetsMaximum) octets at the most")
        members.append(
            "\"page_\(name)\":{\(sample.members),\"pages\":\(pages),\"rows\":\(list.rows),\"octets_max\":\(list.octetsMaximum)}"
        )
    }

    mutating func add(_ name: String, _ command: MeasuredCommand) {
        let time = Sample.text(command.milliseconds, digits: 1)
        let processor = Sample.text(command.processor, digits: 1)
        lines.append(
            "`\(name)`".padded(to: Self.width)
                + "\(time) ms, \(processor) of them on a processor  \(command.kilobytes) kB resident at the most")
        members.append(
            "\"\(name)\":{\"ms\":\(time),\"processor_ms\":\(processor),\"kilobytes\":\(command.kilobytes),"
                + "\"octets\":\(command.octets)}")
    }

    var text: String {
        let head = [
            "\(machine.processor), Linux \(machine.kernel), load \(Sample.text(machine.load, digits: 2))",
            "\(users) users and \(history.records) records behind \(history.forgotten) forgotten ones, made in "
                + "\(Sample.text(made / 1000, digits: 1)) s",
        ]
        return (head + lines).joined(separator: "\n")
    }

    var json: String {
        "{\"users\":\(users),\"records\":\(history.records),\"forgotten\":\(history.forgotten),"
            + "\"load\":\(Sample.text(machine.load, digits: 2)),\"unit\":\"ms\"," + members.joined(separator: ",") + "}"
    }
}
