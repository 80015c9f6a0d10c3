import BluetoothCore
import LockProtocol
import Testing

@Suite("Kinds of users") struct UserKindTests {
    @Test(
        "Each kind has its octets, and minutes where it has some",
        arguments: [
            (UserKind.ordinary, "000000"), (.disposable, "010000"), (.expiring(minutes: 1), "020100"),
            (.expiring(minutes: UserKind.minutesMaximum), "02400B"), (.duress, "030000"),
        ])
    func octets(kind: UserKind, hex: String) throws { try checkCodec(kind, hex) }

    @Test("Minutes that are none, too many, or of a kind that has none; a kind that is not there")
    func none() {
        for (number, minutes) in [(0, 1), (1, 1), (2, 0), (2, 2_881), (3, 1), (4, 0), (255, 0)] as [(UInt8, UInt16)] {
            #expect(UserKind(number: number, minutes: minutes) == nil, "\(number) \(minutes)")
        }
    }
}
