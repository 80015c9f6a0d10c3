import BluetoothCrypto
import Foundation
import LockProtocol
import Testing

/// What is left of a secret where somebody else may look later.
@Suite("Traces of secrets", .serialized)
struct SecretTracesTests {
    /// Every octet of every file in a bench's directory but sockets, of backups too.
    private static func files(_ bench: Bench) throws -> Data {
        let files = FileManager.default
        return try files.subpathsOfDirectory(atPath: bench.directory.path).reduce(into: Data()) { all, name in
            let path = bench.directory.path + "/" + name
            let type = try files.attributesOfItem(atPath: path)[.type] as? FileAttributeType
            if type == .typeRegular { all += try Data(contentsOf: URL(fileURLWithPath: path)) }
        }
    }

    @Test("Setup code: whoever reads state, journals and logs afterwards, or meanwhile, does not find it")
    func setupCode() throws {
        let bench = try Bench()
        func start(_ role: String, _ state: String) throws -> Daemon {
            let daemon = try Daemon(
                bench.arguments(role, state, logLevel: "debug") + ["--journal", bench.path(state + ".journal")])
            #expect(try waits { try bench.latch(role, "status", state).output.contains("radio: on") })
            return daemon
        }
        let lock = try start("peripheral", "lock")
        let key = try start("central", "key")
        let window = try Window(["--state", bench.path("lock"), "--credential", "anna", "--role", "owner"])
        let text = try window.code()
        let code = try SetupCode(parsing: text)
        let random = code.random.withBytes { Array($0) }
        let traces =
            [Data(text.utf8), Data(text.replacing("-", with: "").utf8), Data(random), Data(random.reversed())]
            + [random, random.reversed()].flatMap { octets in
                let digits = octets.map { String(format: "%02X", $0) }.joined()
                return [Data(digits.utf8), Data(digits.lowercased().utf8)]
            }
        func expectNone(in octets: Data, _ place: String) {
            for (number, trace) in traces.enumerated() {
                #expect(octets.range(of: trace) == nil, "\(place): form \(number)")
            }
        }
        expectNone(in: try Self.files(bench), "files while the window is open")
        let enrolled = try bench.latch("central", "enroll", "key", ["-"], input: text)
        #expect(enrolled.status == 0, "\(enrolled)")
        expectNone(in: Data((enrolled.output + enrolled.errors).utf8), "the key's operator")
        #expect(window.end() == 0)
        try bench.succeed("state", "backup", "lock", ["--to", bench.path("backup")])
        #expect(lock.end() == 0 && key.end() == 0)
        let files = try Self.files(bench)
        expectNone(in: files, "files")
        let logs = Data((lock.complaint + key.complaint).utf8)
        expectNone(in: logs, "logs")
        // The search reads what is there.
        for name in ["anna", "window_opened"] { #expect(files.range(of: Data(name.utf8)) != nil, "\(name)") }
        #expect(logs.range(of: Data("encrypted".utf8)) != nil)
    }
}
