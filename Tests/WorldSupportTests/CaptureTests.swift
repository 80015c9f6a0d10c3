import Drills
import Glibc
import Simulation
import TestSupport
import Testing
import VirtualRadio

@testable import WorldSupport

/// What a test leaves behind when it fails, in a directory of its own.
@Suite("Captures of failing tests") struct CaptureTests {
    private let directory = ScratchDirectory()

    private func scope(_ test: String) throws -> CaptureScope {
        CaptureScope(try CaptureDirectory(path: directory.path), test: test)
    }

    private func packets(_ name: String) throws -> [CapturePacket] {
        var reader = BTSnoopReader()
        return try reader.read(try octets(of: directory.path + "/" + name))
    }

    /// Two hosts find each other on the air.
    private func meet() -> World {
        let world = World()
        for (name, seed) in [("lock", 1), ("key", 2)] as [(String, UInt64)] {
            world.add(name, seed: seed).launch { _ in }
        }
        world.run(forMilliseconds: 100)
        return world
    }

    @Test("Each host's packets are in its file, both ways, as they passed and when")
    func complete() throws {
        let scope = try scope("Suite.complete")
        try CaptureScope.$current.withValue(scope) {
            let world = meet()
            try #require(scope.noteIssue() == directory.path + "/Suite.complete.*.btsnoop")
            try scope.finish()
            #expect(directory.files == ["Suite.complete.key.btsnoop", "Suite.complete.lock.btsnoop"])
            for node in world.nodes {
                let captured = try packets("Suite.complete.\(node.name).btsnoop")
                #expect(captured.filter(\.isFromHost).map(\.octets) == node.sent)
                // HCI_Reset, and its Command Complete.
                #expect(captured.first?.octets == [0x01, 0x03, 0x0C, 0])
                #expect(captured.dropFirst().first.map { Array($0.octets.prefix(2)) } == [0x04, 0x0E])
                #expect(captured.count { !$0.isFromHost } >= node.sent.count)
                let times = captured.map { $0.unixMicroseconds - HCIRecording.originUnixMicroseconds }
                #expect(times == times.sorted() && times.allSatisfy { $0 <= world.radio.now / 1_000 })
            }
        }
    }

    @Test("A test without an issue leaves nothing")
    func passing() throws {
        let scope = try scope("Suite.passing")
        try CaptureScope.$current.withValue(scope) {
            _ = meet()
            try scope.finish()
        }
        #expect(directory.files == [])
    }

    @Test("Nothing is kept where nobody asked for captures")
    func unasked() throws {
        let scope = CaptureScope(nil, test: "Suite.test")
        try CaptureScope.$current.withValue(scope) {
            _ = meet()
            #expect(scope.noteIssue() == nil && scope.noteError() == nil)
            try scope.finish()
        }
    }

    @Test("An issue falls to the worlds that there are, and to none that went before it")
    func worlds() throws {
        let scope = try scope("Suite.worlds")
        try CaptureScope.$current.withValue(scope) {
            _ = meet()
            let (second, third) = (meet(), meet())
            _ = scope.noteIssue()
            _ = meet()
            try scope.finish()
            withExtendedLifetime((second, third)) {}
        }
        #expect(
            directory.files == [
                "Suite.worlds.world-2.key.btsnoop", "Suite.worlds.world-2.lock.btsnoop",
                "Suite.worlds.world-3.key.btsnoop",
                "Suite.worlds.world-3.lock.btsnoop",
            ])
    }

    @Test("An error that ends a test falls to the last world, which has gone when it is seen")
    func error() throws {
        let scope = try scope("Suite.error")
        try CaptureScope.$current.withValue(scope) {
            _ = meet()
            _ = meet()
            _ = scope.noteError()
            try scope.finish()
        }
        #expect(directory.files == ["Suite.error.world-2.key.btsnoop", "Suite.error.world-2.lock.btsnoop"])
    }

    @Test("A second case of a test that fails has files of its own, and a run's files replace another's")
    func cases() throws {
        for runs in 1...2 {
            let scope = try scope("Suite.cases")
            try CaptureScope.$current.withValue(scope) {
                let world = World()
                _ = world.add("lock", seed: 1)
                world.nodes.first?.launch { _ in }
                _ = scope.noteIssue()
                // The second run's files take the place of the first one's.
                for _ in 1...runs { try scope.finish() }
            }
        }
        #expect(directory.files == ["Suite.cases.case-2.lock.btsnoop", "Suite.cases.lock.btsnoop"])
        #expect(try packets(directory.files[0]) == packets(directory.files[1]))
    }

    @Test("A stranger's controller is captured, and a host is captured as it is served by its wire")
    func wires() throws {
        let scope = try scope("Suite.wires")
        try CaptureScope.$current.withValue(scope) {
            let world = World()
            let node = world.add("lock", seed: 1)
            node.wire.withholds = { $0.starts(with: [0x04, 0x0E]) }
            node.launch { _ in }
            _ = RawController(world).drain()
            world.settle()
            node.inject([[0x04, 0x10, 1, 0x42]])
            _ = scope.noteIssue()
            try scope.finish()
            #expect(directory.files == ["Suite.wires.controller-2.btsnoop", "Suite.wires.lock.btsnoop"])
            let heard = try packets("Suite.wires.lock.btsnoop").filter { !$0.isFromHost }.map(\.octets)
            #expect(heard == [[0x04, 0x10, 1, 0x42]])
            #expect(try packets("Suite.wires.controller-2.btsnoop").count == 6)
        }
    }

    @Test("A directory that cannot be written to is refused, with its path and the reason")
    func refused() throws {
        let file = directory.path + "/file"
        close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600))
        for (path, number) in [(file, ENOTDIR), (file + "/in", ENOTDIR), (directory.path + "/no/where", ENOENT)] {
            let error = #expect(throws: CaptureError.self) { try CaptureDirectory(path: path) }
            #expect(error?.path == path && error?.errorNumber == number)
            #expect("\(try #require(error))".hasPrefix("LATCH_TEST_CAPTURE: no capture can be written to \(path): "))
        }
        #expect(directory.files == ["file"])
    }

    @Test(
        "A directory that is not there is made, and left without a trace of the question whether it can be written to")
    func made() throws {
        let path = directory.path + "/captures"
        _ = try CaptureDirectory(path: path)
        #expect(directory.files == ["captures"])
        #expect(rmdir(path) == 0)
    }

    @Test("Two hosts of one name have two files, and no name leaves the directory")
    func names() throws {
        let scope = try scope("A/../`b c`")
        try CaptureScope.$current.withValue(scope) {
            let air = SharedAir()
            for _ in 1...2 { air.plug("../lock").send([0x01, 0x03, 0x0C, 0]) }
            _ = scope.noteIssue()
            try scope.finish()
        }
        #expect(directory.files == ["A-..-b-c...-lock-2.btsnoop", "A-..-b-c...-lock.btsnoop"])
    }
}

/// A whole file.
func octets(of path: String) throws -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw CaptureError(path, errno) }
    defer { close(descriptor) }
    var octets: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
        let count = read(descriptor, &buffer, buffer.count)
        guard count > 0 else { return octets }
        octets += buffer[..<count]
    }
}
