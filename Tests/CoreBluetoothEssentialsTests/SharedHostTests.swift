import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import CoreBluetoothEssentials
import Dispatch
import LockCentral
import LockPeripheral
import LockProtocol
import MemoryStores
import SecurityManager
import Simulation
import Testing
import WorldSupport

/// A key on a host that other programs share: they have its bond and its links, and not its program's key.
@Suite("Attacks by another program on the key's host", .capturesFailures)
struct SharedHostTests {
    private func household(_ role: Role = .owner) throws -> (Household, PromptBolt) {
        let bolt = PromptBolt()
        let household = try Household(bolt: bolt)
        try household.enrollToTheEnd("anna", role, method: .program)
        return (household, bolt)
    }

    private func secrets(_ household: Household) -> [Secret?] {
        [household.door, household.pocket].map { $0.host?.bonds.first?.applicationSecret }
    }

    private func records(_ household: Household) -> [AuditEvent] {
        (try? household.lockStore.auditRecords(after: 0, limit: 1_000))?.map(\.event) ?? []
    }

    @Test("A program and its lock have one key, which is neither the code's nor the bond's, and it opens, each time")
    func opens() throws {
        let (household, bolt) = try household()
        let code = try #require(household.code)
        #expect(code.wantsProgramKey && code.text.hasPrefix("LATCH2:"))
        let kept = secrets(household)
        #expect(kept[0]?.count == ProgramKey.octets && kept[0] == kept[1])
        let before = household.pocket.sent.count
        for _ in 0..<3 {
            #expect(household.verdict() == .accepted)
            household.world.run(forMilliseconds: 15_000)
        }
        household.killLock()
        household.launchLock()
        household.killKey()
        household.launchKey()
        #expect(household.verdict() == .accepted)
        #expect(bolt.openings == 4)
        // Signed Write Command, on the attribute channel.
        #expect(!household.pocket.sent.dropFirst(before).contains { $0.count > 9 && $0[7...9] == [4, 0, 0xD2] })
        let counters = records(household).compactMap { event -> UInt32?? in
            if case .granted(let command) = event { command.signCounter } else { nil }
        }
        #expect(counters == [0, 1, 2, 64], "a counter has one use, and a kill skips some")
    }

    @Test(
        "What another program writes moves nothing, uses up nothing, and is on record; its own program opens behind it")
    func commands() throws {
        let (household, bolt) = try household()
        #expect(household.verdict() == .accepted)
        household.world.run(forMilliseconds: 15_000)
        let last = try #require(household.lockStore.committed.lastCommands.values.first)
        let manager = try household.launchManager()
        let world = household.world
        let other = try #require(ProgramKey(Secret([UInt8](repeating: 7, count: ProgramKey.octets))))
        func challenge() throws -> ChallengeID {
            household.call(household.pocket) { manager.read(LockUUID.challenge) }
            world.run(forMilliseconds: 1_000)
            return try #require(manager.challenge).id
        }
        for make in [
            { LockCommand(operation: .unlock, challenge: $0).encoded },
            { LockCommand(operation: .lock, challenge: $0).encoded },
            { other.authenticate(LockCommand(operation: .unlock, challenge: $0), counter: 9).encoded },
            { LockCommand(operation: .unlock, challenge: $0).encoded + [UInt8](repeating: 0, count: 12) },
        ] as [(ChallengeID) -> [UInt8]] {
            let octets = make(try challenge())
            household.call(household.pocket) { manager.write(octets, to: LockUUID.lockCommand) }
            world.run(forMilliseconds: 5_000)
        }
        #expect(manager.writes.count >= 4 && manager.linksLost == 0)
        #expect(bolt.openings == 1 && household.lockStore.committed.lastCommands.values.first == last)
        let refused = records(household).filter { if case .refused = $0 { true } else { false } }
        #expect(refused.count == 4)
        // More of them end the link, and no key is locked out.
        for _ in 0..<20 {
            guard let challenge = try? challenge() else { continue }
            let octets = LockCommand(operation: .unlock, challenge: challenge).encoded
            household.call(household.pocket) { manager.write(octets, to: LockUUID.lockCommand) }
            world.run(forMilliseconds: 1_000)
        }
        #expect(manager.linksLost > 0 && household.lockStore.committed.lockouts.isEmpty)
        household.pocket.kill()
        world.run(forMilliseconds: 60_000)
        household.launchKey()
        #expect(household.verdict() == .accepted && bolt.openings == 2)
    }

    @Test("Another program hears nothing of the door, reads no audit and manages nobody, whatever the key's role is")
    func questions() throws {
        let (household, _) = try household(.owner)
        let manager = try household.launchManager(
            subscribes: [LockUUID.lockControlPoint, LockUUID.recordAccessControlPoint, LockUUID.auditRecord])
        let world = household.world
        household.call(household.pocket) {
            manager.read(LockUUID.lockState)
            manager.readAlarm()
            manager.listen(true, to: LockUUID.lockState)
        }
        world.run(forMilliseconds: 2_000)
        #expect(manager.stateReads == [CBATTError.Code.insufficientAuthorization.rawValue])
        #expect(manager.alarmErrors == [CBATTError.Code.insufficientAuthorization.rawValue])
        let rest = ReadingPlace.start
        for procedure in [
            .keyStatus, .listCredentials(from: CredentialID(rawValue: 0), rest), .setMode(.passage), .getTime,
            .getSettings(rest), .getEnrolment(rest), .closeEnrolment,
        ] as [ControlPointProcedure] {
            let answers = manager.answers.count
            household.call(household.pocket) { manager.ask(procedure) }
            world.run(forMilliseconds: 15_000) { manager.answers.count > answers }
            let result = manager.answers.dropFirst(answers).first?.result
            #expect(result == (procedure == .keyStatus ? .success : .notPermitted), "\(procedure)")
            // Fewer than are told one by one.
            world.run(forMilliseconds: 15_000)
        }
        let status = try #require(manager.answers.first.flatMap { try? KeyStatus(exactly: $0.parameters) })
        #expect(status.rights == Role.owner.rights.intersection(.programs))
        household.call(household.pocket) { manager.ask(.count(.all)) }
        world.run(forMilliseconds: 2_000)
        #expect(manager.recordAnswers.isEmpty || manager.parts.isEmpty)
        #expect(manager.parts.isEmpty)
    }

    @Test("Whoever is at the bond's link first does not take an enrolment over: Key Status confirms no such bond")
    func race() throws {
        let household = try Household(bolt: PromptBolt())
        try household.openWindow("anna", method: .program)
        try household.enroll()
        try #require(household.world.run(forMilliseconds: 30_000) { household.isPairedOnBothSides })
        #expect(secrets(household).map { $0?.count } == [16, 16], "r, at both ends")
        // The key dies, and another program is there before it.
        let manager = try household.launchManager()
        let world = household.world
        for procedure in [
            .keyStatus, .confirmKey([UInt8](repeating: 0, count: 16)),
            .agreeOnKey([UInt8](repeating: 1, count: ProgramKeyAgreement.messageOctets)),
        ] as [ControlPointProcedure] {
            household.call(household.pocket) { manager.ask(procedure) }
            world.run(forMilliseconds: 2_000)
        }
        #expect(manager.answers.allSatisfy { $0.result == .notPermitted })
        #expect(household.door.host?.bonds.first?.state == .unconfirmed)
        household.pocket.kill()
        world.run(forMilliseconds: 2_000)
        household.launchKey()
        try #require(world.run(forMilliseconds: 60_000) { household.door.host?.bonds.first?.state == .confirmed })
        world.run(forMilliseconds: 5_000)
        #expect(household.verdict() == .accepted)
    }

    enum Side: CaseIterable { case key, lock }

    @Test(
        "An enrolment that is broken off in the very iteration in which its pairing ends leaves no bond that its program's key does not stand behind",
        arguments: Side.allCases)
    func brokenOff(_ side: Side) throws {
        func begun() throws -> (Household, Node) {
            let household = try Household(bolt: PromptBolt())
            try household.openWindow("anna", method: .program)
            try household.enroll()
            return (household, side == .lock ? household.door : household.pocket)
        }
        func isPaired(_ node: Node) -> Bool { node.host?.bonds.isEmpty == false }
        // The same world twice: the first one tells when the pairing ends.
        let (trial, there) = try begun()
        let start = trial.world.now
        try #require(trial.world.run(forMilliseconds: 30_000) { isPaired(there) })
        let milliseconds = trial.world.now.milliseconds(since: start)

        let (household, node) = try begun()
        let world = household.world
        world.run(forMilliseconds: milliseconds)
        try #require(!isPaired(node))
        node.isSuspended = true
        world.run(forMilliseconds: 1)
        // Behind the packets, and before anybody is told.
        let loop = try #require(node.loop)
        let (lock, key) = (household.lock, household.key)
        nonisolated(unsafe) let cancel = { side == .lock ? lock?.cancelEnrolment() : key?.cancelEnrolment() }
        let elsewhere = DispatchQueue(label: "elsewhere")
        elsewhere.async { loop.execute { _ in cancel() } }
        elsewhere.sync {}
        node.isSuspended = false
        world.settle()
        #expect(isPaired(node))
        #expect(node.host?.bonds.first?.applicationSecret?.count == SetupCode.randomOctets, "r")

        // The lock may not have come to its bond where the key has ended their link.
        guard side == .lock else { return }
        // Another program is there before the key's own.
        let manager = try household.launchManager()
        household.call(household.pocket) { manager.ask(.keyStatus) }
        world.run(forMilliseconds: 2_000)
        #expect(manager.answers.allSatisfy { $0.result == .notPermitted })
        #expect(household.door.host?.bonds.first?.state == .unconfirmed)
        household.pocket.kill()
        world.run(forMilliseconds: 2_000)
        household.launchKey()
        try #require(world.run(forMilliseconds: 60_000) { household.door.host?.bonds.first?.state == .confirmed })
        world.run(forMilliseconds: 5_000)
        #expect(secrets(household)[0]?.count == ProgramKey.octets && household.verdict() == .accepted)
    }

    enum Victim: CaseIterable { case key, lock, both }

    @Test(
        "Killed at any moment of the enrolment: both come to one key, or to none",
        arguments: Victim.allCases)
    func killed(_ victim: Victim) throws {
        var enrolled = 0
        for milliseconds in stride(from: 0 as UInt64, through: 3_000, by: 75) {
            let household = try Household(bolt: PromptBolt())
            try household.openWindow("anna", method: .program)
            try household.enroll()
            household.world.run(forMilliseconds: milliseconds)
            if victim != .lock {
                household.killKey()
                household.launchKey()
            }
            if victim != .key {
                household.killLock()
                household.launchLock()
            }
            household.world.run(forMilliseconds: 90_000)
            let kept = secrets(household)
            guard household.door.host?.bonds.first?.state == .confirmed else { continue }
            enrolled += 1
            #expect(kept[0]?.count == ProgramKey.octets && kept[0] == kept[1], "killed behind \(milliseconds) ms")
            #expect(household.verdict() == .accepted, "killed behind \(milliseconds) ms")
        }
        #expect(enrolled > 10, "\(enrolled)")
    }
}
