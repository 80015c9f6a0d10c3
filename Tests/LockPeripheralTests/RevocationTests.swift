import BluetoothCore
import LockProtocol
import MemoryStores
import Testing

@testable import LockPeripheral

@Suite("Revocation: disabled, enabled, removed")
struct RevocationTests {
    private let link = LockLink(rawValue: 1)

    private func act(_ act: CredentialChange, on name: String = "Alice", _ bench: inout LockBench) {
        bench.put(.administration(.named(name, act)))
    }

    @Test("Disabled: the next command is refused on a signed and on an encrypted link, and learns nothing of the bolt")
    func disabled() throws {
        var bench = LockBench()
        bench.connect(1)
        let signed = unlock(try bench.challenge(1))
        act(.disabled, &bench)
        #expect(bench.events == [.administered(CredentialID(rawValue: 1), name: "Alice", .disabled)])
        bench.signed(1, signed)
        #expect(bench.orders.isEmpty)
        let told = try bench.receipt(1, answering: signed.challenge)
        #expect(told.result == .notPermitted && told.bolt == .unknown && told.door == .unknown)
        bench.connectEncrypted(2)
        let encrypted = unlock(try bench.challenge(2))
        bench.encrypted(2, encrypted)
        #expect(bench.orders.isEmpty)
        let prefix = encrypted.challenge.prefix
        let state = LockState(bolt: .unknown, door: .unknown, result: .notPermitted, answered: prefix)
        #expect(bench.outputs.contains(.notifyLockState(LockLink(rawValue: 2), state.encoded)))
        #expect(bench.store.committed.credentials[CredentialID(rawValue: 1)]?.isEnabled == false)
    }

    @Test("Disabled on a proven link: no Lock State from now on, the link ends within its minute, enabled it goes on")
    func lockState() throws {
        var bench = LockBench()
        bench.connectEncrypted(1)
        #expect(bench.machine.isEntitled(link))
        func isNotified() -> Bool {
            bench.outputs.contains { if case .notifyLockState(link, _) = $0 { true } else { false } }
        }
        bench.put(.actuator(.door(.open)))
        #expect(isNotified())
        act(.disabled, &bench)
        #expect(!bench.machine.isEntitled(link))
        bench.put(.actuator(.door(.closed)))
        #expect(!isNotified())
        act(.enabled, &bench)
        #expect(bench.events == [.administered(CredentialID(rawValue: 1), name: "Alice", .enabled)])
        bench.put(.actuator(.door(.open)))
        #expect(isNotified() && bench.machine.isEntitled(link))
        act(.disabled, &bench)
        let left = bench.run(milliseconds: LinkState.withoutCredentialMaximumMilliseconds)
        #expect(left.contains(.disconnect(link)))
    }

    @Test("What is so already is not written again")
    func unchanged() {
        var bench = LockBench()
        act(.enabled, &bench)
        #expect(bench.outputs.isEmpty)
        act(.disabled, on: "Nobody", &bench)
        #expect(bench.outputs.isEmpty)
    }

    @Test("Removed: credential, its last command, its counters and its links in one turn; nobody else's")
    func removed() throws {
        var bench = LockBench()
        bench.connect(1)
        bench.signed(1, unlock(try bench.challenge(1)))
        bench.connectEncrypted(2)
        bench.connect(3, bob)
        act(.removed, &bench)
        #expect(bench.events == [.administered(CredentialID(rawValue: 1), name: "Alice", .removed)])
        #expect(bench.persists.contains(.credentialRemoved(CredentialID(rawValue: 1))))
        #expect(bench.persists.contains(.bondForgotten(alice)))
        let ended = bench.outputs.filter { if case .disconnect = $0 { true } else { false } }
        #expect(ended == [.disconnect(link), .disconnect(LockLink(rawValue: 2))])
        #expect(bench.store.committed.lastCommands[alice] == nil)
        #expect(bench.store.committed.credentials.values.map(\.name) == ["Bob"])
    }

    @Test("Everything of one name: what a window offers beside the credential that stands goes with it")
    func offers() {
        var bench = LockBench()
        let offer = Credential(id: CredentialID(rawValue: 9), name: "Alice", role: .guest)
        bench.put(.administration(.credential(offer)))
        act(.removed, &bench)
        #expect(bench.events.count == 2)
        #expect(bench.store.committed.credentials.values.map(\.name) == ["Bob"])
    }

    @Test("A record of an administration is read back; a name that is too long or no text is not", arguments: [64, 65])
    func codec(octets: Int) throws {
        let id = CredentialID(rawValue: 3)
        let event = AuditEvent.administered(id, name: String(repeating: "a", count: octets), .removed)
        if octets <= CredentialRecord.nameOctetsMaximum {
            #expect(try AuditEvent(exactly: event.encoded) == event)
        } else {
            #expect(throws: DecodingError.self) { try AuditEvent(exactly: event.encoded) }
        }
        for act in CredentialAct.allCases {
            let event = AuditEvent.administered(id, name: "ab", act)
            #expect(try AuditEvent(exactly: event.encoded) == event)
        }
        var broken = AuditEvent.administered(id, name: "ab", .removed).encoded
        broken[broken.count - 1] = 0xFF
        #expect(throws: DecodingError.self) { try AuditEvent(exactly: broken) }
    }
}
