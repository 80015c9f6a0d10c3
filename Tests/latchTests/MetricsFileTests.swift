import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import Foundation
import Glibc
import Testing

@testable import latch

/// A file whose text the test says, on a host whose time it moves.
@Suite("The file of metrics")
struct MetricsFileTests {
    private struct NoRandom: RandomSource {
        mutating func appendOctets(_ count: Int, to octets: inout [UInt8]) {
            octets += [UInt8](repeating: 0xC5, count: count)
        }
    }

    private final class Rig {
        private let directory: TemporaryDirectory
        let host: BluetoothHost.Host
        private var now = Instant(nanoseconds: 1_000_000_000)
        private var made: MetricsFile?
        var text = "x 1\n"
        private(set) var failures: [String] = []

        init() throws {
            directory = try TemporaryDirectory()
            let store = MemoryHostStore()
            host = BluetoothHost.Host(
                configuration: HostConfiguration(deviceName: "lock"), boot: BootID(bits: 1), snapshot: store.load(),
                store: store, random: NoRandom(), makeKeyPair: P256KeyPair.generate)
            made = MetricsFile(
                MetricsFile.Place(path: path("x.prom"), intervalSeconds: 15), host: host,
                render: { [unowned self] in text }, failed: { [unowned self] in failures.append($0) })
        }

        func path(_ name: String) -> String { directory.path + "/" + name }
        var files: [String] { (try? FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()) ?? [] }

        func contents(_ name: String = "x.prom") -> String? { try? String(contentsOfFile: path(name), encoding: .utf8) }
        func write(_ text: String) throws { _ = try directory.write(text, to: "x.prom") }

        /// Something has changed so many seconds later.
        func touch(after seconds: UInt64 = 0) {
            pass(seconds)
            made?.touch()
            pass(0)
        }

        func pass(_ seconds: UInt64) {
            now = now.advanced(byMilliseconds: seconds * 1_000)
            host.beginIteration(now: now)
            if let due = host.deadline, due <= now { host.timerFired() }
        }

        func move(to name: String?) {
            host.beginIteration(now: now)
            made?.move(to: name.map { MetricsFile.Place(path: path($0), intervalSeconds: 15) })
            pass(0)
        }
    }

    @Test("It is written at once, and then once in its interval, with what is so by then")
    func interval() throws {
        let rig = try Rig()
        rig.touch()
        #expect(rig.contents() == "x 1\n" && rig.files == ["x.prom"])
        for seconds in [1, 13] as [UInt64] {
            rig.text = "x \(seconds + 1)\n"
            rig.touch(after: seconds)
            #expect(rig.contents() == "x 1\n")
        }
        rig.text = "x 15\n"
        rig.pass(1)
        #expect(rig.contents() == "x 15\n")
        rig.text = "x 40\n"
        rig.touch(after: 25)
        #expect(rig.contents() == "x 40\n" && rig.failures.isEmpty)
    }

    @Test("A text that is what it was leaves the file alone, and one that is another replaces it")
    func unchanged() throws {
        let rig = try Rig()
        rig.touch()
        // Nobody but the test writes it: what stands there now shows whether it has been written since.
        try rig.write("mine")
        rig.touch(after: 20)
        rig.pass(20)
        #expect(rig.contents() == "mine")
        rig.text = "x 2\n"
        rig.touch()
        #expect(rig.contents() == "x 2\n")
    }

    @Test("A file that was not written is tried again with the next change, though its text is what it was; said once")
    func failing() throws {
        let rig = try Rig()
        mkdir(rig.path("x.prom.new"), 0o700)
        rig.touch()
        rig.touch(after: 20)
        #expect(rig.contents() == nil && rig.failures == ["File exists"])
        rmdir(rig.path("x.prom.new"))
        rig.touch(after: 20)
        #expect(rig.contents() == "x 1\n" && rig.failures.count == 1)
    }

    @Test("Another file is written at once, and the former goes; without one nothing is written")
    func moved() throws {
        let rig = try Rig()
        rig.touch()
        rig.move(to: "y.prom")
        #expect(rig.files == ["y.prom"] && rig.contents("y.prom") == "x 1\n")
        rig.move(to: nil)
        rig.text = "x 2\n"
        rig.touch(after: 20)
        #expect(rig.files.isEmpty)
    }
}
