import BluetoothCore
import LockCentral
import LockProtocol
import SecurityManager
import Testing

@Suite("Whole enrolments of a key")
struct KeyEnrolmentTranscriptTests {
    @Test("A code, a pairing, a reconnection, and a lock that has said so")
    func enrolment() {
        var bench = KeyEnrolmentBench()
        #expect(bench.enrol() == [.release(door), .progress(.connecting), .connect(door)])
        #expect(
            bench.connect() == [
                .progress(.pairing), .pair(door, setupData, credential: "lock \(setupData.address)", programKey: .none),
            ])
        #expect(bench.encrypt() == [], "the pairing's own end says so")
        #expect(bench.pair(7) == [.progress(.paired), .discover(door)])
        #expect(bench.prepare() == [.disconnect(door)])
        #expect(bench.disconnect() == [.connect(door)])
        #expect(bench.connect() == [.encrypt(door)])
        #expect(bench.encrypt() == [.passOn])
        #expect(bench.prepare() == [.askKeyStatus(door)])
        #expect(
            bench.answer(proof(7)) == [
                .promoteBond(bondID(7)), .keep(LockRecord(peer: door, name: "Front door")), .bonded(door),
                .enrolled(door, name: "Front door"), .progress(.enrolled(door, name: "Front door")), .release(door),
            ])
        #expect(bench.machine == KeyEnrolmentMachine() && bench.deadline == nil && bench.promoted == [bondID(7)])
        #expect(bench.connect() == [.passOn])
    }

    @Test("Killed behind the pairing: the next process takes the bond to its confirmation, and nobody waits")
    func killed() {
        var bench = KeyEnrolmentBench()
        bench.pairAndComeBack(7)
        bench.machine = KeyEnrolmentMachine()
        #expect(bench.put(.poweredOn(bench.register)) == [.connect(door)])
        #expect(bench.machine.enrolling == nil && bench.machine.isConfirming(door))
        #expect(bench.connect() == [.encrypt(door)])
        #expect(bench.encrypt() == [.passOn])
        #expect(bench.prepare() == [.askKeyStatus(door)])
        #expect(
            bench.answer(proof(7)) == [
                .promoteBond(bondID(7)), .keep(LockRecord(peer: door, name: "Front door")), .bonded(door),
                .enrolled(door, name: "Front door"), .release(door),
            ])
        #expect(bench.machine.unattended(bench.register).isEmpty)
    }

    @Test("Superseded before the pairing: nothing is left of the first")
    func supersededEarly() {
        var bench = KeyEnrolmentBench()
        bench.enrol()
        #expect(
            bench.enrol() == [
                .progress(.failed(.superseded)), .release(door), .release(door), .progress(.connecting), .connect(door),
            ])
        #expect(bench.put(.cancelled(bench.register)) == [.progress(.failed(.superseded)), .release(door)])
        #expect(bench.machine == KeyEnrolmentMachine())
    }

    @Test("Expired before the pairing: nothing is left. Behind it, the bond waits, and the operator is told once")
    func expired() {
        var bench = KeyEnrolmentBench()
        bench.enrol()
        #expect(bench.wait(milliseconds: 89_999) == [])
        #expect(bench.wait(milliseconds: 1) == [.progress(.failed(.expired(isPaired: false))), .release(door)])
        #expect(bench.machine == KeyEnrolmentMachine() && bench.deadline == nil)

        bench.pairAndComeBack(7)
        #expect(
            bench.wait(milliseconds: 90_000) == [
                .progress(.failed(.expired(isPaired: true))), .release(door), .connect(door),
            ])
        #expect(bench.machine.unattended(bench.register).map(\.peer) == [door] && bench.deadline == nil)
        bench.prove()
        #expect(bench.answer(proof(7)).contains(.promoteBond(bondID(7))))
    }

    @Test("The old bond encrypts the link: the lock has none of the newer ones, and they go")
    func oldBond() {
        var bench = KeyEnrolmentBench()
        bench.bonds = [.init(id: bondID(6), peer: door), .init(id: bondID(9), peer: shed)]
        bench.pairAndComeBack(7)
        bench.connect()
        #expect(
            bench.encrypt(isConfirmed: true) == [
                .deleteBond(bondID(6)), .deleteBond(bondID(7)),
                .progress(.failed(.notConfirmed("it has kept the bond that it had, which goes on"))), .release(door),
            ])
        #expect(bench.bonds.map(\.id) == [bondID(9)], "another lock's is another matter")
        #expect(bench.machine == KeyEnrolmentMachine() && bench.promoted.isEmpty)
    }

    @Test("The lock confirms an earlier pairing: that bond goes on, and the operator hears that theirs does not")
    func earlierBond() {
        var bench = KeyEnrolmentBench()
        bench.bonds = [.init(id: bondID(6), peer: door)]
        bench.pairAndComeBack(7)
        bench.prove()
        #expect(
            bench.answer(proof(6)).suffix(2) == [
                .progress(.failed(.notConfirmed("it has kept an earlier bond, which goes on"))), .release(door),
            ])
        #expect(bench.promoted == [bondID(6)] && bench.bonds.isEmpty)
    }

    @Test("Three links lost: the operator is told once, and then there is one link a minute")
    func threeLinksLost() {
        var bench = KeyEnrolmentBench()
        bench.pairAndComeBack(7)
        for _ in 0..<2 {
            bench.connect()
            #expect(bench.disconnect(isLost: true) == [.connect(door)])
        }
        bench.connect()
        #expect(
            bench.disconnect(isLost: true) == [
                .progress(
                    .failed(
                        .notConfirmed("it has confirmed the new bond on none of three links; the key goes on trying"))),
                .release(door),
            ])
        for _ in 0..<3 {
            #expect(bench.machine.unattended(bench.register).map(\.linksLost) == [3])
            #expect(bench.machine.unattended(bench.register).map(\.isResting) == [true])
            #expect(bench.wait(milliseconds: 59_999) == [])
            #expect(bench.wait(milliseconds: 1) == [.connect(door)])
            bench.connect()
            #expect(bench.disconnect(isLost: true) == [])
        }
        #expect(bench.bonds.map(\.id) == [bondID(7)])
    }

    @Test("While somebody wants something of the lock, its bond does not rest; a lock that answers begins anew")
    func asked() {
        var bench = KeyEnrolmentBench()
        bench.pairAndComeBack(7)
        for _ in 0..<3 { bench.disconnect(isLost: true) }
        bench.asked = [shed]
        #expect(bench.disconnect(isLost: true) == [], "another lock's wish is another matter")
        bench.asked = [door]
        #expect(bench.machine.unattended(bench.register).map(\.isResting) == [false])
        for _ in 0..<5 {
            bench.connect()
            #expect(bench.disconnect(isLost: true) == [.connect(door)])
        }
        bench.prove()
        #expect(bench.machine.unattended(bench.register).map(\.linksLost) == [0])
    }

    @Test("The answer is lost: it is asked again on the next link")
    func answerLost() {
        var bench = KeyEnrolmentBench()
        bench.pairAndComeBack(7)
        bench.prove()
        #expect(bench.disconnect(isLost: true) == [.connect(door)])
        bench.connect()
        #expect(bench.answer(proof(7)) == [.passOn], "nobody has asked on this link")
        bench.encrypt()
        #expect(bench.prepare() == [.askKeyStatus(door)])
        #expect(bench.answer(proof(7)).contains(.progress(.enrolled(door, name: "Front door"))))
    }

    @Test("The tree changes while it is subscribed to: Key Status waits for the new one, on the same link")
    func treeChanged() {
        var bench = KeyEnrolmentBench()
        bench.pairAndComeBack(7)
        bench.connect()
        bench.encrypt()
        #expect(bench.put(.prepared(door, isTreeKnown: false)) == [])
        #expect(bench.prepare() == [.askKeyStatus(door)])
    }

    @Test("What a refusal says of the credential is not the bond's matter: it is confirmed")
    func notPermitted() {
        var bench = KeyEnrolmentBench()
        bench.pairAndComeBack(7)
        bench.prove()
        let refusal = ControlPointResponse(request: .keyStatus, result: .notPermitted).encoded
        #expect(bench.answer(proof(7), door, refusal).first == .promoteBond(bondID(7)))
    }
}

@Suite("Attacks on the key's enrolment")
struct KeyEnrolmentAttackTests {
    @Test("Forged key missing, in clear and again and again, deletes nothing, and the next link is another bond's turn")
    func keyMissing() {
        var bench = KeyEnrolmentBench()
        bench.bonds = [.init(id: bondID(6), peer: door)]
        bench.pairAndComeBack(7)
        for round in 0..<20 {
            bench.asked = round > 10 ? [door] : []
            bench.connect()
            #expect(bench.put(.encryptionFailed(door)) == [.disconnect(door)])
            let outputs = bench.disconnect()
            #expect(outputs.allSatisfy { if case .deleteBond = $0 { false } else { true } })
        }
        #expect(bench.bonds.map(\.id) == [bondID(6), bondID(7)] && bench.promoted.isEmpty)
        bench.prove()
        #expect(bench.answer(proof(7)).contains(.promoteBond(bondID(7))))
    }

    @Test("A stranger who takes the link and says nothing is left within a second, and counts as a link lost")
    func silentStranger() {
        var bench = KeyEnrolmentBench()
        bench.pairAndComeBack(7)
        for _ in 0..<2 {
            bench.connect()
            #expect(bench.wait(milliseconds: 999) == [])
            #expect(bench.wait(milliseconds: 1) == [.disconnect(door)])
            #expect(bench.disconnect() == [.connect(door)])
        }
        bench.connect()
        bench.wait(milliseconds: 1_000)
        #expect(bench.disconnect().first.map(Self.isNotConfirmed) == true)
    }

    @Test("A lock that has proved itself and says nothing more does not keep its link, and is no stranger")
    func silentLock() {
        var bench = KeyEnrolmentBench()
        bench.pairAndComeBack(7)
        for _ in 0..<4 {
            bench.connect()
            bench.encrypt()
            #expect(bench.wait(milliseconds: 9_999) == [])
            #expect(bench.wait(milliseconds: 1) == [.disconnect(door)])
            #expect(bench.disconnect() == [.connect(door)])
        }
        bench.prove()
        #expect(bench.wait(milliseconds: 4_999) == [])
        #expect(bench.wait(milliseconds: 1) == [.disconnect(door)])
        #expect(bench.disconnect() == [.connect(door)])
    }

    @Test("A stranger's answer in clear, a confirmed bond's and garbage confirm nothing")
    func forgedAnswers() {
        for isAttended in [true, false] {
            var bench = KeyEnrolmentBench()
            bench.pairAndComeBack(7)
            if !isAttended { bench.put(.cancelled(bench.register)) }
            bench.prove()
            let machine = bench.machine
            #expect(bench.answer(nil) == [])
            #expect(bench.answer(proof(5)) == [])
            for opcode in (0...255).filter({ $0 != Int(ControlPointOpcode.keyStatus.rawValue) }) {
                let response = ControlPointResponse(
                    request: ControlPointOpcode(rawValue: UInt8(opcode)), result: .success)
                #expect(bench.answer(proof(7), door, response.encoded) == [])
            }
            for octets in [[], [0x80], [UInt8](repeating: 0, count: 512)] {
                #expect(bench.answer(proof(7), door, octets) == [])
            }
            #expect(bench.machine == machine && bench.bonds.map(\.id) == [bondID(7)])
        }
    }

    @Test("Another lock's link, pairing, refusal and end do nothing to the enrolment")
    func anotherLock() {
        var bench = KeyEnrolmentBench()
        bench.enrol()
        bench.connect()
        let machine = bench.machine
        #expect(bench.connect(shed) == [.passOn])
        #expect(bench.pair(9, shed) == [])
        #expect(bench.put(.pairingFailed(shed, reason: "no", bench.register)) == [])
        #expect(bench.put(.encryptionFailed(shed)) == [.passOn])
        #expect(bench.encrypt(shed, isConfirmed: true) == [.passOn])
        #expect(bench.prepare(shed) == [.passOn])
        #expect(bench.put(.unprepared(shed, bench.register)) == [.passOn])
        #expect(bench.answer(proof(9, shed), shed) == [.passOn])
        #expect(bench.disconnect(shed, isLost: true) == [.passOn])
        #expect(bench.machine == machine && bench.bonds.map(\.id) == [bondID(9)])
    }

    @Test("A second code, for another lock: the first is told, its bond waits, and one operator waits at a time")
    func secondCode() {
        var bench = KeyEnrolmentBench()
        bench.pairAndComeBack(7)
        #expect(
            bench.enrol(shed) == [
                .progress(.failed(.superseded)), .release(door), .connect(door), .release(shed), .progress(.connecting),
                .connect(shed),
            ])
        #expect(bench.machine.enrolling == shed && bench.machine.isConfirming(door))
        bench.prove()
        let confirmed = bench.answer(proof(7))
        #expect(confirmed.contains(.promoteBond(bondID(7))))
        #expect(
            confirmed.allSatisfy { if case .progress = $0 { false } else { true } }, "the operator waits for the shed")
        bench.connect(shed)
        #expect(bench.pair(9, shed) == [.progress(.paired), .discover(shed)])
    }

    @Test("The first code's pairing ends behind the second code: its result is nobody's")
    func lateResult() {
        var bench = KeyEnrolmentBench()
        bench.enrol()
        bench.connect()
        bench.enrol(shed)
        #expect(bench.put(.pairingFailed(door, reason: "no", bench.register)) == [])
        #expect(bench.put(.paired(door, bondID(7))) == [])
        #expect(bench.machine.enrolling == shed && !bench.machine.holds(door))
    }

    @Test("A pairing's result before it was begun, or a second one, changes nothing")
    func strayResults() {
        var bench = KeyEnrolmentBench()
        bench.enrol()
        #expect(bench.put(.paired(door, bondID(7))) == [])
        bench.connect()
        bench.pair(7)
        #expect(bench.put(.paired(door, bondID(8))) == [])
        #expect(bench.put(.pairingFailed(door, reason: "no", bench.register)) == [])
        bench.prepare()
        bench.disconnect()
        bench.prove()
        #expect(bench.answer(proof(7)).contains(.progress(.enrolled(door, name: "Front door"))))
    }

    @Test("A code is used once: the link that comes after a failed pairing is not paired on")
    func codeIsUsedOnce() {
        var bench = KeyEnrolmentBench()
        bench.enrol()
        bench.connect()
        #expect(bench.connect() == [])
        #expect(
            bench.put(.pairingFailed(door, reason: "no", bench.register)) == [
                .progress(.failed(.pairing("no"))), .release(door),
            ])
        #expect(bench.connect() == [.passOn])
    }

    @Test("The radio comes on while an operator waits: earlier bonds do not get between")
    func poweredOnWhileEnrolling() {
        var bench = KeyEnrolmentBench()
        bench.bonds = [.init(id: bondID(9), peer: shed), .init(id: bondID(10), peer: nil)]
        bench.enrol()
        #expect(bench.put(.poweredOn(bench.register)) == [])
        bench.put(.cancelled(bench.register))
        #expect(bench.put(.poweredOn(bench.register)) == [.connect(shed)])
        #expect(bench.put(.poweredOn(bench.register)) == [], "it is asked for already")
    }

    // MARK: Bounds

    @Test("One timer: it is set to the earliest of several locks, each is left when its own time is over")
    func oneTimer() {
        var bench = KeyEnrolmentBench()
        bench.bonds = [.init(id: bondID(9), peer: shed)]
        bench.put(.poweredOn(bench.register))
        bench.pairAndComeBack(7)
        let begin = bench.now
        bench.connect()
        #expect(bench.deadline == begin.advanced(byMilliseconds: 1_000))
        bench.wait(milliseconds: 400)
        bench.connect(shed)
        #expect(bench.deadline == begin.advanced(byMilliseconds: 1_000))
        #expect(bench.wait(milliseconds: 600) == [.disconnect(door)])
        #expect(bench.deadline == begin.advanced(byMilliseconds: 1_400))
        #expect(bench.wait(milliseconds: 400) == [.disconnect(shed)])
        #expect(bench.deadline == begin.advanced(byMilliseconds: KeyEnrolmentBench.waitMilliseconds))
    }

    @Test("Several locks that are due at once are left in the order of their names")
    func order() {
        let peers = (1...8).map { PeerIdentifier(bits: UInt128($0)) }
        var bench = KeyEnrolmentBench()
        bench.bonds = peers.shuffled().map { .init(id: bondID(Int64($0.bits)), peer: $0) }
        bench.put(.poweredOn(bench.register))
        for peer in peers.shuffled() { bench.connect(peer) }
        #expect(bench.wait(milliseconds: 1_000) == peers.map { .disconnect($0) })
    }

    @Test("A wait past the end of the clock is the end of the clock")
    func endOfTime() {
        var bench = KeyEnrolmentBench()
        bench.put(.enrol(door, setupData, waitMilliseconds: .max, bench.register))
        #expect(bench.deadline == Instant(nanoseconds: .max))
    }

    @Test("Links of strangers without end leave nothing behind")
    func strangers() {
        var bench = KeyEnrolmentBench()
        for bits in 100..<1_100 as Range<UInt128> {
            bench.connect(PeerIdentifier(bits: bits))
            bench.put(.encryptionFailed(PeerIdentifier(bits: bits)))
            bench.disconnect(PeerIdentifier(bits: bits), isLost: true)
        }
        #expect(bench.machine == KeyEnrolmentMachine())
    }

    private static func isNotConfirmed(_ output: EnrolmentOutput) -> Bool {
        if case .progress(.failed(.notConfirmed)) = output { true } else { false }
    }
}
