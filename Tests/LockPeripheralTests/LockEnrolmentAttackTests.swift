import BluetoothCore
import LockPeripheral
import LockProtocol
import SecurityManager
import Testing

@Suite("Whole enrolments")
struct LockEnrolmentTranscriptTests {
    @Test("By passkey: a failure, a success, a reconnection, and a key that is let in")
    func passkey() {
        var bench = EnrolmentBench()
        let end = bench.now.advanced(byMilliseconds: 120_000)
        #expect(
            bench.open("Alice", .resident) == [
                .administration(.credential(person(1, "Alice", .resident))),
                .administration(.windowOpened(name: "Alice", .resident)), .deadline(end),
                .setPairingWindow(.passkey, credential: "Alice", programKey: .none), .progress(.opened(nil)),
            ])
        #expect(bench.machine.credential == "Alice")
        #expect(bench.put(.passkey(123_456)) == [.progress(.passkey(123_456))])
        #expect(bench.fail() == [.progress(.attemptFailed("no"))])
        #expect(bench.put(.passkey(654_321)) == [.progress(.passkey(654_321))])
        #expect(bench.pair(7, on: 1) == [.progress(.paired(bondID(7))), .closePairingWindow])
        #expect(bench.disconnect(1) == [])
        #expect(
            bench.ask(7, on: 2) == [
                .promoteBond(bondID(7)), .administration(.credential(person(1, "Alice", .resident, bond: 7))),
                .administration(.enrolled(person(1, "Alice", .resident, bond: 7))),
                .enrolled(credential: "Alice", bondID(7)), .administration(.windowClosed(name: "Alice", .enrolled)),
                .progress(.ended(.enrolled(bondID(7)))), .deadline(nil), .closePairingWindow, .admit,
            ])
        #expect(bench.machine.credential == nil && bench.deadline == nil && bench.radio == nil)
        #expect(bench.ask(7, on: 2) == [.admit])
    }

    @Test("Out of band: the code goes to the operator, the key pair to the radio")
    func outOfBand() throws {
        guard case .outOfBand(_, _, let code) = LockEnrolment.Offer.code else { throw CancellationError() }
        var bench = EnrolmentBench()
        let opened = bench.open("Alice", .owner, .code)
        #expect(
            opened.dropFirst(3) == [
                .setPairingWindow(.code, credential: "Alice", programKey: .none), .progress(.opened(code)),
            ])
        bench.pair(7, on: 1)
        bench.disconnect(1)
        #expect(bench.ask(7, on: 2).contains(.progress(.ended(.enrolled(bondID(7))))))
        #expect(bench.named == [person(1, "Alice", bond: 7)])
    }

    @Test(
        "Re-enrolled: the credential keeps its number, takes the role that was offered, and the former device is nobody's"
    )
    func reenrolment() {
        var bench = EnrolmentBench([person(1, "Alice", bond: 5)], bonds: [bond(5, "Alice", .confirmed)])
        bench.open("Alice", .guest, fresh: 2)
        #expect(bench.named == [person(1, "Alice", bond: 5), person(2, "Alice", .guest)])
        bench.pair(7, on: 1)
        bench.disconnect(1)
        #expect(bench.ask(5, on: 3) == [.admit], "until then the former device has its rights")
        #expect(
            bench.ask(7, on: 2) == [
                .promoteBond(bondID(7)), .administration(.credential(person(1, "Alice", .guest, bond: 7))),
                .administration(.enrolled(person(1, "Alice", .guest, bond: 7))),
                .administration(.credentialRemoved(CredentialID(rawValue: 2))), .administration(.bondForgotten(5)),
                .deleteBond(bondID(5)), .enrolled(credential: "Alice", bondID(7)),
                .administration(.windowClosed(name: "Alice", .enrolled)), .progress(.ended(.enrolled(bondID(7)))),
                .deadline(nil), .closePairingWindow, .admit,
            ])
        #expect(bench.bondStates == [bondID(7): .confirmed])
    }

    @Test("A window that nobody comes to takes its offer with it, and leaves who was enrolled before")
    func nobodyCame() {
        var bench = EnrolmentBench([person(1, "Alice", bond: 5)], bonds: [bond(5, "Alice", .confirmed)])
        bench.open("Alice", .guest, fresh: 2)
        #expect(bench.wait(seconds: 119) == [])
        #expect(
            bench.wait(seconds: 1) == [
                .administration(.windowClosed(name: "Alice", .expired)), .progress(.ended(.expired)), .deadline(nil),
                .closePairingWindow, .administration(.credentialRemoved(CredentialID(rawValue: 2))),
            ])
        #expect(bench.named == [person(1, "Alice", bond: 5)])
    }

    @Test("A credential that is nothing but an offer stays behind its window, and the next window offers it anew")
    func offeredAnew() {
        var bench = EnrolmentBench()
        bench.open("Alice", .guest)
        bench.cancel()
        #expect(bench.named == [person(1, "Alice", .guest)])
        bench.open("Alice", .resident, fresh: 2)
        #expect(bench.named == [person(1, "Alice", .resident)])
        bench.cancel()
        bench.credentials[CredentialID(rawValue: 1)]?.isEnabled = false
        bench.open("Alice", fresh: 3)
        #expect(bench.named == [person(1, "Alice")], "it may be used again: the operator says so")
    }

    @Test("Who has paired and comes back behind the window's end still has what was offered")
    func cameLate() {
        var bench = EnrolmentBench([person(1, "Alice", bond: 5)], bonds: [bond(5, "Alice", .confirmed)])
        bench.open("Alice", .guest, fresh: 2)
        bench.pair(7, on: 1)
        bench.disconnect(1)
        #expect(bench.wait(seconds: 120).contains(.progress(.ended(.expired))))
        #expect(bench.named.count == 2)
        #expect(bench.ask(7, on: 2).last == .admit)
        #expect(bench.named == [person(1, "Alice", .guest, bond: 7)])
    }

    @Test("What has been disabled is enabled by the window that offers it anew, once its key has proved itself")
    func enabledAnew() {
        var bench = EnrolmentBench(
            [person(1, "Alice", isEnabled: false, bond: 5)], bonds: [bond(5, "Alice", .confirmed)])
        bench.open("Alice", fresh: 2)
        #expect(bench.named.first == person(1, "Alice", isEnabled: false, bond: 5))
        bench.pair(7, on: 1)
        bench.disconnect(1)
        bench.ask(7, on: 2)
        #expect(bench.named == [person(1, "Alice", bond: 7)])
    }

    @Test("Who is confirmed from an earlier window does not keep the credential from the open window's key")
    func overtaken() {
        var bench = EnrolmentBench()
        bench.open()
        bench.pair(7, on: 1)
        bench.disconnect(1)
        bench.cancel()
        bench.open()
        bench.pair(8, on: 2)
        bench.disconnect(2)
        #expect(bench.ask(7, on: 3).last == .admit)
        #expect(bench.bondStates == [bondID(7): .confirmed, bondID(8): .unconfirmed])
        #expect(bench.machine.credential == "Alice")
        #expect(bench.ask(8, on: 4).contains(.progress(.ended(.enrolled(bondID(8))))))
        #expect(bench.named.map(\.bond) == [8] && bench.bondStates == [bondID(8): .confirmed])
    }
}

@Suite("Attacks on the lock's enrolment")
struct LockEnrolmentAttackTests {
    @Test("Latecomer: who paired in an earlier window and stayed away loses the bond to whoever is enrolled since")
    func latecomer() {
        var bench = EnrolmentBench(bonds: [bond(9, "Bob")])
        bench.open()
        bench.pair(7, on: 1)
        bench.disconnect(1)
        bench.cancel()
        bench.open()
        bench.pair(8, on: 2)
        bench.disconnect(2)
        #expect(bench.ask(8, on: 3).contains(.deleteBond(bondID(7))))
        #expect(bench.bondStates == [bondID(8): .confirmed, bondID(9): .unconfirmed], "Bob's bond is another matter")
        #expect(bench.ask(7, on: 4) == [])
        #expect(bench.named.map(\.bond) == [8])
    }

    @Test(
        "Parked: who paired in an earlier window takes nothing that a later one offers to somebody else: another role, another kind"
    )
    func parked() {
        for (role, kind, isSame) in [
            (Role.guest, nil, true), (.guest, .ordinary, true), (.owner, nil, false), (.lockOnly, nil, false),
            (.guest, .duress, false),
        ] as [(Role, UserKind?, Bool)] {
            for standing in [[], [person(1, "Alice", .resident, bond: 5)]] {
                var bench = EnrolmentBench(standing, bonds: [bond(9, "Bob")])
                bench.open("Alice", .guest, fresh: 2)
                bench.pair(7, on: 1)
                bench.disconnect(1)
                bench.cancel()
                let opened = bench.open("Alice", role, fresh: 3, kind: kind)
                #expect((opened.first == .deleteBond(bondID(7))) != isSame, "\(role), \(String(describing: kind))")
                #expect(
                    bench.bondStates
                        == (isSame ? [bondID(7): .unconfirmed] : [:]).merging([bondID(9): .unconfirmed]) { a, _ in a })
                #expect(bench.ask(7, on: 2).last == (isSame ? .admit : nil))
                #expect(bench.named.contains { $0.bond == 7 } == isSame)
            }
        }
    }

    @Test("Parked and disabled: a window that enables the name again does so for whoever pairs in it alone")
    func parkedDisabled() {
        for isOffered in [true, false] {
            let offer = isOffered ? [person(2, "Alice", isEnabled: false)] : []
            var bench = EnrolmentBench(
                [person(1, "Alice", isEnabled: false, bond: 5)] + offer,
                bonds: [bond(5, "Alice", .confirmed), bond(7, "Alice")])
            #expect(bench.open("Alice", fresh: 3).first == .deleteBond(bondID(7)))
            #expect(bench.ask(7, on: 1) == [] && bench.bondStates == [bondID(5): .confirmed])
        }
    }

    @Test("A window that is refused deletes nobody's bond")
    func parkedRefused() {
        var bench = EnrolmentBench()
        bench.open("Alice", .guest)
        bench.pair(7, on: 1)
        bench.disconnect(1)
        bench.cancel()
        #expect(bench.open("Alice", .owner, isReady: false) == [.refuse(.notPoweredOn)])
        #expect(bench.ask(7, on: 2).last == .admit)
    }

    @Test("Burnt code: one attempt in vain closes the window, and what follows it is nothing")
    func burntCode() {
        var bench = EnrolmentBench()
        bench.open("Alice", .owner, .code)
        #expect(
            bench.fail() == [
                .progress(.attemptFailed("no")), .administration(.windowClosed(name: "Alice", .burnt)),
                .progress(.ended(.burnt)), .deadline(nil), .closePairingWindow,
            ])
        #expect(bench.radio == nil && bench.machine.credential == nil)
        #expect(bench.fail() == [])
    }

    @Test("Guesses: three failures close the window, and only the operator opens another, which has three again")
    func threeFailures() {
        var bench = EnrolmentBench()
        for _ in 0..<2 {
            bench.open()
            #expect(bench.fail() == [.progress(.attemptFailed("no"))])
            #expect(bench.fail() == [.progress(.attemptFailed("no"))])
            #expect(bench.radio == "Alice")
            #expect(
                bench.fail() == [
                    .progress(.attemptFailed("no")), .administration(.windowClosed(name: "Alice", .tooManyFailures)),
                    .progress(.ended(.tooManyFailures)), .deadline(nil), .closePairingWindow,
                ])
            #expect(bench.radio == nil && bench.machine.credential == nil)
        }
    }

    @Test("A failure behind a success is nobody's: the window waits for its bond")
    func failureBehindSuccess() {
        var bench = EnrolmentBench()
        bench.open("Alice", .owner, .code)
        bench.pair(7, on: 1)
        for _ in 0..<4 { #expect(bench.fail() == []) }
        #expect(bench.machine.credential == "Alice")
    }

    @Test("A pairing reported without a window gives no right, and what it proves on its link is nothing")
    func withoutWindow() {
        var bench = EnrolmentBench([person(1, "Alice", bond: 5)], bonds: [bond(5, "Alice", .confirmed)])
        #expect(bench.pair(7, on: 1) == [.closePairingWindow])
        #expect(bench.ask(7, on: 1) == [])
        bench.disconnect(1)
        #expect(bench.ask(7, on: 2) == [], "it names no credential")
        #expect(bench.named == [person(1, "Alice", bond: 5)])
        #expect(bench.bondStates[bondID(7)] == .unconfirmed)
    }

    @Test("A bond that paired on this very link has proved nothing yet; on the next one it has")
    func sameLink() {
        var bench = EnrolmentBench()
        bench.open()
        bench.pair(7, on: 1)
        #expect(bench.ask(7, on: 1) == [])
        #expect(bench.bondStates == [bondID(7): .unconfirmed] && bench.named.map(\.bond) == [nil])
        #expect(bench.ask(7, on: 2).last == .admit)
    }

    @Test("Another link's end does not make a pairing a reconnection")
    func otherLinkEnds() {
        var bench = EnrolmentBench()
        bench.open()
        bench.pair(7, on: 1)
        bench.disconnect(2)
        #expect(bench.ask(7, on: 1) == [])
    }

    @Test("Key Status of an unconfirmed bond takes its own credential and no other, whosever window is open")
    func otherCredential() {
        var bench = EnrolmentBench(
            [person(1, "Alice", bond: 5), person(2, "Bob")], bonds: [bond(5, "Alice", .confirmed), bond(6, "Bob")])
        bench.open("Alice", fresh: 3)
        #expect(bench.ask(6, on: 1).last == .admit)
        #expect(
            bench.named == [person(1, "Alice", bond: 5), person(2, "Bob", bond: 6), person(3, "Alice")],
            "Alice's offer waits for Alice")
        #expect(bench.machine.credential == "Alice" && bench.radio == "Alice")
        #expect(bench.bondStates[bondID(5)] == .confirmed)
    }

    @Test(
        "An unconfirmed bond whose credential is gone, or that never had one, is not let in", arguments: ["Eve", nil])
    func nobodysBond(_ credential: String?) {
        var bench = EnrolmentBench([person(1, "Alice", bond: 5)], bonds: [bond(6, credential)])
        #expect(bench.ask(6, on: 1) == [])
    }

    @Test("A disabled credential that was not offered anew is taken by no bond of an earlier window")
    func disabled() {
        var bench = EnrolmentBench(
            [person(1, "Alice", isEnabled: false, bond: 5)],
            bonds: [bond(5, "Alice", .confirmed), bond(7, "Alice")])
        #expect(bench.ask(7, on: 1) == [])
        #expect(bench.bondStates[bondID(7)] == .unconfirmed)
    }

    @Test("An offer that was disabled while its window is open hands nothing over")
    func disabledOffer() {
        var bench = EnrolmentBench(
            [person(1, "Alice", bond: 5), person(2, "Alice", isEnabled: false)],
            bonds: [bond(5, "Alice", .confirmed), bond(7, "Alice")])
        #expect(bench.ask(7, on: 1) == [])
    }

    @Test("Anything but Key Status confirms nothing, however much or little it is")
    func otherRequests() {
        let octets = (0...255).filter { $0 != ControlPointOpcode.keyStatus.rawValue }.map { [UInt8($0)] }
        for request in octets + [[], [UInt8](repeating: 0, count: 512)] {
            var bench = EnrolmentBench([person(1, "Alice")], bonds: [bond(7, "Alice")])
            #expect(bench.ask(7, on: 1, request) == [])
        }
    }

    @Test("A provisional bond is good for nothing")
    func provisional() {
        var bench = EnrolmentBench([person(1, "Alice")], bonds: [bond(7, "Alice", .provisional)])
        #expect(bench.ask(7, on: 1) == [])
    }

    @Test("A second window while one is open is refused, whoever it is for, and changes nothing")
    func secondWindow() {
        var bench = EnrolmentBench()
        bench.open()
        let machine = bench.machine
        #expect(bench.open("Alice", .owner, .code) == [.refuse(.windowIsOpen(credential: "Alice"))])
        #expect(bench.open("Bob", fresh: 2) == [.refuse(.windowIsOpen(credential: "Alice"))])
        bench.pair(7, on: 1)
        #expect(bench.open("Bob", fresh: 2) == [.refuse(.windowIsOpen(credential: "Alice"))])
        #expect(bench.named == [person(1, "Alice")] && machine != bench.machine)
    }

    @Test("Whose credential is removed has no window any more; another's removal leaves it open")
    func removed() {
        var bench = EnrolmentBench()
        bench.open()
        #expect(bench.put(.credentialRemoved("Bob", bench.register)) == [])
        bench.credentials = [:]
        #expect(
            bench.put(.credentialRemoved("Alice", bench.register)) == [
                .administration(.windowClosed(name: "Alice", .cancelled)), .progress(.ended(.cancelled)),
                .deadline(nil),
                .closePairingWindow,
            ])
    }

    // MARK: Bounds

    @Test("A name of the greatest length is taken, one octet more is not, nor none")
    func names() {
        let longest = String(repeating: "a", count: CredentialRecord.nameOctetsMaximum)
        var bench = EnrolmentBench()
        #expect(bench.open(longest + "b") == [.refuse(.badName)])
        #expect(bench.open("") == [.refuse(.badName)])
        #expect(bench.machine == EnrolmentBench().machine)
        #expect(bench.open(longest).last == .progress(.opened(nil)))
    }

    @Test("A time past the end of the clock is the end of the clock")
    func endOfTime() {
        // In milliseconds, one more than there are numbers for.
        for seconds in [UInt64.max / 1_000 + 1, .max] {
            var bench = EnrolmentBench()
            bench.open(seconds: seconds)
            #expect(bench.deadline == Instant(nanoseconds: .max))
        }
    }

    @Test("Links that come, pair and go without end leave nothing behind")
    func links() {
        var bench = EnrolmentBench()
        let machine = bench.machine
        for link in 0..<1_000 as Range<UInt64> {
            bench.put(.paired(LockLink(rawValue: link), bondID(link)))
            bench.disconnect(link)
        }
        #expect(bench.machine == machine)
    }

    @Test("One history has one list of outputs, in whatever order its credentials are told")
    func order() {
        let offers = (1...8).map { person($0, "Alice", .guest) }
        let told = [offers, offers.reversed(), Array(offers.shuffled())].map { offers in
            var outputs: [Output] = []
            var machine = LockEnrolment()
            let register = LockEnrolment.Register(credentials: offers, bonds: [bond(7, "Alice")])
            machine.handle(
                .controlPoint(LockLink(rawValue: 1), bondID(7), keyStatus, register), now: bootInstant, into: &outputs)
            return outputs
        }
        #expect(told[0] == told[1] && told[0] == told[2])
        #expect(told[0].count == 1 + 8 + 3)
    }

    private let bootInstant = Instant(nanoseconds: 0)
}
