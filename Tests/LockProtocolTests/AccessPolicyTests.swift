import BluetoothCore
import LockProtocol
import Testing

@Suite("Access policy")
struct AccessPolicyTests {
    static let commands: [(LockOperation, RelockArgument, Rights?)] = [
        (.lock, .setting, .lock), (.lock, .after(seconds: 5), nil), (.lock, .holdOpen, nil),
        (.unlock, .setting, .unlock), (.unlock, .after(seconds: 5), .unlock),
        (.unlock, .holdOpen, [.unlock, .holdOpen]),
        (.unlatch, .setting, .unlatch), (.unlatch, .after(seconds: 5), .unlatch), (.unlatch, .holdOpen, nil),
        (.lockAndGo, .setting, .lockAndGo), (.lockAndGo, .after(seconds: 5), .lockAndGo), (.lockAndGo, .holdOpen, nil),
        (LockOperation(rawValue: 0), .setting, nil), (LockOperation(rawValue: 5), .setting, nil),
        (LockOperation(rawValue: 15), .holdOpen, nil),
    ]

    private func decide(
        _ operation: LockOperation, _ argument: RelockArgument = .setting, isLive: Bool = true,
        subject: AccessSubject? = AccessSubject(isEnabled: true, rights: Role.owner.rights, schedule: .within),
        bolt: BoltCode = .locked, door: DoorCode = .closed
    ) -> LockResult {
        AccessPolicy.decide(
            LockCommand(operation: operation, argument: argument, challenge: challenge), isChallengeLive: isLive,
            subject: subject, bolt: bolt, door: door)
    }

    @Test("Operation × argument × role: only the table's rights open anything", arguments: Role.allCases)
    func rights(role: Role) {
        let subject = AccessSubject(isEnabled: true, rights: role.rights, schedule: .within)
        for (operation, argument, required) in Self.commands {
            let isGranted = required.map { role.rights.isSuperset(of: $0) } ?? false
            #expect(decide(operation, argument, subject: subject) == (isGranted ? .accepted : .notPermitted))
        }
    }

    /// Every role may lock and ask for Key Status, so that no role shows whether anybody looks.
    @Test("Without one right nothing of what takes it is permitted, whatever others there are", arguments: 0..<14)
    func each(bit: UInt16) {
        let right = Rights(rawValue: 1 << bit)
        let others = Role.owner.rights.subtracting(right)
        #expect(!others.permit(right) && !others.permit([right, .lock]) && Role.owner.rights.permit(right))
        for (operation, argument, required) in Self.commands where required?.contains(right) == true {
            let subject = AccessSubject(isEnabled: true, rights: others, schedule: .within)
            #expect(decide(operation, argument, subject: subject) == .notPermitted)
        }
    }

    @Test("What no role may: unlock for a lock-only credential, hold open for a guest, reset for all but the owner")
    func exemplars() {
        func subject(_ role: Role) -> AccessSubject {
            AccessSubject(isEnabled: true, rights: role.rights, schedule: .within)
        }
        #expect(decide(.unlock, subject: subject(.lockOnly)) == .notPermitted)
        #expect(decide(.lock, subject: subject(.lockOnly)) == .accepted)
        #expect(decide(.unlock, .holdOpen, subject: subject(.guest)) == .notPermitted)
        #expect(decide(.unlock, subject: subject(.guest)) == .accepted)
        #expect(Role.allCases.filter { $0.rights.contains(.factoryReset) } == [.owner])
    }

    @Test(
        "The order of reasons: a dead challenge hides all others, then the credential, its schedule, its rights, the bolt"
    )
    func order() {
        let nobody = AccessSubject(isEnabled: false, rights: [], schedule: .expired, isLockedOut: true)
        #expect(decide(.unlock, isLive: false, subject: nobody, bolt: .unlocking) == .challengeDead)
        #expect(decide(.unlock, subject: nil, bolt: .unlocking) == .notPermitted)
        #expect(decide(.unlock, subject: nobody, bolt: .unlocking) == .notPermitted)
        var subject = AccessSubject(isEnabled: true, rights: [], schedule: .expired, isLockedOut: true)
        #expect(decide(.unlock, subject: subject, bolt: .unlocking) == .lockedOut)
        subject.isLockedOut = false
        for (verdict, result) in [
            (ScheduleVerdict.expired, LockResult.credentialExpired), (.outside, .outsideSchedule),
            (.clockUntrusted, .clockUntrusted), (.within, .notPermitted),
        ] {
            subject.schedule = verdict
            #expect(decide(.unlock, subject: subject, bolt: .unlocking) == result)
        }
        subject.rights = .unlock
        #expect(decide(.unlock, subject: subject, bolt: .unlocking) == .busy)
    }

    @Test("Bolt and door: busy on its way, no lock into an open door, no lock of a jam")
    func boltAndDoor() {
        for bolt in [BoltCode.unlocking, .locking, .unlatched] {
            #expect(decide(.lock, bolt: bolt) == .busy)
            #expect(decide(.unlock, bolt: bolt) == .busy)
        }
        for bolt in [BoltCode.locked, .unlocked, .unknown] {
            #expect(decide(.lock, bolt: bolt) == .accepted)
            #expect(decide(.unlock, bolt: bolt) == .accepted)
        }
        #expect(decide(.lock, bolt: .jammed) == .jammed)
        #expect(decide(.unlock, bolt: .jammed) == .accepted)
        for door in [DoorCode.open, .ajar, .forced] {
            #expect(decide(.lock, door: door.with(flags: DoorCode.tamper)) == .doorOpen)
            #expect(decide(.unlock, door: door) == .accepted)
        }
        #expect(decide(.lock, door: .unknown) == .accepted)
    }

    @Test("Validity: first second, last second, no clock")
    func validity() {
        let validity = Validity(notBeforeSeconds: 100, notAfterSeconds: 200)
        let verdicts: [(Int64?, ScheduleVerdict)] = [
            (99, .outside), (100, .within), (199, .within), (200, .expired), (nil, .clockUntrusted),
        ]
        for (now, verdict) in verdicts { #expect(validity.verdict(wallClockSeconds: now) == verdict) }
        #expect(Validity.always.verdict(wallClockSeconds: nil) == .within)
    }
}
