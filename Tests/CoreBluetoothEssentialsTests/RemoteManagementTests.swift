import BluetoothCore
import BluetoothHost
import CoreBluetoothEssentials
import GATT
import LockCentral
import LockPeripheral
import LockProtocol
import MemoryStores
import SecurityManager
import Simulation
import Testing
import WorldSupport

@Suite("A lock managed over the air", .capturesFailures)
struct RemoteManagementTests {
    private static let bob = CredentialID(rawValue: 5)

    /// Alice owns the lock, and asks in her key's place. Bob is a guest whose key is elsewhere.
    private static func scene(mtu: Int, subscribes: Bool = true) throws -> (Household, RemoteManager) {
        let household = try Household()
        try household.enrollToTheEnd("alice")
        household.lockStore.append(.credential(Credential(id: bob, name: "bob", role: .guest, bond: 77)))
        household.lockStore.didCommit()
        household.pocket.configuration.mtu = mtu
        if !subscribes {
            // The lock knows the key's host as one client: nothing that the key is subscribed to may be kept there.
            household.killKey()
            household.pocket.store.append(.managerForgotten(RestoreKey(role: .central, identifier: "key")))
            household.pocket.store.didCommit()
        }
        return (household, try household.launchManager(subscribes: subscribes ? [LockUUID.lockControlPoint] : []))
    }

    private static func ask(
        _ procedure: ControlPointProcedure, _ household: Household, _ manager: RemoteManager
    ) throws -> ControlPointResponse {
        let count = manager.answers.count
        household.call(household.pocket) { manager.ask(procedure) }
        try #require(household.world.run(forMilliseconds: 20_000) { manager.answers.count > count })
        // The confirmation is on its way.
        household.world.run(forMilliseconds: 500)
        return try #require(manager.answers.last)
    }

    /// Reads a value to its end.
    private static func value(
        _ household: Household, _ manager: RemoteManager, _ procedure: (ReadingPlace) -> ControlPointProcedure
    ) throws -> [UInt8] {
        var octets: [UInt8] = []
        while true {
            let version = octets.prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
            let place = ReadingPlace(offset: UInt16(octets.count), version: ValueVersion(rawValue: version))
            let answer = try ask(procedure(place), household, manager)
            try #require(answer.result == .success)
            let part = try ValuePart(exactly: answer.parameters)
            octets += part.octets
            if part.isLast { return octets }
            try #require(!part.octets.isEmpty)
        }
    }

    private static func record(_ household: Household, _ manager: RemoteManager) throws -> [UInt8] {
        try value(household, manager) { .getCredential(bob, $0) }
    }

    @Test(
        "An owner reads, limits, disables and removes a guest, at the smallest MTU and at a usual one",
        arguments: [23, 247])
    func guest(mtu: Int) throws {
        let (household, manager) = try Self.scene(mtu: mtu)
        #expect(ControlPointOpcode.known.allSatisfy { manager.capabilities?.contains($0) == true })
        #expect(manager.capabilities?.contains(.response) == false)

        let weekday = try WeekdaySchedule(text: "mon-fri 08:00-18:00")
        let yearDay = try YearDaySchedule(text: "2027-01-01T00:00/2028-01-01T00:00")
        let schedules = try #require(
            CredentialSchedules(
                weekdays: [WeekdaySchedule](repeating: weekday, count: 10),
                yearDays: [YearDaySchedule](repeating: yearDay, count: 10)))
        let validity = Validity(notBeforeSeconds: 1_700_000_000, notAfterSeconds: 1_900_000_000)
        func version(_ octets: [UInt8]) -> ValueVersion { ValueVersion(of: Array(octets.dropFirst(4))) }

        let first = version(try Self.record(household, manager))
        // 243 octets: a queued write where the MTU is small.
        let set = try Self.ask(.change(Self.bob, first, .scheduled(validity, schedules)), household, manager)
        #expect(set.result == .success)
        let kept = { household.lockStore.committed.credentials[Self.bob] }
        #expect(kept()?.schedules == schedules && kept()?.validity == validity)

        let octets = try Self.record(household, manager)
        let record = try CredentialRecord(exactly: Array(octets.dropFirst(4)))
        #expect(record.schedules == schedules && record.validity == validity && record.name == "bob")
        #expect(set.parameters == version(octets).octets)
        #expect(try Self.ask(.change(Self.bob, first, .disabled), household, manager).result == .changed)
        #expect(kept()?.isEnabled == true)
        #expect(try Self.ask(.change(Self.bob, version(octets), .disabled), household, manager).result == .success)
        #expect(kept()?.isEnabled == false)
        let disabled = version(try Self.record(household, manager))
        #expect(try Self.ask(.change(Self.bob, disabled, .removed), household, manager).result == .success)
        #expect(kept() == nil && household.lock?.status.credentials.map(\.name) == ["alice"])
        let acts = household.lockStore.audit.compactMap { record -> CredentialAct? in
            guard case .managed(let manager, Self.bob, "bob", let act) = record.event else { return nil }
            return manager.name == "alice" ? act : nil
        }
        #expect(acts == [.scheduled, .disabled, .removed])
        #expect(manager.writes.allSatisfy { $0 == nil })
    }

    @Test("An owner does not shut itself out, and removes what a window offers with the window")
    func window() throws {
        let (household, manager) = try Self.scene(mtu: 247)
        let list = try Self.ask(.listCredentials(from: CredentialID(rawValue: 0), .start), household, manager)
        let part = try ValuePart(exactly: list.parameters)
        #expect(part.isLast)
        let alice = try #require(household.lockStore.committed.credentials.values.first { $0.name == "alice" })
        let before = household.lockStore.committed.credentials
        let record = CredentialRecord(
            id: alice.id, role: Role.owner.rawValue, flags: [.enabled, .enrolled], name: "alice")
        let row = CredentialRow(record).encoded
        #expect(part.octets.count > row.count && part.octets.suffix(row.count) == row[...])
        let oneself = ControlPointProcedure.change(alice.id, ValueVersion(of: record.encoded), .removed)
        #expect(try Self.ask(oneself, household, manager).result == .notPermitted)
        #expect(household.lockStore.committed.credentials == before)

        try household.openWindow("bob")
        #expect(household.lock?.status.enrolling == "bob")
        let bob = ValueVersion(of: Array(try Self.record(household, manager).dropFirst(4)))
        #expect(try Self.ask(.change(Self.bob, bob, .removed), household, manager).result == .success)
        #expect(household.lock?.status.enrolling == nil)
        #expect(household.lock?.status.credentials.map(\.name) == ["alice"])
    }

    @Test("An owner lets a guest in over the air: the code that it reads enrols a key, which has the guest's rights")
    func addition() throws {
        let (household, manager) = try Self.scene(mtu: 23)
        let opening = try #require(EnrolmentOpening(role: .guest, seconds: 120, name: "carl"))
        #expect(try Self.ask(.openEnrolment(opening), household, manager).result == .success)
        #expect(try Self.ask(.openEnrolment(opening), household, manager).result == .windowIsOpen)
        let octets = try Self.value(household, manager) { .getEnrolment($0) }
        guard case .open(4, "carl", false, let code?) = try EnrolmentState(exactly: Array(octets.dropFirst(4))) else {
            return #expect(Bool(false), "no code")
        }
        try FurtherKey("guest", seed: 53, in: household).enroll(code)
        let carl = household.lockStore.committed.credentials.values.first { $0.name == "carl" }
        #expect(carl?.role == .guest && carl?.bond != nil)
        // His enrolment is on the account of who opened the window.
        let alice = try #require(household.lockStore.committed.credentials.values.first { $0.name == "alice" })
        let records = household.lockStore.audit.drop { $0.event != .windowOpened(name: "carl", .guest) }
        #expect(records.contains { if case .enrolled(_, name: "carl", _, _) = $0.event { true } else { false } })
        #expect(records.allSatisfy { $0.holder == AuditHolder(credential: alice.id, isProtected: true) }, "\(records)")
        household.world.run(forMilliseconds: 1_000)
        let closed = try Self.value(household, manager) { .getEnrolment($0) }
        #expect(try EnrolmentState(exactly: Array(closed.dropFirst(4))) == .closed)
    }

    @Test("A window is closed over the air, and the audit says who opened and closed it")
    func closing() throws {
        let (household, manager) = try Self.scene(mtu: 247)
        let opening = try #require(EnrolmentOpening(role: .guest, seconds: 120, name: "carl"))
        #expect(try Self.ask(.openEnrolment(opening), household, manager).result == .success)
        #expect(household.lock?.status.enrolling == "carl")
        #expect(try Self.ask(.closeEnrolment, household, manager).result == .success)
        #expect(household.lock?.status.enrolling == nil)
        let events = household.lockStore.audit.suffix(4).map(\.event)
        let alice = try #require(household.lockStore.committed.credentials.values.first { $0.name == "alice" })
        let sender = AuditedManager(credential: alice.id, name: "alice")
        #expect(
            events == [
                .windowManaged(by: sender, name: "carl", .opened), .windowOpened(name: "carl", .guest),
                .windowManaged(by: sender, name: "carl", .closed), .windowClosed(name: "carl", .cancelled),
            ])
    }

    @Test("Attack: a manager's windows are on its own account of the audit, and an operator's are on the operators'")
    func windowsOfManager() throws {
        let (household, manager) = try Self.scene(mtu: 247)
        let alice = try #require(household.lockStore.committed.credentials.values.first { $0.name == "alice" })
        let opening = try #require(EnrolmentOpening(role: .guest, seconds: 1, name: "carl"))
        for end in [WindowEnd.cancelled, .expired] {
            let last = household.lockStore.audit.last?.sequence ?? 0
            #expect(try Self.ask(.openEnrolment(opening), household, manager).result == .success)
            if end == .cancelled { #expect(try Self.ask(.closeEnrolment, household, manager).result == .success) }
            household.world.run(forMilliseconds: 2_000)
            let records = household.lockStore.audit.filter { $0.sequence > last }
            #expect(records.last?.event == .windowClosed(name: "carl", end))
            #expect(
                Set(records.map(\.holder)) == [AuditHolder(credential: alice.id, isProtected: true)], "\(records)")
        }
        let last = household.lockStore.audit.last?.sequence ?? 0
        try household.openWindow("dora")
        household.call(household.door) { household.lock?.cancelEnrolment() }
        let records = household.lockStore.audit.filter { $0.sequence > last }
        #expect(records.map(\.event) == [.windowOpened(name: "dora", .owner), .windowClosed(name: "dora", .cancelled)])
        #expect(Set(records.map(\.holder)) == [.administration])
    }

    @Test("A window that the lock cannot open, as its user has all the devices that one may have, is on no record")
    func refusedWindow() throws {
        let (household, manager) = try Self.scene(mtu: 247)
        for number in 0..<LockEnrolment.devicesMaximum {
            household.lockStore.append(
                .credential(
                    Credential(
                        id: CredentialID(rawValue: 100 + UInt64(number)), name: "device \(number)", role: .guest,
                        bond: 1_000 + UInt64(number), user: "crowd")))
        }
        household.lockStore.didCommit()
        let before = household.lockStore.audit.count
        let opening = try #require(EnrolmentOpening(role: .guest, seconds: 120, name: "one more", user: "crowd"))
        #expect(try Self.ask(.openEnrolment(opening), household, manager).result == .operationFailed)
        #expect(household.lock?.status.enrolling == nil)
        #expect(household.lockStore.audit.count == before)
    }

    @Test("A manager who is disabled or removed lets nobody in any more: its window closes in that commit")
    func formerManager() throws {
        for change in [CredentialChange.disabled, .removed] {
            let (household, manager) = try Self.scene(mtu: 247)
            let opening = try #require(EnrolmentOpening(role: .guest, seconds: 120, name: "carl"))
            #expect(try Self.ask(.openEnrolment(opening), household, manager).result == .success)
            #expect(try household.call(household.door) { try household.lock?.administer("bob", .disabled) } == true)
            #expect(household.lock?.status.enrolling == "carl")
            #expect(try household.call(household.door) { try household.lock?.administer("alice", change) } == true)
            #expect(household.lock?.status.enrolling == nil)
            let records = household.lockStore.audit
            #expect(AuditHead.empty.firstBreak(in: records) == nil)
            #expect(household.lockStore.committed.auditHead.sequence == records.last?.sequence)
            #expect(records.last?.event == .windowClosed(name: "carl", .cancelled))
        }
    }

    @Test("A client that has not asked for indications is told so, and nothing is done")
    func notConfigured() throws {
        let (household, manager) = try Self.scene(mtu: 247, subscribes: false)
        let record = CredentialRecord(id: Self.bob, role: 4, flags: [.enabled, .enrolled], name: "bob")
        household.call(household.pocket) {
            manager.ask(.change(Self.bob, ValueVersion(of: record.encoded), .removed))
        }
        #expect(household.world.run(forMilliseconds: 20_000) { !manager.writes.isEmpty })
        #expect(manager.writes == [0xFD] && manager.answers.isEmpty)
        #expect(household.lockStore.committed.credentials[Self.bob] != nil)
    }

    @Test("A request before the last answer was confirmed is told so, and nothing is done")
    func oneAtATime() throws {
        let (household, manager) = try Self.scene(mtu: 247)
        let record = CredentialRecord(id: Self.bob, role: 4, flags: [.enabled, .enrolled], name: "bob")
        // Handle Value Confirmation, on the attribute channel.
        household.pocket.wire.loses = { $0.count == 10 && $0[0] == 2 && $0[7...9] == [4, 0, 0x1E] }
        household.call(household.pocket) { manager.ask(.keyStatus) }
        #expect(household.world.run(forMilliseconds: 5_000) { manager.answers.count == 1 })
        household.call(household.pocket) {
            manager.ask(.change(Self.bob, ValueVersion(of: record.encoded), .removed))
        }
        #expect(household.world.run(forMilliseconds: 5_000) { manager.writes.count == 2 })
        household.world.run(forMilliseconds: 2_000)
        #expect(manager.writes == [nil, 0xFE])
        #expect(manager.answers.map(\.request) == [.keyStatus])
        #expect(household.lockStore.committed.credentials[Self.bob] != nil)
    }
}
