/// What an attacker does with everything that it ever heard.
extension Scenario {
    private static let attackSeconds: UInt64 = 10
    /// Replayed on one link, which an unproven peer has for six seconds.
    private static let replaysPerLink = 120
    /// Longer than a challenge lives here.
    private static let delayMilliseconds: UInt64 = 1_200

    private var deadline: UInt64 { Clock.now + Clock.milliseconds(Self.attackSeconds * 1000) }

    /// The attacker, standing beside the lock under the address that the key was last heard under.
    private func thiefAtTheDoor() throws -> Attacker {
        guard let key = observer.addresses[.key] else { throw DrillError(.stuck, "the key has no address yet") }
        let thief: Attacker
        if let known = self.thief {
            thief = known
        } else {
            thief = try Attacker(radio: household.directory.air, waiter: waiter)
            observer.declareAttacker(thief.ordinal)
            self.thief = thief
        }
        try thief.borrow(key)
        try household.radio?.setDistance(thief.name, Role.lock.adapter.name, metres: 1)
        return thief
    }

    /// Sends every signed command that was ever on the air once more, and one with a bit flipped.
    func replayEverything() throws {
        guard let lock = observer.addresses[.lock] else { return }
        observer.poll()
        let recorded = observer.signedWrites
        guard !recorded.isEmpty else { return }
        let thief = try thiefAtTheDoor()
        let handle = observer.challengeHandle ?? recorded[0].handle
        let began = Clock.now
        var rest = recorded.map(\.octets)[...]
        while !rest.isEmpty {
            try thief.connect(to: lock, until: deadline)
            let batch = Array(rest.prefix(Self.replaysPerLink))
            // A victim that hangs up has shown what it thinks of it; what it has not read is sent again.
            if try thief.send(batch, thenRead: handle, until: deadline) || batch.count == 1 {
                rest = rest.dropFirst(batch.count)
                history.attacks.append(
                    History.Attack(kind: .replay, began: began, ended: Clock.now, count: batch.count))
            } else if history.attacks.last?.began == began {
                throw DrillError(.stuck, "the lock hangs up on replays before it has read them")
            } else {
                history.attacks.append(History.Attack(kind: .replay, began: began, ended: Clock.now, count: 0))
            }
            try thief.disconnect(until: deadline)
        }
        try flipABit(in: recorded[history.attacks.count % recorded.count].octets, thief, lock, handle)
        observer.poll()
    }

    /// A recorded command with one bit changed behind its handle: value, counter or signature.
    private func flipABit(in octets: [UInt8], _ thief: Attacker, _ lock: UInt64, _ handle: UInt16) throws {
        var altered = octets
        var random = SeededRandom(seed: schedule.seed &+ UInt64(history.attacks.count))
        altered[Int.random(in: 3..<altered.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        let began = Clock.now
        try thief.connect(to: lock, until: deadline)
        _ = try thief.send([altered], thenRead: handle, until: deadline)
        try thief.disconnect(until: deadline)
        history.attacks.append(History.Attack(kind: .flipped, began: began, ended: Clock.now, count: 1))
    }

    /// Stands between the two: gives the lock's challenge to the key, takes the command that the key signs for it, and
    /// brings it to the lock when the challenge is dead. The signature is right, the counter new, only the time is over.
    func delayPastChallenge() throws {
        guard let lock = observer.addresses[.lock], let handle = observer.challengeHandle else { return }
        let thief = try thiefAtTheDoor()
        let began = Clock.now
        try thief.connect(to: lock, until: deadline)
        let accomplice = try Attacker(radio: household.directory.air, waiter: waiter)
        observer.declareAttacker(accomplice.ordinal)
        try accomplice.borrow(lock)
        try household.setKeyNear(false)
        try household.radio?.setDistance(thief.name, Role.lock.adapter.name, metres: 1)
        try household.radio?.setDistance(accomplice.name, Role.key.adapter.name, metres: 1)
        try accomplice.advertise()
        let asked = try ask(true)
        var count = 0
        if try accomplice.awaitLink(until: Clock.now + Clock.milliseconds(2_000)),
            let challenge = try thief.awaitNotification(handle, until: Clock.now + Clock.milliseconds(600))
        {
            try accomplice.notify(handle, challenge, until: deadline)
            if let command = try accomplice.awaitSignedWrite(until: Clock.now + Clock.milliseconds(1_000)) {
                try accomplice.disconnect(until: deadline)
                try waiter.sleep(milliseconds: Self.delayMilliseconds)
                _ = try thief.send([command], thenRead: handle, until: deadline)
                count = 1
            }
        }
        try accomplice.stopAdvertising()
        try accomplice.disconnect(until: deadline)
        try thief.disconnect(until: deadline)
        history.attacks.append(History.Attack(kind: .delayed, began: began, ended: Clock.now, count: count))
        // The key has still to learn what became of it, from the lock itself.
        try household.setKeyNear(true)
        let answer = try? asked.exchange?.finish(until: Clock.now + Clock.milliseconds(12_000))
        note(answer ?? nil, asked.index)
        try household.setKeyNear(false)
        try awaitQuiet()
    }
}
