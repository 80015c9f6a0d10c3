import BluetoothCore
import LockProtocol

/// What an unencrypted link needs to carry a command: the bond's receipt key, and the handle that a cached tree gives the
/// Command Receipt value.
package struct SignedPath: Sendable {
    package var receiptKey: ReceiptKey
    package var receiptHandle: AttributeHandle

    package init(receiptKey: ReceiptKey, receiptHandle: AttributeHandle) {
        self.receiptKey = receiptKey
        self.receiptHandle = receiptHandle
    }
}

/// What happens to a key.
package enum KeyInput: Sendable {
    /// The user wants something of a lock within `lifeMilliseconds`, and not later.
    case ask(PeerIdentifier, LockOperation, RelockArgument, lifeMilliseconds: UInt64)
    /// The same of the lock that is nearest. While one is being looked for another is not.
    case askNearest(LockOperation, RelockArgument, lifeMilliseconds: UInt64)
    /// Nobody waits for the nearest lock any more: no ``KeyOutput/sought(_:)`` comes.
    case cancelNearest
    case cancel(PeerIdentifier)
    case lock(LockRecord)
    case forget(PeerIdentifier)
    /// A new pairing is complete: the lock's counters begin anew.
    case bonded(PeerIdentifier)
    /// nil: no CSRK, no cached tree, or `signed = off`.
    case connected(PeerIdentifier, SignedPath?)
    case disconnected(PeerIdentifier)
    /// The link is encrypted with the bond's LTK.
    case proven(PeerIdentifier)
    /// And the tree is known. `ProgramKey`: where the lock takes commands under it, and nothing else.
    case encrypted(PeerIdentifier, ProgramKey? = nil)
    /// It is not, or what is there has no tree of a lock: the link is of no use.
    case encryptionFailed(PeerIdentifier)
    /// Nothing of the command that was to be written has left, and nothing will. `isLate`: its time is over.
    case notWritten(PeerIdentifier, isLate: Bool)
    /// By notification or read.
    case challenge(PeerIdentifier, [UInt8])
    case receipt(PeerIdentifier, [UInt8])
    case lockState(PeerIdentifier, [UInt8])
    case controlPoint(PeerIdentifier, [UInt8])
    /// Of an advertisement in the lock's name, whoever sent it.
    case rssi(PeerIdentifier, Int8)
    /// Of the link: the answer to ``KeyOutput/readRSSI(_:)``.
    case linkRSSI(PeerIdentifier, Int8)
    /// Its user is about to walk, so that the lock gets thresholds of its own.
    case calibrate(PeerIdentifier)
    /// And has seen enough.
    case endCalibration(PeerIdentifier)
    /// nil: the configuration's count again.
    case thresholds(PeerIdentifier, ProximityThresholds?)
    /// nil: there is none any more.
    case note(PeerIdentifier, LockNote?)
    /// The lock comes before all others from now on, or with false is preferred no more.
    case prefer(PeerIdentifier, Bool)
    /// What was wanted with ``KeyOutput/approached(_:)``.
    case decided(Approach, opens: Bool)
    /// Off, nothing is heard.
    case radio(isOn: Bool)
    /// Somebody watches from now on, or nobody does any more (``KeyMachine/watchedLocks``).
    case watched(Bool)
    case timerFired
}

/// How a request ended.
package enum KeyVerdict: Hashable, Sendable {
    case done
    /// The lock has committed to it; ``KeyOutput/outcome(_:_:_:)`` may follow.
    case accepted
    /// It has not taken effect.
    case refused(LockResult)
    case aborted
    /// It may have taken effect, and will not be repeated.
    case unknown
    /// Not sent in time: it has not taken effect.
    case expired
    /// Taken back, or replaced, before it was sent.
    case cancelled
    /// Another one is on its way to this lock, or the lock is not known.
    case declined
    /// Not sent in time, and there were links on which nobody proved to be the lock: it has not taken effect.
    case unproven
}

/// What a key wants done, in this order. All of a turn's `persist` come before its first act, and must be on disk before
/// it.
package enum KeyOutput: Hashable, Sendable {
    case persist(KeyMutation)
    /// A pending connection; asking twice is asking once.
    case connect(PeerIdentifier)
    case disconnect(PeerIdentifier)
    case encrypt(PeerIdentifier)
    /// The lock's own receipt has come over this link, which is not encrypted.
    case vouch(PeerIdentifier)
    case readChallenge(PeerIdentifier)
    /// Of the link.
    case readRSSI(PeerIdentifier)
    /// Not later than this: the time is looked at again when the packet leaves, behind the commit.
    case writeSigned(PeerIdentifier, [UInt8], until: Instant)
    case writeEncrypted(PeerIdentifier, [UInt8], until: Instant)
    /// The same under the program's key, with the next counter.
    case writeProgram(PeerIdentifier, LockCommand, until: Instant)
    case writeControlPoint(PeerIdentifier, [UInt8])
    /// The lock has taken this counter, or, with nil, nobody knows which: none up to there is used again.
    case advanceSignCounter(PeerIdentifier, beyond: UInt32?)
    /// Exactly once for each request.
    case ended(PeerIdentifier, KeyRequestID, KeyVerdict)
    /// What became of a request that had ended as accepted, when the lock says so in time.
    case outcome(PeerIdentifier, KeyRequestID, LockResult)
    /// The request's number, for whoever asked.
    case took(PeerIdentifier, KeyRequestID)
    /// What ``KeyInput/calibrate(_:)`` has brought so far.
    case calibration(PeerIdentifier, CalibrationReport)
    /// Which lock is nearest. What is asked of it is taken right behind this (``took(_:_:)``); another verdict asks for nothing.
    case sought(NearestMachine.Verdict)
    /// The key has come near. Whether it asks for an opening is to be said with ``KeyInput/decided(_:opens:)``.
    case approached(Approach)
    /// It is not to be decided any more.
    case approachEnded(Approach)
    /// How a request has ended that nobody has made but the key itself, before its ``ended(_:_:_:)``.
    case byItself(PeerIdentifier, KeyRequestID, LockOperation, KeyVerdict)
    case stateKnown(PeerIdentifier, BoltCode, DoorCode)
}

/// What one input makes of a key: facts apart from acts, so that no act can get in front of a fact.
struct KeyTurn {
    let now: Instant
    /// The next question's number, from the shell's random source.
    let random: UInt64
    private(set) var facts: [KeyMutation] = []
    private(set) var acts: [KeyOutput] = []

    init(_ now: Instant, random: UInt64) {
        self.now = now
        self.random = random
    }

    mutating func persist(_ fact: KeyMutation) { facts.append(fact) }
    mutating func act(_ act: KeyOutput) { acts.append(act) }

    func flush(into outputs: inout [KeyOutput]) {
        for fact in facts { outputs.append(.persist(fact)) }
        outputs += acts
    }
}
