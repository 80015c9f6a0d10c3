import LockProtocol

extension LockDaemon {
    /// Runs what a user of the machine has asked for. The audit names the user before the first change, unless it named the same one last.
    package func asked<Failure>(by user: UInt32, _ body: () throws(Failure) -> Void) throws(Failure) {
        feed(.administration(.asked(by: user)))
        defer { feed(.administration(.asked(by: nil))) }
        try body()
    }

    /// The program ends in order: the audit's last word, with the last commit.
    package func willStop() { feed(.administration(.stopped)) }
}
