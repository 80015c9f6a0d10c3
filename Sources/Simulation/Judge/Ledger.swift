import BluetoothCore
import LockCentral
import LockProtocol

/// What operators were told, and which commands were seen. No process writes here by itself, and none of it goes with a process.
package final class Ledger {
    /// A command that an operator gave.
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
        /// Every end that was told, by whichever process.
        package fileprivate(set) var ends: [KeyVerdict] = []
        package fileprivate(set) var outcomes: [LockResult] = []
        /// The challenges that commands left the key with while this was the request under way, and when.
        package fileprivate(set) var sent: [ChallengeID: Instant] = [:]
        /// When that lock got one of those last.
        package fileprivate(set) var arrived: Instant?
    }

    package private(set) var requests: [Request] = []
    /// Ends and outcomes of requests that nobody gave.
    package private(set) var strays: [KeyRequestID] = []
    /// Commands that left a key which had nothing to ask.
    package private(set) var unasked: [ChallengeID] = []

    /// Hears what operators said and were told, by which key.
    var onNews: ((Int, Chronicle.Mark, String) -> Void)?

    package init() {}

    func asked(_ key: Int, _ operation: LockOperation, of door: Int, until instant: Instant) {
        requests.append(Request(key: key, id: nil, operation: operation, door: door, until: instant))
        onNews?(key, .asked, "\(operation.name) is asked for")
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
    func sent(_ key: Int, _ challenge: ChallengeID, at instant: Instant) {
        guard let place = requests.lastIndex(where: { $0.key == key }) else { return unasked.append(challenge) }
        requests[place].sent[challenge] = instant
    }

    /// A command was seen to come to a lock. At another one than was meant it has not come.
    func arrived(_ challenge: ChallengeID, at door: Int, _ instant: Instant) {
        guard let place = requests.lastIndex(where: { $0.sent[challenge] != nil && $0.door == door }) else { return }
        requests[place].arrived = instant
    }

    private func change(_ key: Int, _ id: KeyRequestID, _ body: (inout Request) -> Void) {
        let known = requests.lastIndex { $0.key == key && $0.id == id }
        guard let place = known ?? requests.lastIndex(where: { $0.key == key && $0.id == nil }) else {
            return strays.append(id)
        }
        requests[place].id = id
        body(&requests[place])
    }

    /// What is judged and settled is forgotten.
    func begin() {
        requests.removeAll(keepingCapacity: true)
        strays.removeAll()
        unasked.removeAll()
    }
}
