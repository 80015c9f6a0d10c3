import Simulation
import Testing
import WorldSupport

@testable import VirtualRadio

private let hub: UInt64 = 0xC000_0000_0100

@Suite("how much there is room for", .capturesFailures)
struct CapacityTests {
    @Test("one controller with 32 links in both roles, of 64 controllers on the air", arguments: [16, 32])
    func manyLinks(centralOf count: Int) {
        var world = OctetWorld(.immediate)
        let center = world.host(hub)
        let others = (1...63).map { world.host(0xC000_0000_0000 + UInt64($0)) }
        for (index, other) in others.prefix(32).enumerated() {
            if index < count {
                _ = world.connect(center, other, to: 0xC000_0000_0001 + UInt64(index), timeout: 3200)
            } else {
                _ = world.connect(other, center, to: hub, timeout: 3200)
            }
        }
        for handle in 1...32 as ClosedRange<UInt16> {
            world.send(data(handle, flags: 0, [UInt8(handle)]), center)
        }
        #expect(world.read(center) == (1...32).map { completed($0, 1) })
        for (index, other) in others.prefix(32).enumerated() {
            #expect(world.read(other) == [data(1, flags: 2, [UInt8(index + 1)])])
        }
    }

    @Test("4.4 (Command flow control): as many credits as configured", arguments: [UInt8(1), 4, 255])
    func commandCredits(count: UInt8) {
        var world = OctetWorld()
        let a = world.addController(ControllerConfiguration(commandCredits: count))
        #expect(world.command(Opcode.reset, a) == [packed("040E 04") + hex([count]) + "030C00"])
        #expect(world.command(0x0406, octets("0100 13"), a) == [packed("040F 04 02") + hex([count]) + "0604"])
    }

    @Test func `the accept list has the size that is configured`() {
        var world = OctetWorld()
        let a = world.host(hub, ControllerConfiguration(acceptListSize: 200))
        #expect(world.command(0x200F, a) == [complete(0x200F, 0, "C8")])
        for value in 1...200 as ClosedRange<UInt64> { world.succeed(0x2011, [1] + little(value, 6), a) }
        #expect(world.command(0x2011, [1] + little(201, 6), a) == [complete(0x2011, 0x07)])
    }

    @Test func `faults that are asked for: Hardware Error, and octets that are no packet`() {
        var world = OctetWorld()
        let a = world.host(hub)
        world.radio.failHardware(a, code: 0x42)
        world.radio.injectOctets([0xDE, 0xAD], to: a)
        #expect(world.read(a) == ["04100142", "DEAD"])
    }
}
