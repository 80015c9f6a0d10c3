import Foundation
import Testing

@testable import VirtualRadio

/// From LATCH_TEST_SEED, or anew.
private let seed =
    ProcessInfo.processInfo.environment["LATCH_TEST_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0 ... .max)

@Suite("random hosts")
struct RandomTests {
    /// Three hosts do anything, well-formed or not, under faults.
    private func play(_ pacing: AirConfiguration.Pacing, seed: UInt64, steps: Int) -> [String] {
        var random = RandomSource(seed: seed)
        var world = World(pacing, seed: seed)
        var hosts = (1...3).map { world.host(0xC000_0000_0000 + UInt64($0)) }
        var transcript: [String] = []
        func below(_ bound: UInt64) -> UInt64 { random.next() % bound }
        func noise(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(below(4)) } }
        for _ in 0..<steps {
            let index = Int(below(UInt64(hosts.count)))
            let host = hosts[index]
            let peer = 0xC000_0000_0001 + below(3)
            switch below(16) {
            case 0, 1:
                let command = CommandDescription.all[Int(below(UInt64(CommandDescription.all.count)))]
                transcript += world.command(command.opcode, noise(command.length.minimum), host)
                // Else nothing more would be seen of this one.
                let all = [UInt8](repeating: 0xFF, count: 8)
                transcript += world.command(0x0C01, all, host)
                transcript += world.command(0x2001, all, host)
                transcript += world.command(0x2005, little(0xC000_0000_0001 + UInt64(index), 6), host)
            case 2: world.radio.send(noise(Int(below(12))), from: host)
            case 3:
                transcript += world.command(0x2006, advertisingParameters(), host)
                transcript += world.command(0x200A, [1], host)
            case 4:
                let set = ExtendedAdvertising(handle: UInt8(below(3)), properties: below(2) == 0 ? 0x13 : 0x01)
                transcript += world.command(0x2036, set.octets, host)
                transcript += world.command(0x2035, [set.handle] + little(0xC000_0000_0001 + UInt64(index), 6), host)
                transcript += world.command(0x2039, extendedEnable(true, [(set.handle, 0, 0)]), host)
            case 5:
                transcript += world.command(0x200D, createConnection(peer), host)
                transcript += world.command(0x2043, extendedCreateConnection(peer), host)
            case 6: transcript += world.command(0x2019, [UInt8(below(3)), 0] + noise(10) + little(below(2), 16), host)
            case 7: transcript += world.command(0x201A, [UInt8(below(3)), 0] + little(below(2), 16), host)
            case 8, 9, 10:
                let packet = data(UInt16(below(4)), flags: UInt16(below(2)), noise(Int(below(30))))
                world.send(packet, host)
            case 11: world.radio.setLoss(host, hosts[Int(below(3))], percent: Double(below(120)))
            case 12: world.radio.setDistance(host, hosts[Int(below(3))], metres: Double(below(80)))
            case 13: world.radio.power(host, on: below(4) != 0)
            case 14 where below(4) == 0:
                world.radio.unplug(host)
                hosts[index] = world.host(0xC000_0000_0001 + UInt64(index))
            default: transcript += world.command(0x0406, [UInt8(below(3)), 0, 0x13], host)
            }
            world.advance(milliseconds: below(60))
            for host in hosts { transcript += world.radio.drainTimed(host).map { "\($0.instant) " + hex($0.octets) } }
        }
        return transcript
    }

    @Test(arguments: [AirConfiguration.Pacing.paced, .immediate])
    func `nothing that hosts send stops the air, and a seed replays it octet for octet`(
        pacing: AirConfiguration.Pacing
    ) {
        for round in 0..<8 as Range<UInt64> {
            let seed = seed &+ round
            let first = play(pacing, seed: seed, steps: 600)
            #expect(first == play(pacing, seed: seed, steps: 600), "LATCH_TEST_SEED=\(seed)")
            let isConnection = { (line: String) in line.contains("043E130100") || line.contains("043E1F0A00") }
            #expect(first.contains(where: isConnection), "no connection: LATCH_TEST_SEED=\(seed)")
        }
    }

    @Test func `another seed is another air`() {
        #expect(play(.paced, seed: 1, steps: 100) != play(.paced, seed: 2, steps: 100))
    }
}
