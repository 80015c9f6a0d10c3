import Simulation
import Testing
import WorldSupport

@testable import VirtualRadio

private let lock: UInt64 = 0xC000_0000_0001
private let key: UInt64 = 0xC000_0000_0002
private let random = "0102030405060708"
private let right = "00112233445566778899AABBCCDDEEFF"
private let wrong = "00112233445566778899AABBCCDDEEFE"

@Suite("Core 5.4, Vol 6, Part B, 5.1.3 (Encryption procedures)", .capturesFailures)
struct EncryptionTests {
    private var world: OctetWorld
    private let a: ControllerID
    private let b: ControllerID

    private static let request = packed("043E 0D 05 0100 \(random) 3412")

    init() {
        world = OctetWorld()
        a = world.host(lock)
        b = world.host(key)
        _ = world.connect(b, a, to: lock)
    }

    private mutating func enable(_ ltk: String = right) -> [String] {
        world.command(Opcode.leEnableEncryption, octets("0100 \(random) 3412 \(ltk)"), b)
    }

    private mutating func reply(_ ltk: String = right) -> [String] {
        world.command(Opcode.leLongTermKeyRequestReply, octets("0100 \(ltk)"), a)
    }

    private mutating func encrypt() {
        #expect(enable() == [status(Opcode.leEnableEncryption)])
        world.advance(milliseconds: 10)
        #expect(world.read(a) == [Self.request])
        #expect(reply() == [complete(Opcode.leLongTermKeyRequestReply, 0, "0100")])
        world.advance(milliseconds: 30)
    }

    @Test mutating func `the same key on both sides: both hosts see Encryption Change`() {
        encrypt()
        #expect(world.read(a) == [encryptionChange(1)])
        #expect(world.read(b) == [encryptionChange(1)])
    }

    @Test mutating func `different keys: the peripheral leaves with a MIC failure, the central hears nothing more`() {
        _ = enable()
        world.advance(milliseconds: 10)
        _ = world.read(a)
        _ = reply(wrong)
        world.advance(milliseconds: 30)
        #expect(world.read(a) == [disconnected(1, 0x3D)])
        #expect(world.read(b) == [])
        world.advance(milliseconds: 1001)
        #expect(world.read(b) == [disconnected(1, 0x08)])
    }

    @Test mutating func `no key: the central is told PIN or Key Missing, the link lives on unencrypted`() {
        _ = enable()
        world.advance(milliseconds: 10)
        _ = world.read(a)
        #expect(
            world.command(Opcode.leLongTermKeyRequestNegativeReply, octets("0100"), a)
                == [complete(Opcode.leLongTermKeyRequestNegativeReply, 0, "0100")])
        world.advance(milliseconds: 10)
        #expect(world.read(b) == [encryptionChange(1, status: 0x06, on: false)])
        #expect(world.read(a) == [])
        world.send(data(1, flags: 0, [5]), a)
        world.advance(milliseconds: 10)
        #expect(world.read(b) == [data(1, flags: 2, [5])])
        #expect(world.read(a) == [completed(1, 1)])
        encrypt()
        #expect(world.read(b) == [encryptionChange(1)])
    }

    @Test mutating func `a host that masks the key request has no key`() {
        world.succeed(Opcode.leSetEventMask, little(0xF, 8), a)
        _ = enable()
        world.advance(milliseconds: 30)
        #expect(world.read(a) == [])
        #expect(world.read(b) == [encryptionChange(1, status: 0x06, on: false)])
    }

    @Test mutating func `a refusal is not held up by data that waits for the key`() {
        world.succeed(Opcode.leSetEventMask, little(0xF, 8), a)
        for value in 0..<20 { world.send(data(1, flags: 0, [UInt8](repeating: UInt8(value), count: 27)), a) }
        _ = enable()
        world.advance(milliseconds: 60)
        let events = world.read(b)
        #expect(events.contains(encryptionChange(1, status: 0x06, on: false)))
        #expect(events.count { $0.hasPrefix("02") } == 20)
    }

    @Test mutating func `data asked for before goes before, data asked for meanwhile waits for the key`() {
        world.send(data(1, flags: 0, [1]), b)
        world.send(data(1, flags: 0, [101]), a)
        _ = enable()
        world.send(data(1, flags: 0, [2]), b)
        world.advance(milliseconds: 10)
        #expect(world.read(a) == [data(1, flags: 2, [1]), Self.request, completed(1, 1)])
        #expect(world.read(b) == [data(1, flags: 2, [101]), completed(1, 1)])
        world.send(data(1, flags: 0, [102]), a)
        world.advance(milliseconds: 100)
        #expect(world.read(a) == [])
        #expect(world.read(b) == [])
        _ = reply()
        world.advance(milliseconds: 30)
        #expect(world.read(a) == [encryptionChange(1), data(1, flags: 2, [2]), completed(1, 1)])
        #expect(world.read(b) == [encryptionChange(1), data(1, flags: 2, [102]), completed(1, 1)])
    }

    @Test mutating func `a second key refreshes: Encryption Key Refresh Complete, no Encryption Change`() {
        encrypt()
        _ = (world.read(a), world.read(b))
        encrypt()
        #expect(world.read(a) == ["0430030001" + "00"])
        #expect(world.read(b) == ["0430030001" + "00"])
    }

    @Test mutating func `5.1.3.2: a refresh without a key ends the link with PIN or Key Missing`() {
        encrypt()
        _ = (world.read(a), world.read(b))
        _ = enable()
        world.advance(milliseconds: 10)
        _ = world.read(a)
        _ = world.command(Opcode.leLongTermKeyRequestNegativeReply, octets("0100"), a)
        world.advance(milliseconds: 10)
        #expect(world.read(a) == [disconnected(1, 0x06)])
        #expect(world.read(b) == [disconnected(1, 0x06)])
    }

    @Test("5.2 (Procedure response timeout): a host that never answers costs the link after 40 s")
    mutating func responseTimeout() {
        _ = enable()
        world.advance(milliseconds: 39_990)
        #expect(world.read(a) == [Self.request])
        world.advance(milliseconds: 20)
        #expect(world.read(a) == [disconnected(1, 0x22)])
        #expect(world.read(b) == [disconnected(1, 0x22)])
    }

    @Test mutating func `immediate: the whole procedure takes no time`() {
        world = OctetWorld(.immediate)
        _ = (world.host(lock), world.host(key))
        _ = world.connect(b, a, to: lock)
        let start = world.radio.now
        _ = enable()
        #expect(world.read(a) == [Self.request])
        #expect(reply() == [complete(Opcode.leLongTermKeyRequestReply, 0, "0100"), encryptionChange(1)])
        #expect(world.read(b) == [encryptionChange(1)])
        #expect(world.radio.now == start)
    }

    /// What each command is answered in each phase; nil: not asked there.
    @Test("phase x command", arguments: ["off", "requested", "keyRequested", "starting", "on"])
    mutating func phases(phase: String) {
        switch phase {
        case "requested": _ = enable()
        case "keyRequested", "starting":
            _ = enable()
            world.advance(milliseconds: 10)
            if phase == "starting" { _ = reply() }
        case "on": encrypt()
        default: break
        }
        _ = (world.read(a), world.read(b))
        let isAsked = phase == "keyRequested"
        // The wrong roles first: they change nothing.
        #expect(
            world.command(Opcode.leEnableEncryption, octets("0100 \(random) 3412 \(right)"), a)
                == [status(Opcode.leEnableEncryption, 0x0C)])
        #expect(
            world.command(Opcode.leLongTermKeyRequestReply, octets("0100 \(right)"), b)
                == [complete(Opcode.leLongTermKeyRequestReply, 0x0C, "0100")])
        #expect(
            world.command(Opcode.leLongTermKeyRequestNegativeReply, octets("0100"), b)
                == [complete(Opcode.leLongTermKeyRequestNegativeReply, 0x0C, "0100")])
        if !isAsked {
            #expect(
                world.command(Opcode.leLongTermKeyRequestNegativeReply, octets("0100"), a)
                    == [complete(Opcode.leLongTermKeyRequestNegativeReply, 0x0C, "0100")])
        }
        #expect(reply() == [complete(Opcode.leLongTermKeyRequestReply, isAsked ? 0 : 0x0C, "0100")])
        let mayStart = phase == "off" || phase == "on"
        #expect(enable() == [status(Opcode.leEnableEncryption, mayStart ? 0 : 0x0C)])
    }
}
