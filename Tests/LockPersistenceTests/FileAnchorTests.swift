import CLinux
import Glibc
import StatePersistence
import TestSupport
import Testing

@testable import LockPersistence

@Suite("The anchor's file")
struct FileAnchorTests {
    let scratch = Scratch()

    private var path: String { scratch.directory + "/anchors/lock.anchor" }

    private func make() throws -> FileAnchor {
        mkdir(scratch.directory + "/anchors", 0o700)
        return FileAnchor(path: path, keys: try scratch.openState().keys)
    }

    private func octets() -> [UInt8] {
        let file = latch_open(path, O_RDONLY | O_CLOEXEC, 0)
        defer { close(file) }
        var octets = [UInt8](repeating: 0, count: 1_000)
        let count = read(file, &octets, octets.count)
        return Array(octets.prefix(max(0, count)))
    }

    private func put(_ octets: [UInt8]) {
        let file = latch_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        defer { close(file) }
        #expect(write(file, octets, octets.count) == octets.count)
    }

    private static let state = StateName(generation: .max, digest: [UInt8](0..<16))

    @Test("gives back what it was given, for its owner only")
    func roundTrip() throws {
        let anchor = try make()
        #expect(try anchor.read() == .nothing)
        for record in [
            AnchorRecord(current: nil), AnchorRecord(current: nil, next: Self.state), AnchorRecord(current: Self.state),
            AnchorRecord(
                current: StateName(generation: 0, digest: [UInt8](repeating: 255, count: 16)), next: Self.state),
        ] {
            try anchor.write(record)
            #expect(try anchor.read() == .record(record))
            #expect(octets().count < FileAnchor.octetsMaximum)
        }
        chmod(path, 0o644)
        #expect(throws: StoreError.tooOpen(path: path, mode: 0o644, allowed: 0o600)) { try anchor.read() }
    }

    @Test("Every cut and every flipped octet is damage, and so is another machine's")
    func damage() throws {
        let anchor = try make()
        try anchor.write(AnchorRecord(current: Self.state))
        let sound = octets()
        for count in sound.indices {
            put(Array(sound[..<count]))
            #expect(try anchor.read() == .damaged)
            var flipped = sound
            flipped[count] ^= 1
            put(flipped)
            #expect(try anchor.read() == .damaged)
        }
        for more in [1, FileAnchor.octetsMaximum + 1 - sound.count] {
            put(sound + [UInt8](repeating: 10, count: more))
            #expect(try anchor.read() == .damaged)
        }
        put(sound + [10])
        #expect(try anchor.read() == .damaged)
        put(sound)
        #expect(try anchor.read() == .record(AnchorRecord(current: Self.state)))
        let other = Scratch()
        #expect(try FileAnchor(path: path, keys: other.openState().keys).read() == .damaged)
    }

    @Test("What cannot be used is named, with the key that names another")
    func unusable() throws {
        let anchor = FileAnchor(path: scratch.directory + "/none/lock.anchor", keys: try scratch.openState().keys)
        #expect(try anchor.read() == .nothing)
        do {
            try anchor.write(AnchorRecord(current: Self.state))
            Issue.record("written where there is no directory")
        } catch {
            #expect("\(error)".contains(scratch.directory + "/none/lock.anchor"))
            #expect("\(error)".contains("`anchor`"))
        }
    }
}
