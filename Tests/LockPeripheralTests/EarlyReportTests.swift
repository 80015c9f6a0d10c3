import LockPeripheral
import LockProtocol
import Testing

@Suite("What an actuator tells before the lock begins")
struct EarlyReportTests {
    @Test("The last of each kind is kept, in order, however many there were, and taken once")
    func lastOfEach() {
        var early = EarlyReports()
        let name = IntentID(rawValue: 3)
        early.put(.began(name))
        for _ in 0..<1_000 {
            early.put(.door(.open))
            early.put(.bolt(.unlocked))
            early.put(.door(.closed))
        }
        early.put(.ended(name, .locked))
        #expect(early.take() == [.began(name), .bolt(.unlocked), .door(.closed), .ended(name, .locked)])
        #expect(early.take().isEmpty)
    }
}
