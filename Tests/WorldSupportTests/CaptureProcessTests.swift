import Drills
import Foundation
import Simulation
import TestSupport
import Testing

@testable import WorldSupport

/// The tests of `CaptureExampleTests` in a process of their own, as an engineer runs them.
@Suite("Captures of a run of the tests") struct CaptureProcessTests {
    private let directory = ScratchDirectory()

    /// The status, and all that was said.
    private func run(capture path: String?, plants: Bool) throws -> (status: Int32, output: String) {
        var environment = ProcessInfo.processInfo.environment
        environment["NO_COLOR"] = "1"
        environment["LATCH_TEST_CAPTURE"] = path
        environment[CaptureExampleTests.variable] = plants ? "1" : nil
        let bundle = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let outcome = try ChildProcess.run(
            [bundle, "--testing-library", "swift-testing", "--filter", "CaptureExampleTests"], environment: environment)
        return (outcome.end.code, outcome.output + outcome.errors)
    }

    @Test("Each test that fails leaves its capture and says where, and no other test leaves one")
    func failing() throws {
        let (status, output) = try run(capture: directory.path, plants: true)
        #expect(status != 0 && output.contains("with 6 issues (including 1 known issue)"), "\(output)")
        let stems = ["error", "expectation", "one-case-of-three", "requirement", "unmarked"].map {
            "CaptureExampleTests." + $0
        }
        #expect(directory.files == stems.map { $0 + ".lock.btsnoop" })
        for stem in stems {
            #expect(output.contains("\(directory.path)/\(stem).*.btsnoop"), "\(output)")
            var reader = BTSnoopReader()
            let packets = try reader.read(try octets(of: "\(directory.path)/\(stem).lock.btsnoop"))
            // HCI_Reset, and its Command Complete.
            #expect(packets.first?.octets == [0x01, 0x03, 0x0C, 0])
            #expect(packets.count > 10 && packets.contains { !$0.isFromHost && $0.octets.starts(with: [0x04, 0x0E]) })
        }
    }

    @Test("A test that makes an air in a suite without the trait fails, and says what is missing")
    func unmarked() throws {
        let (_, output) = try run(capture: nil, plants: true)
        #expect(output.contains("lacks the trait `.capturesFailures`"), "\(output)")
    }

    @Test("A run without a failure leaves nothing")
    func passing() throws {
        let (status, output) = try run(capture: directory.path, plants: false)
        #expect(status == 0, "\(output)")
        #expect(directory.files == [])
    }

    @Test("A run that asks for no captures says nothing of them")
    func unasked() throws {
        let (status, output) = try run(capture: nil, plants: true)
        #expect(status != 0 && !output.contains("btsnoop"), "\(output)")
    }

    @Test("A directory that cannot be written to fails each test, with the reason")
    func refused() throws {
        let path = directory.path + "/no/where"
        let (status, output) = try run(capture: path, plants: false)
        let reason = "LATCH_TEST_CAPTURE: no capture can be written to \(path): No such file or directory"
        #expect(status != 0 && output.contains(reason), "\(output)")
        #expect(directory.files == [])
    }
}
