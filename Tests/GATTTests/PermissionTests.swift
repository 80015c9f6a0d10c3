import ATT
import Testing

@testable import GATT

@Suite("Core 5.4, Vol 3, Part C, 10.3.1 (Responding to a service request): permissions")
struct PermissionTests {
    /// A link, and what each requirement answers to it: from open to level 4.
    struct Row: CustomTestStringConvertible, Sendable {
        let title: String
        let security: LinkSecurity
        let answers: [ATTErrorCode?]
        var testDescription: String { title }
    }

    static let rows: [Row] = [
        Row(
            title: "a stranger", security: .open,
            answers: [nil, .insufficientAuthentication, .insufficientAuthentication, .insufficientAuthentication]),
        Row(
            title: "a bond, not yet encrypted", security: .init(bonded: true),
            answers: [nil, .insufficientEncryption, .insufficientEncryption, .insufficientEncryption]),
        Row(
            title: "encrypted without MITM protection", security: .encrypted,
            answers: [nil, nil, .insufficientAuthentication, .insufficientAuthentication]),
        Row(
            title: "authenticated by legacy pairing", security: .authenticated,
            answers: [nil, nil, nil, .insufficientAuthentication]),
        Row(
            title: "a key of 7 octets",
            security: .init(encrypted: true, authenticated: true, secureConnections: true, keySize: 7),
            answers: [nil, nil, nil, .encryptionKeySizeTooShort]),
        Row(
            title: "a key of 15 octets",
            security: .init(encrypted: true, authenticated: true, secureConnections: true, keySize: 15),
            answers: [nil, nil, nil, .encryptionKeySizeTooShort]),
        Row(title: "level 4", security: .level4, answers: [nil, nil, nil, nil]),
    ]

    @Test("what is lacking decides the error", arguments: rows, AttributePath.allCases)
    func matrix(_ row: Row, _ path: AttributePath) {
        let requirements: [AttributeRequirement] = [
            .open, .encrypted, .encryptedAuthenticated, .encryptedSecureConnections,
        ]
        for (requirement, answer) in zip(requirements, row.answers) {
            #expect(Self.access(path, requirement).refusal(on: path, row.security) == answer, "\(requirement)")
        }
        // Every other path of the same attribute stays shut.
        for other in AttributePath.allCases where other != path {
            #expect(
                Self.access(path, .open).refusal(on: other, row.security)
                    == (other == .read ? .readNotPermitted : .writeNotPermitted))
        }
    }

    private static func access(_ path: AttributePath, _ requirement: AttributeRequirement) -> AttributeAccess {
        switch path {
        case .read: AttributeAccess(read: requirement)
        case .writeRequest: AttributeAccess(writeRequest: requirement)
        case .writeCommand: AttributeAccess(writeCommand: requirement)
        case .subscribe: AttributeAccess(subscribe: requirement)
        }
    }

    @Test("a larger key than the level wants", arguments: [(UInt8(15), false), (16, true)])
    func keySize(_ size: UInt8, _ isEnough: Bool) {
        let access = AttributeAccess(read: .encrypted, minimumKeySize: 16)
        let security = LinkSecurity(encrypted: true, keySize: size)
        #expect(access.refusal(on: .read, security) == (isEnough ? nil : .encryptionKeySizeTooShort))
    }

    @Test("authorization comes after encryption")
    func authorization() {
        let access = AttributeAccess(read: .encrypted, requiresAuthorization: true)
        var security = LinkSecurity.encrypted
        #expect(access.refusal(on: .read, .open) == .insufficientAuthentication)
        #expect(access.refusal(on: .read, security) == .insufficientAuthorization)
        security.authorized = true
        #expect(access.refusal(on: .read, security) == nil)
    }

    @Test("attack: a signed write on an encrypted link, where nothing needs a signature")
    func signedWriteOnEncryptedLink() throws {
        var bench = try Tree.bench()
        bench.security = .level4
        #expect(bench.reply("D21800AA0102030405060708090A0B0C") == "")
    }

    @Test("attack: reading what is encrypted through every procedure that reads")
    func everyReadingProcedure() throws {
        var bench = try Tree.bench()
        for request in ["0A1800", "0C18000000", "0E18001B00", "2018001B00", "081800180003AA"] {
            let code = String(bench.reply(request).suffix(2))
            #expect(code == "05", "\(request)")
        }
        #expect(bench.reply("061800180003AA00") == "010618000A", "and a value cannot be guessed")
    }
}
