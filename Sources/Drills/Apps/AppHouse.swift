import CLinux
import Glibc

/// A radio, a program and its peer: started, killed, cut off, unplugged.
final class AppHouse {
    let directory: DrillDirectory
    let air: AppAirWatch
    private let radio: RadioProcess
    private let guests: [AppSide: AppGuest]
    private let environment: [String: String]
    private var processes: [AppSide: ProcessHandle] = [:]
    private var lines: [AppSide: LineFollower] = [:]
    private var starts: [AppSide: Int] = [:]

    /// One for each side.
    static let adapters = 2

    init(
        _ directory: DrillDirectory, lab: String, guests: [AppSide: AppGuest], rules: AppRules, seed: UInt64,
        waiter: Waiter
    )
        throws
    {
        self.directory = directory
        self.guests = guests
        air = AppAirWatch(directory: directory.captures)
        environment = Self.inherited.merging(rules.environment) { _, new in new }
        for side in guests.keys where mkdir(Self.state(side, directory), 0o700) != 0 {
            throw DrillError.system("cannot make \(Self.state(side, directory))")
        }
        radio = try RadioProcess(directory, lab: lab, adapters: Self.adapters, seed: seed, waiter: waiter)
    }

    /// This process's environment without what would lead a program to another adapter or another store.
    private static let inherited: [String: String] = {
        var variables: [String: String] = [:]
        var next = environ
        while let entry = next.pointee {
            let parts = String(cString: entry).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2, !parts[0].hasPrefix("LATCH") || parts[0] == "LATCH_PLANT" {
                variables[String(parts[0])] = String(parts[1])
            }
            next += 1
        }
        return variables
    }()

    private static func state(_ side: AppSide, _ directory: DrillDirectory) -> String {
        "\(directory.path)/\(side.rawValue)"
    }

    // MARK: Processes

    /// Starts a side, the next time over what the last one left.
    func start(_ side: AppSide, under trace: CallTrace? = nil) throws {
        guard let guest = guests[side] else { return }
        starts[side, default: 0] += 1
        let output = "\(directory.path)/\(side.rawValue)-\(starts[side] ?? 0).out"
        var variables = environment
        variables["LATCH_TRANSPORT"] = "unix:" + socket(side)
        variables["LATCH_STATE"] = Self.state(side, directory)
        variables["HOME"] = Self.state(side, directory)
        processes[side] = try ProcessHandle(
            [guest.path] + guest.arguments, log: log(side), output: output, environment: variables, trace: trace)
        lines[side] = LineFollower(file: output)
    }

    func log(_ side: AppSide) -> String { directory.log(side.rawValue) }

    func kill(_ side: AppSide) { processes[side]?.kill() }

    func end(of side: AppSide) -> ProcessHandle.End? {
        guard let process = processes[side], process.hasEnded else { return nil }
        return process.end
    }

    /// What it has printed since; all of it once it has ended.
    func read(_ side: AppSide) -> [String] {
        let hasEnded = processes[side]?.hasEnded ?? true
        return lines[side]?.poll(isOver: hasEnded) ?? []
    }

    func endAll() {
        for process in processes.values { process.kill() }
        radio.kill()
    }

    // MARK: The air

    private func adapter(_ side: AppSide) -> RadioAdapter { RadioAdapter(number: Self.number(side)) }

    static func number(_ side: AppSide) -> Int { side == .program ? 1 : 2 }

    private func socket(_ side: AppSide) -> String { adapter(side).socket(of: directory.air) }

    func cut() throws { try radio.control.ask("cut \(adapter(.program).name) \(adapter(.peer).name)") }
    func join() throws { try radio.control.ask("join \(adapter(.program).name) \(adapter(.peer).name)") }

    /// The adapter goes: its host's connection ends, and there is nobody at its address.
    func unplug(_ side: AppSide) throws {
        try move(socket(side), to: away(side))
        // One that no host has taken is not there to be unplugged; its host may also end between the two questions.
        guard try isTaken(side) else { return }
        do { try radio.control.ask("unplug \(adapter(side).name)") } catch {
            guard try !isTaken(side) else { throw error }
        }
    }

    private func isTaken(_ side: AppSide) throws -> Bool {
        try radio.control.ask("list").contains("public=\(adapter(side).name) ")
    }

    func plug(_ side: AppSide) throws { try move(away(side), to: socket(side)) }

    private func away(_ side: AppSide) -> String { socket(side) + ".away" }

    private func move(_ from: String, to: String) throws {
        guard rename(from, to) == 0 else { throw DrillError.system("cannot rename \(from)") }
    }
}
