import Testing

@testable import DaemonControl

@Suite("Control protocol: lines")
struct LineFramerTests {
    @Test("lines are the same however the stream is cut", arguments: [1, 2, 3, 7, 64])
    func cuts(size: Int) throws {
        let stream = Array("{}\n\nabc\nhalf".utf8)
        var framer = LineFramer()
        var lines: [[UInt8]] = []
        for start in stride(from: 0, to: stream.count, by: size) {
            lines += try framer.receive(stream[start..<min(start + size, stream.count)])
        }
        #expect(lines == [Array("{}".utf8), [], Array("abc".utf8)])
        #expect(framer.pendingOctets == 4)
    }

    @Test("a line of the greatest length is taken, one octet more is not")
    func bound() throws {
        let longest = [UInt8](repeating: 0x20, count: LineFramer.maximumLineOctets)
        var framer = LineFramer()
        #expect(try framer.receive(longest + [0x0A]) == [longest])
        #expect(throws: LineFramer.LineTooLong.self) { try framer.receive(longest + [0x20]) }
    }
}
