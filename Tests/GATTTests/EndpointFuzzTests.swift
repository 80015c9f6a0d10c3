import ATT
import BluetoothCore
import TestSupport
import Testing

@testable import GATT

/// Whatever octets arrive, in whatever state: nothing traps, nothing sent is longer than the MTU, every request gets at
/// most one answer, every operation exactly one end, and nobody unproven is remembered.
@Suite("random octets")
struct EndpointFuzzTests {
    private static let opcodes: [UInt8] =
        Array(0x01...0x25) + [0x52, 0xD2, 0x7F, 0xFF]

    private static func pdu(_ generator: inout SeededGenerator, mtu: Int) -> [UInt8] {
        let opcode = opcodes.randomElement(using: &generator) ?? 0
        var bytes: [UInt8] = [opcode]
        for _ in 0..<Int.random(in: 0...4, using: &generator) {
            // Handles, mostly: those of the tree and those at the ends.
            let handle =
                [UInt16.random(in: 0...0x1E, using: &generator), 0xFFFF, 0x2800, 0x2803, 0x2B2A, 0xAA01]
                .randomElement(using: &generator) ?? 0
            bytes += [UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)]
        }
        let tail = Bool.random(using: &generator) ? 0 : Int.random(in: 0...(mtu + 2), using: &generator)
        bytes += (0..<tail).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        return bytes
    }

    private static let operations: [GATTClientOperation] = [
        .discoverDatabase, .discoverPrimaryServices, .exchangeMTU, .read(.first), .read(.first, offset: 3),
        .writeLong(.first, offset: 0, Array(0..<100)), .write(.first, [1]), .discoverDescriptors(ATTHandleRange()),
        .discoverCharacteristics(ATTHandleRange(), uuid: nil), .findIncludedServices(ATTHandleRange()),
        .readMultipleVariable([.first, .last]), .writeWithoutResponse(.first, [1]),
    ]

    @Test("seeded fuzz of a whole endpoint", arguments: 0..<30)
    func fuzz(_ round: Int) throws {
        var generator = SeededGenerator(seed: SeededGenerator.runSeed &+ UInt64(round))
        let seed = Comment(rawValue: "LATCH_TEST_SEED=\(generator.seed)")
        var bench = try Tree.bench()
        _ = bench.identify(bond: 5, proven: false)
        var asked = 0
        var ended: Set<UInt64> = []
        for _ in 0..<1500 {
            let mtu = bench.endpoint.mtu
            var outputs: [GATTOutput] = []
            switch UInt8.random(in: 0...9, using: &generator) {
            case 0:
                asked += 1
                let operation = Self.operations.randomElement(using: &generator) ?? .exchangeMTU
                outputs = bench.perform(operation, token: UInt64(asked))
            case 1: outputs = bench.notify(Tree.open, Array(0..<40)).1
            default: outputs = bench.receive(Self.pdu(&generator, mtu: mtu))
            }
            for output in outputs {
                switch output {
                // What waited may leave with the MTU that has just been agreed.
                case .send(let pdu): #expect(pdu.count <= max(mtu, bench.endpoint.mtu), seed)
                case .persist: Issue.record("\(seed): an unproven client was remembered")
                case .clientCompleted(let token, _): #expect(ended.insert(token).inserted, seed)
                case .serverRead(let id, _, _):
                    #expect(bench.respond(toRead: id, .success(Array(repeating: 1, count: 600))).count == 1, seed)
                case .serverWrite(let id, _): #expect(bench.respond(toWrite: id).count == 1, seed)
                case .bearerFailed:
                    let fresh = try Tree.bench()
                    bench = Bench(server: bench.server, endpoint: fresh.endpoint)
                case .serverWriteCommand, .signedWrite, .subscriptionChanged, .indicationEnded, .sign, .notification,
                    .indication:
                    break
                }
            }
        }
        var last: [GATTOutput] = []
        bench.endpoint.disconnected(outputs: &last)
        for case .clientCompleted(let token, _) in last { #expect(ended.insert(token).inserted, seed) }
        #expect(ended.count == asked, seed)
        #expect(bench.server.records == [:], seed)
    }
}
