import BluetoothCore
import BluetoothCrypto

/// What a lock prints for one enrolment window, as text and, the same text, as a QR code: who it is, and the out-of-band
/// values that its pairing is held to.
///
/// `LATCH1:`, or `LATCH2:` where the window is for a program with a key of its own (``ProgramKey``), and 66 base-32 digits in eleven
/// groups of six. Everything in it stands in a QR code's alphanumeric set.
///
/// Core 5.4, Vol 3, Part H, 2.3.5.6.4 (Authentication stage 1 – Out of Band)
package struct SetupCode: Sendable, Equatable {
    package static let confirmOctets = 16
    package static let randomOctets = 16

    package let lock: IdentityAddress
    /// C: what the lock's public key and `random` were committed to, most significant octet first.
    package let confirm: [UInt8]
    /// r.
    package let random: Secret
    /// The bond proves itself by a ``ProgramKeyAgreement``, and by nothing else.
    package let wantsProgramKey: Bool

    /// nil unless `confirm` and `random` have 16 octets.
    package init?(lock: IdentityAddress, confirm: [UInt8], random: Secret, wantsProgramKey: Bool = false) {
        guard confirm.count == Self.confirmOctets, random.count == Self.randomOctets else { return nil }
        self.lock = lock
        self.confirm = confirm
        self.random = random
        self.wantsProgramKey = wantsProgramKey
    }

    /// Kind and address, r, C.
    package static let octets = 1 + 6 + randomOctets + confirmOctets
    /// The same, and the checksum.
    private static let payloadOctets = octets + 2

    /// For the printer and the screen of whoever opened the window, nobody else: it contains r.
    package var text: String {
        let payload = octets
        let checksum = SetupCodeText.checksum(payload)
        return SetupCodeText.write(
            SetupCodeText.prefix(wantsProgramKey),
            payload + [UInt8(truncatingIfNeeded: checksum >> 8), UInt8(truncatingIfNeeded: checksum)])
    }

    /// What the text says, for the same eyes.
    package var octets: [UInt8] {
        var octets: [UInt8] = [lock.address.kind.rawValue]
        octets += stride(from: 40, through: 0, by: -8).map { UInt8(truncatingIfNeeded: lock.address.bits >> $0) }
        random.withBytes { octets += $0 }
        return octets + confirm
    }

    /// nil unless there are as many as there have to be, and an identity address among them.
    package init?(octets: [UInt8]) { self.init(octets: octets, wantsProgramKey: false) }

    private init?(octets: [UInt8], wantsProgramKey: Bool) {
        guard octets.count == Self.octets else { return nil }
        let bits = octets[1...6].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard let kind = octets.first.flatMap(DeviceAddress.Kind.init(rawValue:)),
            let lock = IdentityAddress(DeviceAddress(kind: kind, bits: bits))
        else { return nil }
        self.lock = lock
        random = Secret(Array(octets[7..<7 + Self.randomOctets]))
        confirm = Array(octets.suffix(Self.confirmOctets))
        self.wantsProgramKey = wantsProgramKey
    }

    /// Reads what somebody typed or scanned: any case, groups set apart by dashes or blanks or not at all.
    package init(parsing text: String) throws(SetupCodeError) {
        let (payload, wantsProgramKey) = try SetupCodeText.read(text, octets: Self.payloadOctets)
        let body = payload.dropLast(2)
        guard payload.suffix(2).reduce(0, { $0 << 8 | UInt16($1) }) == SetupCodeText.checksum(body) else {
            throw .wrongChecksum
        }
        guard let code = Self(octets: Array(body), wantsProgramKey: wantsProgramKey) else {
            throw .notAnIdentityAddress
        }
        self = code
    }
}

/// What is wrong with a setup code, in terms of what its reader sees. Always a local mistake: nothing has been sent yet.
package enum SetupCodeError: Error, Equatable, Sendable, CustomStringConvertible {
    case missingPrefix
    /// Made by a lock that is newer than this key.
    case unsupportedVersion
    /// Counted from 1 over the digits behind the prefix, in groups of six.
    case invalidDigit(Character, group: Int)
    case tooShort(missingDigits: Int)
    case tooLong(extraDigits: Int)
    case wrongChecksum
    case notAnIdentityAddress

    package var description: String {
        switch self {
        case .missingPrefix: "a setup code begins with LATCH1: or LATCH2:"
        case .unsupportedVersion: "this setup code is of a newer version than this program reads"
        case .invalidDigit(let digit, let group):
            "“\(digit)” in group \(group) is no digit of a setup code (0–9 and A–Z without I, L, O, U)"
        case .tooShort(let missing): "the setup code lacks \(missing) of its \(SetupCodeText.digits) digits"
        case .tooLong(let extra): "the setup code has \(extra) digits more than its \(SetupCodeText.digits)"
        case .wrongChecksum: "a digit of the setup code is wrong, or two are swapped: compare it group by group"
        case .notAnIdentityAddress: "the setup code names no lock: its address is not an identity address"
        }
    }
}

/// Crockford's base 32, grouped, with a checksum.
enum SetupCodeText {
    static let name = "LATCH"
    static func prefix(_ wantsProgramKey: Bool) -> String { name + (wantsProgramKey ? "2:" : "1:") }
    static let digits = 66
    static let groupDigits = 6
    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

    static func write(_ prefix: String, _ payload: [UInt8]) -> String {
        var text = prefix
        var accumulator: UInt32 = 0
        var bits = 0
        var written = 0
        func put(_ value: UInt32) {
            if written > 0 && written.isMultiple(of: groupDigits) { text += "-" }
            text.unicodeScalars.append(UnicodeScalar(alphabet[Int(value & 31)]))
            written += 1
        }
        for octet in payload {
            accumulator = accumulator << 8 | UInt32(octet)
            bits += 8
            while bits >= 5 {
                bits -= 5
                put(accumulator >> UInt32(bits))
            }
        }
        if bits > 0 { put(accumulator << UInt32(5 - bits)) }
        return text
    }

    static func read(
        _ text: String, octets: Int
    ) throws(SetupCodeError) -> (payload: [UInt8], wantsProgramKey: Bool) {
        let (body, wantsProgramKey) = try body(of: text)
        let values = try digitValues(body)
        if values.count < digits { throw .tooShort(missingDigits: digits - values.count) }
        if values.count > digits { throw .tooLong(extraDigits: values.count - digits) }
        var payload: [UInt8] = []
        payload.reserveCapacity(octets)
        var accumulator: UInt32 = 0
        var bits = 0
        for value in values {
            accumulator = (accumulator << 5 | UInt32(value)) & 0xFFFF
            bits += 5
            if bits >= 8 {
                bits -= 8
                payload.append(UInt8(truncatingIfNeeded: accumulator >> UInt32(bits)))
            }
        }
        // One code, one text: bits left over are 0.
        guard payload.count == octets, accumulator & (1 << UInt32(bits) - 1) == 0 else { throw .wrongChecksum }
        return (payload, wantsProgramKey)
    }

    private static func body(of text: String) throws(SetupCodeError) -> (Substring, wantsProgramKey: Bool) {
        let trimmed = text.drop(while: \.isWhitespace)
        guard trimmed.prefix(name.count).uppercased() == name else { throw .missingPrefix }
        let rest = trimmed.dropFirst(name.count)
        guard let colon = rest.firstIndex(of: ":") else { throw .missingPrefix }
        let version = rest[..<colon]
        guard version == "1" || version == "2" else {
            throw rest[..<colon].allSatisfy(\.isNumber) && colon > rest.startIndex
                ? .unsupportedVersion : .missingPrefix
        }
        return (rest[rest.index(after: colon)...], version == "2")
    }

    private static func digitValues(_ body: Substring) throws(SetupCodeError) -> [UInt8] {
        var values: [UInt8] = []
        for character in body where character != "-" && !character.isWhitespace {
            guard let value = value(of: character) else {
                throw .invalidDigit(character, group: values.count / groupDigits + 1)
            }
            values.append(value)
        }
        return values
    }

    /// What is easily mistaken is read as what was meant: I and L as 1, O as 0.
    private static func value(of character: Character) -> UInt8? {
        switch character.uppercased() {
        case "I", "L": return 1
        case "O": return 0
        case let upper:
            guard upper.utf8.count == 1, let ascii = upper.utf8.first else { return nil }
            return alphabet.firstIndex(of: ascii).map(UInt8.init)
        }
    }

    /// CRC-16 with polynomial 0x1021 from 0xFFFF: finds any single wrong digit and any two swapped neighbours.
    static func checksum(_ octets: some Sequence<UInt8>) -> UInt16 {
        var crc: UInt16 = 0xFFFF
        for octet in octets {
            crc ^= UInt16(octet) << 8
            for _ in 0..<8 { crc = crc & 0x8000 != 0 ? crc << 1 ^ 0x1021 : crc << 1 }
        }
        return crc
    }
}
