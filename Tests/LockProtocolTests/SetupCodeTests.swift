import BluetoothCore
import BluetoothCrypto
import LockProtocol
import Testing

@Suite("Setup code")
struct SetupCodeTests {
    let text = "LATCH1:070128-HK8HAH-048J2C-A1A5GQ-30CHM6-RW3MF1-Z851MA-HT99D6-MYMAKA-NBNJPT-XBV5X8"

    @Test("Case, blanks, missing dashes and look-alikes do not matter")
    func leniency() throws {
        let code = try SetupCode(parsing: text)
        let variants = [
            text.lowercased(), text.replacing("-", with: " "), text.replacing("-", with: ""),
            text.replacing("0", with: "o").replacing("LATCH1", with: "latch1"),
            " \n" + text.replacing("1Z851MA", with: "iZ85LMA") + "\n",
        ]
        for variant in variants { #expect(try SetupCode(parsing: variant) == code) }
    }

    @Test("Every single wrong digit is found")
    func wrongDigits() throws {
        let characters = Array(text)
        for index in characters.indices.dropFirst(7) where characters[index] != "-" {
            var wrong = characters
            wrong[index] = characters[index] == "7" ? "8" : "7"
            #expect(throws: SetupCodeError.wrongChecksum) { try SetupCode(parsing: String(wrong)) }
        }
    }

    @Test("Two swapped neighbours are found")
    func swaps() throws {
        let characters = Array(text)
        for index in characters.indices.dropFirst(7).dropLast()
        where characters[index] != "-" && characters[index + 1] != "-" && characters[index] != characters[index + 1] {
            var wrong = characters
            wrong.swapAt(index, index + 1)
            #expect(throws: SetupCodeError.wrongChecksum) { try SetupCode(parsing: String(wrong)) }
        }
    }

    @Test("Errors say what is wrong")
    func errors() throws {
        let cases: [(String, SetupCodeError)] = [
            ("", .missingPrefix),
            ("070128", .missingPrefix),
            ("LATCH:070128", .missingPrefix),
            ("LATCH2:070128", .tooShort(missingDigits: 60)),
            ("LATCH3:070128", .unsupportedVersion),
            ("LATCH1:", .tooShort(missingDigits: 66)),
            (String(text.dropLast(2)), .tooShort(missingDigits: 2)),
            (text + "7", .tooLong(extraDigits: 1)),
            (text.replacing("048J2C", with: "048U2C"), .invalidDigit("U", group: 3)),
            (text.replacing("048J2C", with: "048é2C"), .invalidDigit("é", group: 3)),
            (String(text.dropLast()) + "9", .wrongChecksum),
        ]
        for (text, error) in cases { #expect(throws: error) { try SetupCode(parsing: text) } }
        #expect("\(SetupCodeError.invalidDigit("U", group: 3))".contains("group 3"))
    }

    @Test("A code for a program says so before its digits, which are the same")
    func program() throws {
        let code = try SetupCode(parsing: text)
        let program = try #require(
            SetupCode(lock: code.lock, confirm: code.confirm, random: code.random, wantsProgramKey: true))
        #expect(!code.wantsProgramKey && program != code && program.text == text.replacing("LATCH1", with: "LATCH2"))
        #expect(try SetupCode(parsing: program.text.lowercased()) == program)
    }

    @Test("An address that is no identity names no lock")
    func resolvableAddress() throws {
        #expect(IdentityAddress(DeviceAddress(kind: .random, bits: 0x4011_2233_4455)) == nil)
        let lock = try #require(IdentityAddress(DeviceAddress(kind: .public, bits: 0x0011_2233_4455)))
        let zero = [UInt8](repeating: 0, count: 16)
        let code = try #require(SetupCode(lock: lock, confirm: zero, random: Secret(zero)))
        #expect(try SetupCode(parsing: code.text) == code)
        #expect(SetupCode(lock: lock, confirm: [0], random: Secret(zero)) == nil)
        #expect(SetupCode(lock: lock, confirm: zero, random: Secret([0])) == nil)
    }
}
