import BluetoothCore
import LockCentral
import LockProtocol

/// What operators were told, and which commands were seen. No process writes here by itself, and none of it goes with a process.
package final class Ledger {
    /// A command that an operator gave, or somebody with software of his own.
    package struct Request {
        package let key: Int
        /// nil while no key has said that it took it. One that was killed before it could say so may have: the next process
        /// carries it out then, or tells what became of it.
        package fileprivate(set) var id: KeyRequestID?
        package let operation: LockOperation
        /// Which lock is meant.
        package let door: Int
        /// Nothing leaves the key behind that.
        package let until: Instant
        /// The challenge that somebody answers by himself, without the key's daemon.
        fileprivate let ownChallenge: ChallengeID?
        /// Every end that was told, by whichever process.
        package fileprivate(set) var ends: [KeyVerdict] = []
        package fileprivate(set) var outcomes: [LockResult] = []
        /// The challenges that commands left the key with while this was the request under way, and when.
        package fileprivate(set) var sent: [ChallengeID: Instant] = [:]
        /// When that lock got one of those last.
        package fileprivate(set) var arrived: Instant?
    }

    /// As it was seen to leave a key.
    package struct Command: CustomStringConvertible {
        package let key: Int
        package let operation: UInt8
        package let argument: UInt8
        package let isSigned: Bool
        package fileprivate(set) var arrivals: [(door: Int, at: Instant)] = []

        package var description: String {
            "\(LockOperation(rawValue: operation).name) (\(argument)) of key \(key)"
        }
    }

    /// What somebody asked beside commands, and the lock's answer.
    struct Answer {
        /// `further`: another reason, for which the lock has looked behind the sender's right. `other`: an error of ATT.
        enum Result: Hashable { case granted, notPermitted, further, other }

        let key: Int
        let door: Int
        let ask: Ask
        let asked: Instant
        /// nil: none came.
        let result: Result?
        let told: Instant
    }

    package private(set) var requests: [Request] = []
    private(set) var commands: [ChallengeID: Command] = [:]
    private(set) var answers: [Answer] = []
    /// When somebody with software of his own got a challenge: it was issued no later.
    private(set) var challengesHeard: [ChallengeID: Instant] = [:]
    /// Ends and outcomes of requests that nobody gave.
    package private(set) var strays: [KeyRequestID] = []
    /// Commands that left a key which had nothing to ask.
    package private(set) var unasked: [ChallengeID] = []

    /// Hears what operators said and were told, by which key.
    var onNews: ((Int, Chronicle.Mark, String) -> Void)?
    /// Hears of commands that come to a lock.
    var onArrival: ((ChallengeID, Command, Int) -> Void)?

    package init() {}

    func asked(_ key: Int, _ operation: LockOperation, of door: Int, until instant: Instant) {
        requests.append(
            Request(key: key, id: nil, operation: operation, door: door, until: instant, ownChallenge: nil))
        onNews?(key, .asked, "\(operation.name) is asked for")
    }

    /// Somebody writes a command by himself, for a challenge that he got then.
    func visits(
        _ key: Int, _ operation: LockOperation, of door: Int, _ challenge: ChallengeID, heard instant: Instant
    ) {
        challengesHeard[challenge] = min(challengesHeard[challenge] ?? instant, instant)
        guard !requests.contains(where: { $0.ownChallenge == challenge }) else { return }
        requests.append(
            Request(
                key: key, id: nil, operation: operation, door: door, until: Instant(nanoseconds: .max),
                ownChallenge: challenge))
        onNews?(key, .asked, "\(operation.name) is written by somebody's own software")
    }

    func answered(_ answer: Answer) {
        answers.append(answer)
        onNews?(answer.key, .told, "\(answer.ask): \(answer.result.map { "\($0)" } ?? "no answer")")
    }

    func took(_ key: Int, _ id: KeyRequestID) { change(key, id) { _ in } }

    func ended(_ key: Int, _ id: KeyRequestID, _ verdict: KeyVerdict) {
        change(key, id) { $0.ends.append(verdict) }
        onNews?(key, .told, "told: \(verdict)")
    }

    func outcome(_ key: Int, _ id: KeyRequestID, _ result: LockResult) {
        change(key, id) { $0.outcomes.append(result) }
        onNews?(key, .told, "told of the bolt: \(result)")
    }

    /// A command was seen to leave a key.
    func sent(_ key: Int, _ command: LockCommand, isSigned: Bool, at instant: Instant) {
        let challenge = command.challenge
        if commands[challenge] == nil {
            commands[challenge] = Command(
                key: key, operation: command.operation.rawValue, argument: command.argument.octet, isSigned: isSigned)
        }
        let own = requests.lastIndex { $0.ownChallenge == challenge }
        guard let place = own ?? requests.lastIndex(where: { $0.key == key && $0.ownChallenge == nil }) else {
            return unasked.append(challenge)
        }
        requests[place].sent[challenge] = instant
    }

    /// A command was seen to come to a lock. At another one than was meant it has not come.
    func arrived(_ challenge: ChallengeID, at door: Int, _ instant: Instant) {
        if var command = commands[challenge] {
            command.arrivals.append((door, instant))
            commands[challenge] = command
            onArrival?(challenge, command, door)
        }
        guard let place = requests.lastIndex(where: { $0.sent[challenge] != nil && $0.door == door }) else { return }
        requests[place].arrived = instant
    }

    private func change(_ key: Int, _ id: KeyRequestID, _ body: (inout Request) -> Void) {
        let known = requests.lastIndex { $0.key == key && $0.id == id }
        let fresh = { self.requests.lastIndex { $0.key == key && $0.id == nil && $0.ownChallenge == nil } }
        guard let place = known ?? fresh() else { return strays.append(id) }
        requests[place].id = id
        body(&requests[place])
    }

    /// What is judged and settled is forgotten.
    func begin() {
        requests.removeAll(keepingCapacity: true)
        commands.removeAll(keepingCapacity: true)
        answers.removeAll()
        challengesHeard.removeAll()
        strays.removeAll()
        unasked.removeAll()
    }
}
