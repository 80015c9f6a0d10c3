import Glibc

/// `latch-lab radio` as a process, with its captures in the drill's directory.
final class RadioProcess {
    private let process: ProcessHandle
    let control: RadioControlClient

    private static let patienceSeconds: UInt64 = 15

    /// Returns when hosts and this drill can connect.
    init(_ directory: DrillDirectory, lab: String, adapters: Int, seed: UInt64, waiter: Waiter) throws {
        let process = try ProcessHandle(
            [
                lab, "radio", "--socket", directory.air, "--control", directory.airControl, "--seed", "\(seed)",
                "--adapters", "\(adapters)", "--capture", directory.captures,
            ], log: directory.log("radio"))
        var control: RadioControlClient?
        try waiter.until("the radio listens", seconds: Self.patienceSeconds) {
            guard !process.hasEnded else { throw DrillError(.environment, "the radio ended at once") }
            guard access(directory.air, F_OK) == 0, access(directory.airControl, F_OK) == 0 else { return false }
            // A socket has its name before anybody listens.
            control = try? RadioControlClient(path: directory.airControl, waiter: waiter)
            return control != nil
        }
        guard let control else { throw DrillError(.environment, "the radio does not listen") }
        self.process = process
        self.control = control
    }

    func kill() { process.kill() }
}
