import BluetoothCore
import BluetoothCrypto
import CommandInterface
import Foundation
import Glibc
import LockProtocol
import TestSupport
import Testing

@testable import latch

@Suite("Setup codes as QR codes")
struct QRCodeTests {
    /// Of a terminal's lines, without colours.
    private static func rows(ofLines lines: [Substring]) -> [[Bool]] {
        lines.flatMap { line -> [[Bool]] in
            [line.map { $0 == "▄" || $0 == " " }, line.map { $0 == "▀" || $0 == " " }]
        }
    }

    /// The last line of a terminal's has half a row below the code.
    private static func read(lines: [Substring]) throws -> String {
        let rows = rows(ofLines: lines)
        return try QRReader(framed: rows.count > rows[0].count ? Array(rows.prefix(rows[0].count)) : rows).text()
    }

    private static func read(svg: String) throws -> String {
        let side = try #require(svg.firstMatch(of: /viewBox="0 0 (\d+) (\d+)"/).flatMap { Int($0.1) })
        var rows = [[Bool]](repeating: [Bool](repeating: false, count: side), count: side)
        let path = try #require(svg.firstMatch(of: /<path d="([^"]*)" fill="#000"/)).1
        for run in path.matches(of: /M(\d+) (\d+)h(\d+)v1h-(\d+)z/) {
            let (column, row, length) = (try #require(Int(run.1)), try #require(Int(run.2)), try #require(Int(run.3)))
            #expect(run.3 == run.4)
            for dark in column..<column + length { rows[row][dark] = true }
        }
        return try QRReader(framed: rows).text()
    }

    private static func setupCode(_ generator: inout SeededGenerator) throws -> String {
        func octets(_ count: Int) -> [UInt8] {
            (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        }
        let bits = UInt64.random(in: 1..<1 << 46, using: &generator)
        let lock = try #require(IdentityAddress(DeviceAddress(kind: .public, bits: bits)))
        return try #require(SetupCode(lock: lock, confirm: octets(16), random: Secret(octets(16)))).text
    }

    @Test(
        "A reader that shares nothing with the drawer reads the setup code, from the modules, the terminal and the picture"
    )
    func readBack() throws {
        var generator = SeededGenerator(announcedBy: "QRCodeTests.readBack")
        for _ in 0..<20 {
            let text = try Self.setupCode(&generator)
            let code = try QRCode(drawing: text)
            // Alphanumeric: as octets it would need a wider one.
            #expect(code.width == 33)
            #expect(try QRReader(width: code.width, isDark: code.isDark).text() == text)
            #expect(try Self.read(lines: code.lines(inColour: false).map { $0[...] }) == text)
            #expect(try Self.read(svg: code.svg) == text)
            let coloured = code.lines(inColour: true)
            #expect(coloured.allSatisfy { $0.hasPrefix("\u{1B}[97;40m") && $0.hasSuffix("\u{1B}[0m") })
        }
    }

    @Test("The reader believes no code with one module of another colour")
    func oneModule() throws {
        let code = try QRCode(drawing: "LATCH1:0")
        for (column, row) in [(0, 0), (8, 0), (code.width - 1, code.width - 1), (12, 12)] {
            let reader = QRReader(width: code.width) { code.isDark($0, $1) != ($0 == column && $1 == row) }
            #expect(throws: QRReader.Problem.self, "\(column) \(row)") { try reader.text() }
        }
    }

    @Test("A text that fits no code is refused, and modules that make no square are none")
    func limits() throws {
        _ = try QRCode(drawing: String(repeating: "A", count: 3_391))
        let failure = #expect(throws: Failure.self) { try QRCode(drawing: String(repeating: "A", count: 3_392)) }
        #expect(failure?.message.hasPrefix("no QR code can be drawn") == true)
        #expect(QRCode(width: 2, modules: [true, false, true]) == nil)
        #expect(
            QRCode(width: 1, modules: [true])?.isDark(0, 0) == true
                && QRCode(width: 1, modules: [true])?.isDark(1, 0) == false)
    }

    // MARK: With a lock and an operator, each a process

    @Test(
        "enroll --qr draws the code that it prints, and --svg the same in a file for its owner alone, which goes with the window"
    )
    func enrolls() throws {
        let bench = try Bench()
        let lock = try bench.start("peripheral", "lock")
        let key = try bench.start("central", "key")
        let picture = bench.path("code.svg")
        let window = try Window(
            ["--state", bench.path("lock"), "--credential", "anna", "--qr", "--svg", picture])
        let code = try window.code()
        let drawn = window.heard.split(separator: "\n").filter { $0.allSatisfy { "█▀▄ ".contains($0) } }
        #expect(try Self.read(lines: drawn) == code)
        #expect(try Self.read(svg: String(contentsOfFile: picture, encoding: .utf8)) == code)
        var status = stat()
        #expect(stat(picture, &status) == 0 && status.st_mode & 0o7777 == 0o600)
        try bench.succeed("central", "enroll", "key", ["-"], input: code)
        #expect(window.end() == 0)
        #expect(!FileManager.default.fileExists(atPath: picture))
        #expect(lock.end() == 0 && key.end() == 0)
    }

    @Test("A picture is put in no file's place and where nobody else can write, or no window opens")
    func refusals() throws {
        let bench = try Bench()
        let lock = try bench.start("peripheral", "lock")
        func enroll(_ words: [String]) throws -> Program.Outcome {
            // A window that opens all the same closes by itself.
            try bench.latch("peripheral", "enroll", "lock", ["--credential", "anna", "--seconds", "10"] + words)
        }
        let there = try bench.directory.write("mine", to: "there.svg")
        try bench.makeRoom("open")
        chmod(bench.path("open"), 0o777)
        symlink(bench.path("nowhere"), bench.path("link.svg"))
        for (file, reason) in [
            (there, "it exists"), (bench.path("open/code.svg"), "other users can write"),
            (bench.path("link.svg"), "it exists"),
            (bench.path("none/code.svg"), "No such file"),
        ] {
            let refused = try enroll(["--svg", file])
            #expect(refused.status == ExitCode.refused.rawValue && refused.errorLines.count == 1, "\(refused)")
            #expect(refused.errors.contains(reason) && refused.errors.contains(file), "\(refused)")
        }
        #expect(try String(contentsOfFile: there, encoding: .utf8) == "mine")
        #expect(!FileManager.default.fileExists(atPath: bench.path("nowhere")))
        for words in [
            ["--qr", "--json"], ["--qr", "--method", "passkey"], ["--svg", bench.path("x"), "--method", "passkey"],
        ] {
            #expect(try enroll(words).status == ExitCode.usage.rawValue, "\(words)")
        }
        #expect(!FileManager.default.fileExists(atPath: bench.path("x")))
        #expect(try !bench.latch("peripheral", "status", "lock").output.contains("enrolling"))
        #expect(lock.end() == 0)
    }
}
