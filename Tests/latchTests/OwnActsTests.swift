import BluetoothCore
import LockCentral
import LockProtocol
import Testing

@testable import latch

@Suite("The desktop: what the key has done by itself")
struct OwnActsTests {
    private static let door = PeerIdentifier(bits: 1)
    private static let garage = PeerIdentifier(bits: 2)

    private static func byItself(
        _ operation: LockOperation, _ verdict: KeyVerdict, _ id: UInt64 = 7, _ peer: PeerIdentifier = door
    ) -> KeyEvent { .byItself(peer, name: "Front door", KeyRequestID(rawValue: id), operation, verdict) }

    private static func outcome(_ result: LockResult, _ id: UInt64 = 7, _ peer: PeerIdentifier = door) -> KeyEvent {
        .outcome(peer, KeyRequestID(rawValue: id), result)
    }

    /// What is told of these events, one behind the other, of whichever lock.
    private static func told(_ events: [KeyEvent]) -> [String] {
        var acts = OwnActs()
        return events.compactMap { acts.sentence(on: $0)?.text }
    }

    @Test(
        "Each verdict in words: what nobody knows is never said to have failed, and what may still fail never to be done",
        arguments: [
            (KeyVerdict.done, "Unlocked, as you came near.", "Locked, as you left."),
            (.accepted, "Unlocking, as you came near.", "Locking, as you left."),
            (
                .unknown, "You came near, and nobody knows whether the lock acted: look at it before you ask again.",
                "You left, and nobody knows whether the lock acted: look at it before you ask again."
            ),
            (
                .refused(.outsideSchedule), "Not unlocked: the lock refused: outside schedule; nothing moved.",
                "Not locked: the lock refused: outside schedule; nothing moved."
            ),
            (
                .aborted, "Not unlocked: the lock took the command and then gave it up; nothing moved.",
                "Not locked: the lock took the command and then gave it up; nothing moved."
            ),
            (
                .expired, "Not unlocked: the lock was not reached in time; nothing was sent.",
                "Not locked: the lock was not reached in time; nothing was sent."
            ),
            (
                .cancelled,
                "Not unlocked: another command took this one's place, or the lock was forgotten; nothing was sent.",
                "Not locked: another command took this one's place, or the lock was forgotten; nothing was sent."
            ),
            (
                .declined, "Not unlocked: another command is on its way to this lock: wait for its end.",
                "Not locked: another command is on its way to this lock: wait for its end."
            ),
            (
                .unproven,
                "Not unlocked: the time is over: what answered at the lock's address could not prove to be it (a stranger, or a "
                    + "lock that has forgotten this key); nothing was sent.",
                "Not locked: the time is over: what answered at the lock's address could not prove to be it (a stranger, or a "
                    + "lock that has forgotten this key); nothing was sent."
            ),
        ])
    func verdicts(verdict: KeyVerdict, unlocking: String, locking: String) {
        #expect(Self.told([Self.byItself(.unlock, verdict)]) == [unlocking])
        #expect(Self.told([Self.byItself(.lock, verdict)]) == [locking])
    }

    @Test("What a lock has accepted is done when it says so, and a jam is told as one")
    func outcomes() {
        #expect(
            Self.told([Self.byItself(.lock, .accepted), Self.outcome(.done)])
                == ["Locking, as you left.", "Locked, as you left."])
        #expect(
            Self.told([Self.byItself(.unlock, .accepted), Self.outcome(.done)])
                == ["Unlocking, as you came near.", "Unlocked, as you came near."])
        #expect(
            Self.told([Self.byItself(.unlock, .accepted), Self.outcome(.jammed)])
                == ["Unlocking, as you came near.", "The lock took the command, and then: jammed."])
    }

    @Test("An outcome is told once, of the key's own last request, and of nobody's that somebody has made")
    func others() {
        let accepted = Self.byItself(.unlock, .accepted)
        let said = ["Unlocking, as you came near."]
        #expect(Self.told([Self.outcome(.done)]) == [])
        #expect(Self.told([accepted, Self.outcome(.done, 8)]) == said)
        #expect(Self.told([accepted, Self.outcome(.done, 7, Self.garage)]) == said)
        #expect(Self.told([accepted, .forgotten(Self.door, name: "Front door"), Self.outcome(.done)]) == said)
        #expect(Self.told([accepted, Self.outcome(.done), Self.outcome(.jammed)]).count == 2)
        #expect(
            Self.told([accepted, Self.byItself(.lock, .accepted, 8), Self.outcome(.done), Self.outcome(.done, 8)])
                == said + ["Locking, as you left.", "Locked, as you left."])
        #expect(
            Self.told([accepted, Self.byItself(.lock, .accepted, 8, Self.garage), Self.outcome(.done)])
                == said + ["Locking, as you left.", "Unlocked, as you came near."])
    }
}
