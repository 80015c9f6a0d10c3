import BluetoothCore
import LockProtocol
import MemoryStores
import Testing

@testable import LockPeripheral

/// Anna has two devices; Bo is somebody else. The link of each has its bond's number.
@Suite("Users and what their openings do")
struct UserTests {
    private static let now: Int64 = 1_800_000_000

    private func bench(
        _ kind: UserKind, validity: Validity = .always, role: Role = .guest
    ) -> LockBench {
        func device(_ number: UInt64, _ name: String, _ user: String?) -> Credential {
            Credential(
                id: .of(number), name: name, role: role, bond: number, validity: validity, user: user, kind: kind)
        }
        return LockBench([
            device(1, "anna", nil), device(2, "anna-watch", "anna"), Credential(3, "bo", .guest),
        ])
    }

    private func ask(
        _ bench: inout LockBench, _ link: UInt64, _ operation: LockOperation = .unlock
    ) throws -> LockResult? {
        bench.put(.challengeRead(LockLink(rawValue: link)))
        let command = LockCommand(operation: operation, argument: .setting, challenge: try bench.challenge(link).id)
        bench.encrypted(link, command)
        let told = bench.outputs.compactMap { output -> LockState? in
            guard case .notifyLockState(LockLink(rawValue: link), let octets) = output else { return nil }
            return try? LockState(exactly: octets)
        }
        let answers = told.filter { $0.answered == command.challenge.prefix }
        return answers.first?.result
    }

    // MARK: Disposable

    @Test("Disposable: the commit that grants the opening disables all of the user's devices, and nobody else's")
    func disposable() throws {
        var bench = bench(.disposable)
        #expect(try ask(&bench, 1) == .accepted)
        #expect(bench.orders.count == 1)
        #expect(bench.events.contains(.spent(.of(1), name: "anna", .disabled)))
        #expect(bench.events.contains(.spent(.of(2), name: "anna-watch", .disabled)))
        #expect([1, 2, 3].map { bench.credential($0)?.isEnabled } == [false, false, true])
        // What the disk has comes before what the bolt does.
        let last = bench.outputs.lastIndex { if case .persist = $0 { true } else { false } }
        let first = bench.outputs.firstIndex { if case .actuate = $0 { true } else { false } }
        #expect(try #require(last) < #require(first))
        bench.finishMovement()
        #expect(try ask(&bench, 2) == .notPermitted)
        #expect(try ask(&bench, 3) == .done)
    }

    @Test("Disposable: a device whose bond was met before it had a credential opens, and all devices are disabled")
    func disposableEnrolled() throws {
        let watch = Credential(
            id: .of(2), name: "anna-watch", role: .guest, bond: 2, user: "anna", kind: .disposable)
        let anna = Credential(id: .of(1), name: "anna", role: .guest, bond: 1, kind: .disposable)
        var bench = LockBench([])
        // The lock was restarted between the pairing and its proof.
        bench.machine.recall(2, BondHolder(bond: 2))
        bench.connectEncrypted(2, 2)
        bench.put(.administration(.credential(watch)))
        bench.put(.administration(.enrolled(watch)))
        var holder = BondHolder(bond: 2)
        (holder.credentials, holder.otherDevices) = ([watch], [anna])
        bench.machine.recall(2, holder)
        #expect(try ask(&bench, 2) == .accepted)
        #expect([1, 2].map { bench.credential($0)?.isEnabled } == [false, false])
    }

    @Test("Disposable: whoever opened hears what became of it, and of the bolt no more")
    func disposableOutcome() throws {
        var bench = bench(.disposable)
        #expect(try ask(&bench, 1) == .accepted)
        bench.finishMovement()
        let told = bench.outputs.compactMap { output -> LockState? in
            guard case .notifyLockState(LockLink(rawValue: 1), let octets) = output else { return nil }
            return try? LockState(exactly: octets)
        }
        #expect(told.map(\.result) == [.done] && told.map(\.bolt) == [.unknown])
    }

    @Test("Disposable: a lock that is killed behind that commit is opened no second time")
    func disposableKilled() throws {
        var bench = bench(.disposable)
        #expect(try ask(&bench, 1) == .accepted)
        var again = LockBench(bench.store.committed, reading: BoltReading(position: .locked, door: .closed))
        for link in [1, 2] as [UInt64] {
            again.connectEncrypted(link, link)
            #expect(try ask(&again, link) == .notPermitted)
        }
    }

    @Test("Disposable: locking and refusals use nothing up, an opening of an open bolt does, enabling gives one more")
    func disposableUses() throws {
        var bench = bench(.disposable)
        #expect(try ask(&bench, 1, .lock) == .done)
        #expect(try ask(&bench, 1, .unlatch) == .notPermitted)
        #expect(bench.credential(1)?.isEnabled == true)
        #expect(try ask(&bench, 3) == .accepted)
        bench.finishMovement()
        #expect(try ask(&bench, 1) == .done)
        #expect(bench.credential(1)?.isEnabled == false)
        bench.put(.administration(.ofUser("anna", .enabled)))
        #expect(bench.events.count == 2 && bench.credential(2)?.isEnabled == true)
        #expect(try ask(&bench, 2) == .done)
        #expect([1, 2].allSatisfy { bench.credential($0)?.isEnabled == false })
    }

    // MARK: Expiring

    @Test("Expiring: the first opening begins the minutes of all devices; then they are expired")
    func expiring() throws {
        var bench = bench(.expiring(minutes: 30))
        #expect(try ask(&bench, 2) == .accepted)
        #expect([1, 2].allSatisfy { bench.credential($0)?.validity.notAfterSeconds == Self.now + 1_800 })
        #expect(bench.events.contains(.spent(.of(1), name: "anna", .scheduled)))
        bench.finishMovement()
        bench.wallClockSeconds = Self.now + 1_799
        #expect(try ask(&bench, 1) == .done)
        // A later opening makes the time no longer.
        #expect(bench.credential(1)?.validity.notAfterSeconds == Self.now + 1_800)
        bench.wallClockSeconds = Self.now + 1_800
        #expect(try ask(&bench, 1) == .credentialExpired)
        #expect(try ask(&bench, 2) == .credentialExpired)
    }

    @Test("Expiring: an end that comes sooner stays; a clock that is not set opens nothing, and begins no minutes")
    func expiringEnds() throws {
        var bench = bench(.expiring(minutes: 30), validity: Validity(notAfterSeconds: Self.now + 60))
        #expect(try ask(&bench, 1) == .accepted)
        #expect(bench.credential(1)?.validity.notAfterSeconds == Self.now + 60)
        var unset = self.bench(.expiring(minutes: 30))
        unset.wallClockSeconds = nil
        #expect(try ask(&unset, 1) == .clockUntrusted)
        #expect(unset.credential(1)?.validity == .always)
    }

    @Test("Expiring: a clock that is set back gives no minute more")
    func expiringClock() throws {
        var bench = bench(.expiring(minutes: 30))
        #expect(try ask(&bench, 1) == .accepted)
        bench.finishMovement()
        bench.wallClockSeconds = Self.now + 3_600
        #expect(try ask(&bench, 1) == .credentialExpired)
        bench.wallClockSeconds = Self.now
        #expect(try ask(&bench, 1) == .clockUntrusted)
        #expect(try ask(&bench, 2) == .clockUntrusted)
    }

    // MARK: Duress

    @Test("Duress: it opens as any other, in octets and in their number, and the audit alone says what it was")
    func duress() throws {
        var (forced, free) = (bench(.duress), bench(.ordinary))
        #expect(try ask(&forced, 1) == .accepted)
        #expect(try ask(&free, 1) == .accepted)
        #expect(forced.events.filter { $0 == .duress(.of(1), name: "anna") }.count == 1)
        #expect(
            forced.outputs.contains { output in
                guard case .alarm(let report) = output else { return false }
                return report.alarm == .duress(of: .of(1)) && report.record != nil
            })
        func air(_ bench: LockBench) -> [LockOutput] {
            bench.outputs.filter { output in
                switch output {
                case .persist, .alarm: false
                default: true
                }
            }
        }
        #expect(air(forced).count == air(free).count && air(forced).count > 1)
        for (a, b) in zip(air(forced), air(free)) {
            // The intent is called by its audit record.
            if case .actuate = a, case .actuate = b { continue }
            #expect(a == b)
        }
        #expect(try ask(&forced, 1, .lock) == .busy)
        #expect(!forced.events.contains { if case .duress = $0 { true } else { false } })
    }

    @Test("Duress: who may hear of alarms hears of it, but for the devices of the user who opened")
    func duressTold() throws {
        var bench = LockBench([
            Credential(id: .of(1), name: "anna", role: .owner, bond: 1, user: "a"),
            Credential(id: .of(2), name: "anna-2", role: .owner, bond: 2, user: "a", kind: .duress),
            Credential(3, "bo", .owner), Credential(4, "guest", .guest),
        ])
        for link in 1...4 as ClosedRange<UInt64> {
            bench.put(.subscription(LockLink(rawValue: link), .alarm, isOn: true))
        }
        #expect(try ask(&bench, 2) == .accepted)
        let told = bench.outputs.compactMap { output -> UInt64? in
            if case .notifyAlarm(let link, _) = output { link.rawValue } else { nil }
        }
        #expect(told == [3])
    }

    // MARK: Users as a whole

    @Test("A word about a user concerns every device, each on the audit's record; about a device, that one")
    func scopes() {
        var bench = bench(.ordinary)
        bench.put(.administration(.named("anna", .disabled)))
        #expect([1, 2, 3].map { bench.credential($0)?.isEnabled } == [false, true, true])
        bench.put(.administration(.ofUser("anna", .removed)))
        #expect(
            bench.events == [
                .administered(.of(1), name: "anna", .removed), .administered(.of(2), name: "anna-watch", .removed),
            ])
        #expect([1, 2].allSatisfy { bench.credential($0) == nil } && bench.credential(3) != nil)
        for link in [1, 2] as [UInt64] { #expect(bench.outputs.contains(.disconnect(LockLink(rawValue: link)))) }
        bench.put(.administration(.ofUser("anna-watch", .removed)))
        #expect(bench.outputs.isEmpty)
    }
}
