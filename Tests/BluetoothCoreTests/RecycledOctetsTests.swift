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
