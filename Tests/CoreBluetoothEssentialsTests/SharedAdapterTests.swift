import BlueZSupport
import BluetoothCore
import CoreBluetoothEssentials
import LockCentral
import LockProtocol
import Testing

@Suite("A key's daemon beside bluetoothd")
struct SharedAdapterTests {
    @Test("An operator who goes away takes the pairing with him: the next code is paired with at once")
    func operatorGoes() throws {
        let adapter = try SharedAdapter()
        let code = try SharedAdapter.code()
        try adapter.enroll(code)
        #expect(adapter.enrolment == [.connecting, .pairing])
        try adapter.turn { _ in adapter.key?.cancelEnrolment() }
        try adapter.enroll(code)
        #expect(adapter.enrolment == [.connecting, .pairing, .failed(.superseded), .connecting, .pairing])
    }

    @Test("A walk that nobody could measure, as the radio was off, ends with it: links are asked for again")
    func walkWithoutRadio() throws {
        let adapter = try SharedAdapter(unlocksWhenNear: true)
        try adapter.powered(false)
        try adapter.run(milliseconds: 60_000)
        let key = try #require(adapter.key)
        let lock = try adapter.turn { _ in try key.calibrate(nil) { _ in } }
        try adapter.turn { _ in adapter.key?.endCalibration(lock.peer) }
        let before = adapter.members.count
        try adapter.powered(true)
        try adapter.run(milliseconds: 60_000)
        #expect(adapter.members.dropFirst(before).contains("RegisterApplication"))
    }

    @Test("Who looks for the nearest lock and goes away has none asked, and no link stays wanted")
    func nearestWithdrawn() throws {
        let adapter = try SharedAdapter()
        var progress = 0
        try adapter.turn { _ in
            adapter.key?.commandNearest(.unlock, .setting, waitMilliseconds: 10_000) { _ in progress += 1 }
        }
        #expect(adapter.members.contains("RegisterApplication"))
        try adapter.turn { _ in adapter.key?.withdrawNearest() }
        try adapter.comesUp()
        try adapter.challenge(6)
        try adapter.run(milliseconds: 20_000)
        #expect(progress == 0 && adapter.commands.isEmpty && adapter.members.last == "UnregisterApplication")
    }

    @Test("Who asks and goes away before anything was sent has nothing sent; what was sent is asked about as ever")
    func commandWithdrawn() throws {
        let adapter = try SharedAdapter()
        try adapter.ask()
        try withdraw(adapter)
        try adapter.comesUp()
        try adapter.challenge(6)
        #expect(adapter.commands.isEmpty && adapter.verdicts == [.cancelled])

        let other = try SharedAdapter()
        try other.ask()
        try other.comesUp()
        try other.challenge(6)
        try withdraw(other)
        try other.run(milliseconds: KeyMachine.answerWaitMilliseconds)
        #expect(other.verdicts.isEmpty && other.questions.count == 1)
    }

    private func withdraw(_ adapter: SharedAdapter) throws {
        guard case .took(let id, let peer)? = adapter.progress.first else {
            Issue.record("\(adapter.progress)")
            return
        }
        try adapter.turn { _ in adapter.key?.withdraw(id, at: peer) }
    }
}
