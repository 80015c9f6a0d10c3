import BluetoothCore
import LockPeripheral
import LockProtocol
import TestSupport
import Testing

/// The values of Alarm in docs/PROTOCOL.md, as a lock comes to them one after the other.
@Suite("docs/PROTOCOL.md, alarms")
struct AlarmVectorTests {
    @Test("Each value is the one that is written down, and says what it says")
    func values() throws {
        let (ana, bo): (UInt64, UInt64) = (0x0102_0304_0506_0708, 0x1112_1314_1516_1718)
        let vectors = try DocumentVectors("alarms")
        var bench = LockBench([Credential(ana, "Ana", .owner), Credential(bo, "Bo", .lockOnly)])
        bench.hearAlarms(ana)
        var told: [UInt8]?
        func require(_ name: String) throws {
            let octets = try #require(vectors[name].flatMap { HexText.decode($0) })
            let value = bench.machine.alarms.value
            #expect(value.encoded == octets, "\(name)")
            #expect(try AlarmValue(exactly: octets) == value)
            if let heard = try bench.outputs.alarms(to: ana).last { told = heard.encoded }
            #expect(told == (name == "nothing" ? nil : octets), "\(name)")
        }
        try require("nothing")
        bench.report(.door(.open))
        try require("door")
        bench.put(.challengeRead(LockLink(rawValue: bo)))
        for _ in 0..<6 { bench.encrypted(bo, unlock(try bench.challenge(bo))) }
        try require("refused")
        bench.report(.door(.closed))
        bench.put(.challengeRead(LockLink(rawValue: ana)))
        bench.encrypted(ana, unlock(try bench.challenge(ana)))
        bench.report(.ended(try #require(bench.orders.first).intent, .jammed))
        try require("jam")
        bench.put(.alarm(.tamper(.row)))
        try require("row")
        for _ in 0..<5 { bench.put(.alarm(.tamper(.row))) }
        try require("more")
        #expect(vectors.names.count == 6)
    }

    @Test("Every strict prefix of a value, and a longer one, is refused")
    func lengths() throws {
        let octets = try #require(try DocumentVectors("alarms")["jam"].flatMap { HexText.decode($0) })
        #expect(octets.count == AlarmValue.octets)
        for count in octets.indices {
            #expect(throws: DecodingError.self) { try AlarmValue(exactly: Array(octets.prefix(count))) }
        }
        #expect(throws: DecodingError.self) { try AlarmValue(exactly: octets + [0]) }
    }
}
