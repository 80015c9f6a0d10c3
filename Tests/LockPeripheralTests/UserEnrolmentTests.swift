import BluetoothCore
import LockProtocol
import SecurityManager
import Testing

@testable import LockPeripheral

@Suite("Enrolling a user's devices")
struct UserEnrolmentTests {
    private static let validity = Validity(notBeforeSeconds: 5, notAfterSeconds: 9)

    /// Anna has a device with rules, and a second one if it is said.
    private static func anna(_ kind: UserKind = .ordinary, devices: UInt64 = 1) -> [Credential] {
        (1...devices).map { number in
            Credential(
                id: CredentialID(rawValue: number), name: number == 1 ? "anna" : "anna-\(number)", role: .resident,
                bond: number, validity: validity, user: number == 1 ? nil : "anna", kind: kind)
        }
    }

    private func open(
        _ bench: inout EnrolmentBench, _ name: String, user: String? = nil, kind: UserKind? = nil
    ) -> [Output] {
        let opening = LockEnrolment.Opening(
            credential: name, role: .guest, seconds: 60, offer: .passkey, fresh: CredentialID(rawValue: 99), user: user,
            kind: kind)
        return bench.put(.open(opening, isReady: true, bench.register))
    }

    private func offered(_ outputs: [Output]) -> Credential? {
        outputs.compactMap { if case .administration(.credential(let credential)) = $0 { credential } else { nil } }
            .first
    }

    @Test("A further device has the user's rules and kind from the beginning, and a role of its own")
    func inherits() {
        var bench = EnrolmentBench(Self.anna(.expiring(minutes: 7)))
        let watch = offered(open(&bench, "watch", user: "anna"))
        #expect(watch?.user == "anna" && watch?.kind == .expiring(minutes: 7) && watch?.validity == Self.validity)
        #expect(watch?.role == .guest && watch?.bond == nil)
    }

    @Test("A device that enrols anew stays its user's, with its rules; a first device is its own user's")
    func again() {
        var bench = EnrolmentBench(Self.anna(.disposable, devices: 2))
        let second = offered(open(&bench, "anna-2"))
        #expect(second?.user == "anna" && second?.kind == .disposable)
        bench.pair(7, on: 1)
        bench.disconnect(1)
        bench.ask(7, on: 2)
        let taken = bench.credentials[CredentialID(rawValue: 2)]
        #expect(taken?.bond == 7 && taken?.user == "anna" && taken?.validity == Self.validity && taken?.role == .guest)
        var alone = EnrolmentBench()
        let first = offered(open(&alone, "bo", user: "bo", kind: .duress))
        #expect(first?.user == nil && first?.userName == "bo" && first?.kind == .duress && first?.validity == .always)
    }

    @Test("A kind that is given to a user's only device counts from its key's enrolment on")
    func kindAnew() {
        var bench = EnrolmentBench(Self.anna(.disposable))
        #expect(offered(open(&bench, "anna", kind: .ordinary))?.kind == .ordinary)
        #expect(bench.credentials[CredentialID(rawValue: 1)]?.kind == .disposable)
        bench.pair(7, on: 1)
        bench.disconnect(1)
        bench.ask(7, on: 2)
        #expect(bench.credentials[CredentialID(rawValue: 1)]?.kind == .ordinary)
    }

    @Test("Another user's device, another kind, one device too many, a name that is too long or none: no window")
    func refused() {
        var bench = EnrolmentBench(
            Self.anna(devices: UInt64(LockEnrolment.devicesMaximum)) + [person(50, "bo", bond: 50)])
        let machine = bench.machine
        let longest = String(repeating: "u", count: CredentialRecord.nameOctetsMaximum)
        for (outputs, refusal) in [
            (open(&bench, "bo", user: "anna"), .otherUser(credential: "bo", user: "bo")),
            (open(&bench, "anna-2", user: "bo"), .otherUser(credential: "anna-2", user: "anna")),
            (open(&bench, "anna-2", kind: .duress), .otherKind(user: "anna")),
            (open(&bench, "anna-11", user: "anna"), .tooManyDevices(user: "anna")),
            (open(&bench, "new", user: longest + "u"), .badUser), (open(&bench, "new", user: ""), .badUser),
        ] as [([Output], EnrolmentRefusal)] {
            #expect(outputs == [.refuse(refusal)])
        }
        #expect(bench.machine == machine)
        // One of them enrols anew all the same.
        #expect(offered(open(&bench, "anna-10"))?.user == "anna")
    }
}
