import LockProtocol

/// How long one signed command takes that moves the bolt, in milliseconds from its packet.
struct CommandTimes {
    /// A lock ends the link of a central that stays.
    static let ofLinkMaximum = 50

    /// Until the bolt has its order.
    private(set) var actuator = 0.0
    private(set) var receipt = 0.0
    /// The receipt that tells the outcome.
    private(set) var outcome = 0.0

    /// Unlocks and locks in turn, so that each moves the bolt.
    init(_ number: Int, _ key: inout KeysOnLinks, _ lock: RelayedLock) throws {
        let packet = try key.command(number.isMultiple(of: 2) ? .unlock : .lock)
        let begin = Clock.milliseconds
        try lock.send(packet)
        while outcome == 0 || actuator == 0 {
            let (heard, at) = try key.hear()
            for event in heard {
                switch event {
                case .bolt where actuator == 0: actuator = at - begin
                case .word(_, .receipt(.accepted)): receipt = at - begin
                case .word(_, .receipt): outcome = at - begin
                case .bolt, .word: break
                }
            }
        }
        try key.awaitChallenges()
    }
}
