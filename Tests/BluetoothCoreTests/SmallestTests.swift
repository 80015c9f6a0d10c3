import BluetoothCore
import Testing

@Suite struct SmallestTests {
    @Test("The smallest are those that sorting finds first, however many are asked for", arguments: 0...12)
    func sorted(count: Int) {
        let numbers = [5, 3, 9, 3, 0, 7, 1, 8, 2, 6]
        #expect(numbers.smallest(count) == Array(numbers.sorted().prefix(count)))
        #expect(numbers.sorted().reversed().smallest(count) == Array(numbers.sorted().prefix(count)))
        #expect([Int]().smallest(count).isEmpty)
    }
}
