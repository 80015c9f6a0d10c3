/// What a client does once it is connected, one operation after the other, and how long each took.
final class Workload {
    enum Operation: String, CaseIterable { case read, write, command, notification }

    typealias Step = (operation: Operation, count: Int)

    /// Commands between two reads, whose answers say that the commands before them have arrived: few enough for every
    /// queue on the way.
    static let commandsPerRead = 32
    /// Not counted: what is made on first use is not made for every PDU.
    static let warmUpCount = 256

    private var steps: ArraySlice<Step>
    private let perform: (Operation) -> Void
    private let finish: () -> Void
    private var times: [Double] = []
    private var allocations = AllocationTally(warmUpCount: Workload.warmUpCount)
    private var isWarm = false
    private var count = 0
    private var begun = 0.0
    private var asked = 0.0

    /// `perform` does one operation (commands: ``commandsPerRead`` and a read) and says when it has been answered;
    /// notifications are asked for once, and each is an answer. `finish` follows the last step.
    init(_ steps: [Step], perform: @escaping (Operation) -> Void, finish: @escaping () -> Void) {
        self.steps = steps[...]
        self.perform = perform
        self.finish = finish
    }

    func start() {
        guard let step = steps.first else { return finish() }
        times = []
        times.reserveCapacity(step.count)
        allocations = AllocationTally(warmUpCount: Self.warmUpCount)
        isWarm = false
        count = 0
        next(step.operation)
    }

    private func next(_ operation: Operation) {
        asked = Clock.microseconds
        perform(operation)
    }

    func answered() {
        guard let step = steps.first else { return }
        let now = Clock.microseconds
        allocations.note()
        count += step.operation == .command ? Self.commandsPerRead : 1
        if isWarm { times.append(now - asked) }
        if !isWarm, count >= Self.warmUpCount {
            isWarm = true
            count = 0
            begun = now
        }
        if isWarm, count >= step.count {
            end(step.operation, microseconds: now - begun)
        } else if step.operation == .notification {
            asked = now
        } else {
            next(step.operation)
        }
    }

    private func end(_ operation: Operation, microseconds: Double) {
        let figure = Figure(
            name: operation.rawValue, times: times, perSecond: Double(count) / microseconds * 1e6,
            allocations: allocations.perOperation ?? 0)
        print(figure.line)
        steps.removeFirst()
        start()
    }
}

/// What one series of one operation came to. It crosses from the measuring process to the reporting one as a line.
struct Figure {
    let name: String
    /// Microseconds.
    let p50: Double
    let p99: Double
    let perSecond: Double
    /// Of the client's thread, for each operation.
    let allocations: Double

    init(name: String, times: [Double], perSecond: Double, allocations: Double) {
        self.allocations = allocations
        let sample = Sample(times)
        self.name = name
        self.perSecond = perSecond
        p50 = sample.percentile(50)
        p99 = sample.percentile(99)
    }

    var line: String {
        ([name] + [p50, p99, perSecond, allocations].map { Sample.text($0, digits: 2) }).joined(separator: " ")
    }

    init?(line: some StringProtocol) {
        let words = line.split(separator: " ")
        let numbers = words.dropFirst().compactMap { Double($0) }
        guard words.count == 5, numbers.count == 4 else { return nil }
        name = String(words[0])
        p50 = numbers[0]
        p99 = numbers[1]
        perSecond = numbers[2]
        allocations = numbers[3]
    }
}
