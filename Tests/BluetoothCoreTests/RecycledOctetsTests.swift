import BluetoothCore
import Testing

@Suite struct RecycledOctetsTests {
    @Test("What was handed out does not change while somebody holds it")
    func held() {
        var octets = RecycledOctets()
        let first = octets.make { $0.write([1, 2, 3]) }
        let second = octets.make { $0.write([4, 5]) }
        #expect(first == [1, 2, 3])
        #expect(second == [4, 5])
    }

    @Test("Storage that everybody has let go of is used again")
    func reused() {
        var octets = RecycledOctets()
        func address(_ value: UInt8) -> UnsafeRawPointer? {
            octets.make { $0.write(value) }.withUnsafeBytes { $0.baseAddress }
        }
        #expect(address(1) == address(2))
    }

    @Test("With room for several held at once none of them changes, and none is made anew as long as no more are held")
    func places() {
        var octets = RecycledOctets(places: 3)
        func address(_ octets: [UInt8]) -> UnsafeRawPointer? { octets.withUnsafeBytes { $0.baseAddress } }
        var held: [[UInt8]] = []
        for value: UInt8 in 0..<3 { held.append(octets.make { $0.write(value) }) }
        #expect(held == [[0], [1], [2]])
        let storage = Set(held.map(address))
        #expect(storage.count == 3)
        held = []
        for value: UInt8 in 3..<6 { held.append(octets.make { $0.write(value) }) }
        #expect(held == [[3], [4], [5]])
        #expect(Set(held.map(address)) == storage)
        let fourth = octets.make { $0.write(UInt8(6)) }
        #expect(held == [[3], [4], [5]] && fourth == [6])
    }

    @Test("A reader copies into the storage that it was given, and gives it back")
    func reader() throws {
        let bytes: [UInt8] = [1, 2, 3, 4]
        var reader = ByteReader(bytes.span.bytes, recycling: RecycledOctets())
        let first = try reader.readBytes(2)
        let second = reader.readRemaining()
        #expect(first == [1, 2])
        #expect(second == [3, 4])
        var storage = reader.takeStorage()
        #expect(storage.make { $0.write([9]) } == [9])
        #expect(second == [3, 4])
    }
}
