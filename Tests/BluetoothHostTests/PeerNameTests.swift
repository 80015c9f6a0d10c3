import Testing

@testable import BluetoothHost

@Suite struct PeerNameTests {
    @Test(
        "Attack: a peer's name that is no name is not taken: none, too long by one octet, no UTF-8, or with an end in the middle"
    )
    func malformed() {
        let longest = [UInt8](repeating: 0x61, count: PeerName.nameOctetsMaximum)
        #expect(PeerName.name(longest) == String(repeating: "a", count: PeerName.nameOctetsMaximum))
        #expect(PeerName.name(Array("Tür".utf8)) == "Tür")
        for octets in [[], longest + [0x61], [0xFF, 0x61], [0x61, 0, 0x62], Array("Tür".utf8.dropLast(2))] {
            #expect(PeerName.name(octets) == nil, "\(octets.prefix(4))")
        }
    }
}
