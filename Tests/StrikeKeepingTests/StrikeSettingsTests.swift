import CommandInterface
import DaemonControl
import Foundation
import GPIO
import Glibc
import StrikeControl
import Testing

@testable import StrikeKeeping

@Suite("The keeper of a strike: its configuration")
struct StrikeSettingsTests {
    private static let base = "chip = \"door\"\n[socket]\nuser = \"0\"\n[strike]\nline = \"0\"\nfail = \"secure\"\n"

    @Test(
        "what a key may not be, with its place and what to write instead",
        arguments: [
            ("chp = \"x\"", "unknown key `chp` in s.conf line 1 column 1: did you mean `chip`?"),
            ("chip = 1", "key `chip` is an integer in s.conf line 1 column 8: write a string in quotes"),
            ("drive = \"pulse\"", "unknown key `drive` in s.conf line 1 column 1: it belongs in section [strike]"),
            (
                "[strike]\nfail = \"open\"",
                "key `fail` cannot be that in s.conf line 2 column 8: write one of \"secure\", \"safe\""
            ),
            (
                "[strike]\nactive = \"up\"",
                "key `active` cannot be that in s.conf line 2 column 10: write one of \"high\", \"low\""
            ),
            (
                "[strike]\ndrive = \"toggle\"",
                "key `drive` cannot be that in s.conf line 2 column 9: write one of \"pulse\", \"hold\""
            ),
            (
                "[strike]\npulse_maximum_ms = 60001",
                "key `pulse_maximum_ms` is out of range in s.conf line 2 column 20: write a number from 50 to 60000"
            ),
            (
                "[exit]\nbias = \"pull\"",
                "key `bias` cannot be that in s.conf line 2 column 8: write one of \"none\", \"up\", \"down\""
            ),
            (
                "[socket]\npath = \"strike.sock\"",
                "key `path` cannot be that in s.conf line 2 column 8: write the socket's whole path, from / on"
            ),
            (
                "[inputs]\ndebounce_ms = -1",
                "key `debounce_ms` is out of range in s.conf line 2 column 15: write a number from 0 to 1000"
            ),
        ])
    func refused(text: String, message: String) {
        let error = #expect(throws: ConfigurationError.self) {
            var settings = StrikeSettings()
            try settings.apply(ConfigurationText(text, file: "s.conf"), file: "s.conf")
        }
        #expect(error?.description == message)
    }

    @Test(
        "what one key alone cannot tell is refused with the file, the key and what to do",
        arguments: [
            ("", "key `chip` before the first section of s.conf is wanted", "write the label"),
            ("chip = \"x\"", "key `line` in section [strike] of s.conf is wanted", "write the number or the name"),
            (
                "chip = \"x\"\n[strike]\nline = \"1\"", "key `fail` in section [strike] of s.conf is wanted",
                "\"secure\""
            ),
            (
                base + "[exit]\nline = \"0\"", "key `line` in section [exit] of s.conf is the line of [strike] too",
                "its own"
            ),
            (
                base + "[exit]\nline = \"3\"\n[contact]\nline = \"3\"",
                "key `line` in section [exit] of s.conf is the line of [contact] too", "its own"
            ),
            (
                base + "[fire]\nline = \"LOOP\"\n[tamper]\nline = \"LOOP\"",
                "key `line` in section [fire] of s.conf is the line of [tamper] too", "its own"
            ),
            (
                base + "[feedback]\nline = \"1\"\ntravel_ms = 9000", "key `travel_ms` in section [feedback]",
                "lower one of the three"
            ),
            (
                base + "pulse_maximum_ms = 500\n[feedback]\nline = \"1\"", "is longer than a pulse may be",
                "raise `pulse_maximum_ms`"
            ),
        ])
    func unusable(text: String, problem: String, remedy: String) {
        let failure = #expect(throws: Failure.self) { try strikePlan(text) }
        #expect(failure?.code == .configuration)
        #expect(
            failure?.message.contains(problem) == true && failure?.message.contains(remedy) == true,
            "\(failure?.message ?? "")")
    }

    private static func plan(socket: String) throws -> StrikePlan {
        try strikePlan("chip = \"door\"\n[socket]\n\(socket)\n[strike]\nline = \"0\"\nfail = \"secure\"\n")
    }

    @Test(
        "A user or a group that there is not is refused, and so is the number that is nobody's",
        arguments: [
            ("user = \"nobody-here\"", "key `user` in section [socket] of s.conf names `nobody-here`"),
            ("user = \"4294967295\"", "there is no such user: write the one that the lock's daemon runs as"),
            ("user = \"+0\"", "names `+0`, and there is no such user"),
            ("user = \"-0\"", "names `-0`, and there is no such user"),
            ("user = \"4294967296\"", "names `4294967296`, and there is no such user"),
            ("user = \"0\"\ngroup = \"+0\"", "there is no group `+0`"),
            ("user = \"0\"\ngroup = \"none-such\"", "there is no group `none-such`"),
            ("user = \"0\"\ngroup = \"4294967295\"", "there is no group `4294967295`"),
        ])
    func nobody(line: String, problem: String) throws {
        let plan = try Self.plan(socket: line)
        let failure = #expect(throws: Failure.self) { try StrikePeer(plan) }
        #expect(failure?.code == .configuration)
        #expect(failure?.message.contains(problem) == true, "\(failure?.message ?? "")")
    }

    @Test("A user is one by name or number; without a group the socket keeps the keeper's own")
    func somebody() throws {
        for (user, number) in [("root", uid_t(0)), ("0", 0), ("4294967294", uid_t.max - 1)] {
            let peer = try StrikePeer(Self.plan(socket: "user = \"\(user)\""))
            #expect(peer.user == number && peer.group == nil)
        }
        #expect(try StrikePeer(Self.plan(socket: "user = \"0\"\ngroup = \"0\"")).group?.id == 0)
    }

    @Test("The plan has what the file says; a line that is not named is not fitted")
    func plan() throws {
        let plan = try strikePlan(
            Self.base + """
                active = "low"
                drive = "hold"
                [contact]
                line = "DOOR"
                active = "high"
                bias = "up"
                """)
        #expect(plan.output == LineSetting(.number(0), .output(isActive: false), isActiveLow: true))
        #expect(plan.rules.drive == .hold && plan.rules.feedback == nil && plan.user == "0")
        #expect(
            plan.inputs == [
                StrikePlan.Input(
                    use: .contact, setting: LineSetting(.name("DOOR"), .input, isActiveLow: false, bias: .up))
            ])
    }

    /// The file with every commented-out key switched on: `#key = …` becomes `key = …`.
    private static func uncommented(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { line in
                line.hasPrefix("#") && line.dropFirst().first?.isLetter == true ? line.dropFirst() : line
            }
            .joined(separator: "\n")
    }

    @Test("config/strike.conf is read, sets every default, documents every key, and is whole with its commented keys")
    func shipped() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appendingPathComponent("config/strike.conf"), encoding: .utf8)
        var settings = StrikeSettings()
        try settings.apply(ConfigurationText(text, file: "strike.conf"), file: "strike.conf")
        #expect(settings == StrikeSettings(), "what it sets is the default")
        let all = try ConfigurationText(Self.uncommented(text), file: "strike.conf")
        try settings.apply(all, file: "strike.conf")
        let documented = Set(all.entries.map { "\($0.section)/\($0.key)" })
        #expect(documented == Set(StrikeSettings.keys.map { "\($0.section)/\($0.name)" }))
        settings.user = "0"
        settings.group = nil
        _ = try StrikePeer(StrikePlan(settings, configuration: "strike.conf"))
    }

    @Test("each number of the keeper's takes both ends of its range")
    func ranges() throws {
        for key in StrikeSettings.keys {
            guard case .integer(let path, let range) = key.field else { continue }
            for value in [range.lowerBound, range.upperBound] {
                var settings = StrikeSettings()
                try settings.apply(
                    ConfigurationText("[\(key.section)]\n\(key.name) = \(value)", file: "s.conf"), file: "s.conf")
                #expect(settings[keyPath: path] == value)
            }
        }
    }
}
