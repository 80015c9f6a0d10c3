import LockProtocol

extension LockDaemon {
    /// What is changed in `body`, this user of the machine asks for: the audit names it before what is asked, unless it was the last one who asked.
    package func asked<Failure>(by user: UInt32, _ body: () throws(Failure) -> Void) throws(Failure) {
        feed(.administration(.asked(by: user)))
        defer { feed(.administration(.asked(by: nil))) }
        try body()
    }

    /// The program ends in order: the audit's last word, with the last commit.
    package func willStop() { feed(.administration(.stopped)) }
}
