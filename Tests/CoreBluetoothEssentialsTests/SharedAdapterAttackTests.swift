import BlueZSupport
import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import DBus
import LockCentral
import LockProtocol
import SecurityManager
import Testing

/// A key with a program's key, on an adapter that bluetoothd keeps and every local user shares. What the same attacks come to on an adapter of
/// the key's own is in docs/THREAT-MODEL.md, "Attacks, and both backends".
@Suite("Attacks on a key beside bluetoothd")
struct SharedAdapterAttackTests {
    private let key: ProgramKey

    init() throws { key = try #require(ProgramKey(SharedAdapter.programSecret)) }

    private func state(_ result: LockResult, _ challenge: ChallengeID) -> LockState {
        LockState(bolt: .unlocked, door: .closed, result: result, answered: challenge.prefix)
    }

    /// The lock itself: it takes the next challenge's command, and says so under the key. Its verdict.
    private func obeys(_ adapter: SharedAdapter, _ bits: UInt64, counter: UInt32) throws -> KeyVerdict? {
        let before = adapter.commands.count
        try adapter.challenge(bits)
        let octets = try #require(adapter.commands.dropFirst(before).first)
        let command = try ProgramCommand(exactly: octets)
        #expect(key.verifies(command) && command.command.challenge == ChallengeID(bits: bits))
        let sealed = key.receipts.seal(
            state(.done, command.command.challenge), lockCounter: counter, answering: command.command.challenge,
            handle: ProgramKey.receiptHandle)
        try adapter.notify(SharedAdapter.receipt, sealed.encoded)
        return adapter.verdicts.last
    }

    @Test("The lock itself is obeyed by: a command under the key, and a receipt that the key opens")
    func lockItself() throws {
        let adapter = try SharedAdapter()
        try adapter.ask()
        try adapter.comesUp()
        #expect(try obeys(adapter, 5, counter: 1) == .done && adapter.statesTold == 1)
    }

    @Test(
        "A replayed advertisement: bluetoothd connects with whoever plays it, and who has no key of its bond gets nothing"
    )
    func replayedAdvertisement() throws {
        let adapter = try SharedAdapter(unlocksWhenNear: true)
        let quiet = adapter.writes.count
        for rssi: Int16 in [-90, -30, -90, -30] { try adapter.advertises(rssi) }
        #expect(adapter.writes.count == quiet && adapter.verdicts.isEmpty, "what is heard opens nothing")
        try adapter.ask()
        for _ in 0..<20 {
            try adapter.connected(true)
            try adapter.challenge(6)
            try adapter.run(milliseconds: 100)
            try adapter.connected(false)
        }
        #expect(adapter.writes.isEmpty && adapter.verdicts.isEmpty && adapter.statesTold == 0)
        try adapter.comesUp()
        #expect(try obeys(adapter, 5, counter: 1) == .done)
    }

    @Test(
        "A forged refusal: a link that is refused its encryption costs that link, and a refused write ends no request")
    func forgedRefusal() throws {
        let adapter = try SharedAdapter()
        try adapter.ask(waitMilliseconds: 30_000)
        for _ in 0..<5 {
            try adapter.connected(true)
            try adapter.connected(false)
        }
        #expect(adapter.verdicts.isEmpty)
        for error in [
            DBusError(name: "org.bluez.Error.NotPermitted", text: "Not paired"),
            DBusError(name: "org.bluez.Error.Failed", text: "Operation failed with ATT error: 0x05"),
        ] {
            adapter.refusal = error
            try adapter.comesUp()
            try adapter.challenge(6)
            try adapter.run(milliseconds: 7_000)
            try adapter.connected(false)
        }
        #expect(adapter.verdicts.isEmpty && adapter.commands.count == 1 && !adapter.questions.isEmpty)
        adapter.refusal = nil
        try adapter.comesUp()
        try adapter.run(milliseconds: 2_000)
        let asked = try #require(adapter.questions.last)
        let answer = QuestionedStatus(role: 1, rights: .programs, lastCounter: 0, result: .done, phase: .none)
        let response = ControlPointResponse(request: .keyStatus, result: .success, parameters: answer.encoded)
        try adapter.notify(SharedAdapter.controlPoint, key.authenticated(response, asked: asked).encoded)
        #expect(try obeys(adapter, 5, counter: 1) == .done)
    }

    /// What a device does that another local user has bonded under the lock's address.
    enum Clone: CaseIterable {
        case silent
        /// One challenge after the other.
        case challenges
        /// It seals receipts, and authenticates answers, under a key of its own.
        case wrongKey
        /// It says so without any key.
        case done
        /// It says that it has not taken the command, so that the key sends another one.
        case notTaken
    }

    @Test(
        "A cloned lock that bluetoothd is bonded with: one command leaves, nothing that it says is believed or shown, and the end is unknown",
        arguments: Clone.allCases)
    func clonedLock(_ clone: Clone) throws {
        let adapter = try SharedAdapter()
        let other = try #require(ProgramKey(Secret([UInt8](repeating: 7, count: ProgramKey.octets))))
        try adapter.ask()
        var number: UInt64 = 0
        for _ in 0..<3 where adapter.verdicts.isEmpty {
            try adapter.comesUp()
            for _ in 0..<(clone == .challenges ? 50 : 1) {
                number += 1
                try adapter.challenge(number)
            }
            for _ in 0..<8 {
                try say(clone, adapter, other)
                try adapter.run(milliseconds: 1_000)
            }
            try adapter.connected(false)
        }
        try adapter.run(milliseconds: 20_000)
        #expect(adapter.commands.count == 1, "one challenge is answered")
        #expect(adapter.verdicts == [.unknown] && adapter.statesTold == 0)
        #expect(
            adapter.questions.allSatisfy { $0.count == 15 } && Set(adapter.questions).count == adapter.questions.count)
    }

    private func say(_ clone: Clone, _ adapter: SharedAdapter, _ other: ProgramKey) throws {
        guard clone != .silent, clone != .challenges, let sent = adapter.commands.last,
            let command = try? ProgramCommand(exactly: sent)
        else { return }
        let challenge = command.command.challenge
        let asked = adapter.questions.last ?? []
        switch clone {
        case .wrongKey:
            let sealed = other.receipts.seal(
                state(.done, challenge), lockCounter: 1, answering: challenge, handle: ProgramKey.receiptHandle)
            try adapter.notify(SharedAdapter.receipt, sealed.encoded)
            let answer = QuestionedStatus(role: 1, rights: .programs, lastCounter: 0, result: .done, phase: .done)
            let response = ControlPointResponse(request: .keyStatus, result: .success, parameters: answer.encoded)
            try adapter.notify(SharedAdapter.controlPoint, other.authenticated(response, asked: asked).encoded)
        case .done:
            try adapter.notify(SharedAdapter.lockState, state(.done, challenge).encoded)
            try adapter.notify(
                SharedAdapter.controlPoint,
                bare(
                    LastCommand(
                        challenge: challenge, signCounter: command.counter, result: .done, phase: .done)))
        case .notTaken: try adapter.notify(SharedAdapter.controlPoint, bare(nil))
        case .silent, .challenges: break
        }
    }

    private func bare(_ last: LastCommand?) -> [UInt8] {
        let status = KeyStatus(role: 1, rights: .programs, lastCommand: last)
        return ControlPointResponse(request: .keyStatus, result: .success, parameters: status.encoded).encoded
    }

    @Test(
        "Another local user on the bus: what is not bluetoothd's counts for nothing, and a link that he ends costs that link"
    )
    func otherUser() throws {
        let adapter = try SharedAdapter()
        let user = ":1.66"
        try adapter.ask()
        try adapter.connected(true, by: user)
        try adapter.ready(by: user)
        try adapter.challenge(6, by: user)
        #expect(adapter.writes.isEmpty)
        // A bluetoothd of his own: the bus alone says whose the name is.
        try adapter.hear(
            .signal(
                DBusMessage(
                    sender: user, path: DBusName.busPath, interface: DBusName.bus, member: "NameOwnerChanged",
                    body: [.string("org.bluez"), .string(SharedAdapter.Script.daemon), .string(user)])))
        try adapter.comesUp()
        try adapter.challenge(6)
        let sent = ChallengeID(bits: 6)
        #expect(adapter.commands.count == 1)
        let sealed = key.receipts.seal(
            state(.done, sent), lockCounter: 1, answering: sent, handle: ProgramKey.receiptHandle)
        // Were it known, it would count from bluetoothd alone.
        try adapter.notify(SharedAdapter.receipt, sealed.encoded, by: user)
        #expect(adapter.verdicts.isEmpty)
        // He has bluetoothd end the link, which then connects no more by itself.
        let before = adapter.members.count
        try adapter.connected(false)
        #expect(adapter.members.dropFirst(before).elementsEqual(["UnregisterApplication", "RegisterApplication"]))
        try adapter.comesUp()
        try adapter.notify(SharedAdapter.receipt, sealed.encoded)
        #expect(adapter.verdicts == [.done])
    }

    @Test(
        "A lock that lies about its state: what no key stands behind is shown to nobody, before, during and behind a command"
    )
    func lyingState() throws {
        let adapter = try SharedAdapter()
        func lie(_ challenge: UInt64) throws {
            for (bolt, door) in [(BoltCode.unlocked, DoorCode.open), (.locked, .closed), (.jammed, .forced)] {
                for answered in [0, ChallengeID(bits: challenge).prefix] {
                    let state = LockState(bolt: bolt, door: door, result: .done, answered: answered)
                    try adapter.notify(SharedAdapter.lockState, state.encoded)
                }
            }
        }
        try adapter.ask()
        try adapter.comesUp()
        try lie(0)
        try adapter.challenge(6)
        try lie(6)
        #expect(adapter.statesTold == 0 && adapter.verdicts.isEmpty)
    }

    @Test(
        "A link without a program's key that is confirmed is commanded by nobody, whatever bond is there",
        arguments: [
            (nil, []), (Secret([UInt8](repeating: 1, count: SetupCode.randomOctets)), []), (Secret([1, 2, 3]), []),
            (nil, [UInt8](repeating: 7, count: 16)),
        ] as [(Secret?, [UInt8])])
    func withoutProgramKey(_ secret: Secret?, _ keys: [UInt8]) throws {
        let adapter = try SharedAdapter(secret: secret, keys: keys)
        try adapter.ask()
        for number: UInt64 in 1...3 {
            try adapter.comesUp()
            try adapter.challenge(number)
            try adapter.notify(SharedAdapter.lockState, state(.done, ChallengeID(bits: number)).encoded)
            try adapter.run(milliseconds: 500)
            try adapter.connected(false)
        }
        #expect(adapter.commands.isEmpty && adapter.questions.isEmpty && adapter.statesTold == 0)
        try adapter.run(milliseconds: 20_000)
        #expect(adapter.verdicts.count == 1 && [.expired, .unproven].contains(adapter.verdicts[0]))
    }

    // MARK: Enrolment

    @Test("A bond without r, which no program's key can prove, is asked nothing, and nobody's answer confirms it")
    func bondWithoutRandom() throws {
        let adapter = try SharedAdapter(secret: nil, state: .unconfirmed)
        for _ in 1...3 {
            try adapter.comesUp()
            try adapter.notify(SharedAdapter.controlPoint, bare(nil))
            try adapter.connected(false)
        }
        #expect(adapter.questions.isEmpty && adapter.host.unconfirmedBonds == [BondID(5)])
    }

    @Test("Whoever has paired without r and cannot agree on a key keeps no bond, here or at bluetoothd")
    func strangerPairs() throws {
        let random = Secret([UInt8](repeating: 1, count: SetupCode.randomOctets))
        let adapter = try SharedAdapter(secret: random, state: .unconfirmed)
        try adapter.comesUp()
        #expect(adapter.questions.count == 1)
        let refusal = ControlPointResponse(request: .agreeOnKey, result: .notPermitted)
        try adapter.notify(SharedAdapter.controlPoint, refusal.encoded)
        #expect(adapter.host.unconfirmedBonds.isEmpty && adapter.members.contains("RemoveDevice"))
    }
}
