import BluetoothCore
import BluetoothCrypto
import LockProtocol
import TestSupport
import Testing

/// Their figures come from Python's `cryptography`, which shares no line with this package.
@Suite("docs/PROTOCOL.md")
struct DocumentVectorTests {
    private let vectors: DocumentVectors

    init() throws { vectors = try DocumentVectors("vectors") }

    private func text(_ name: String) throws -> String { try #require(vectors[name], "no vector “\(name)”") }
    private func value(_ name: String) throws -> [UInt8] { try #require(HexText.decode(try text(name))) }

    @Test("Signed command: the PDU's 23 octets, with and without a bound of its sender's")
    func signedCommand() throws {
        try check("", bound: .challengeLife)
        let milliseconds = try #require(UInt64(try text("bound milliseconds")))
        try check("bounded ", bound: try #require(CommandBound(within: milliseconds)))
    }

    private func check(_ prefix: String, bound: CommandBound) throws {
        let handle = try #require(UInt16(try text("command handle"), radix: 16))
        let counter = try #require(UInt32(try text(prefix + "sign counter")))
        let command = LockCommand(
            operation: .unlock, bound: bound, challenge: try ChallengeID(exactly: try value("challenge")))
        #expect(command.encoded == (try value(prefix + "command")))
        var writer = ByteWriter()
        writer.write(0xD2 as UInt8)
        writer.write(handle)
        writer.write(command.encoded)
        let signing = DataSigning(csrk: Secret(try value("key CSRK")))
        let signature = signing.signature(message: writer.bytes, signCounter: counter)
        writer.write(counter)
        writer.write(signature)
        #expect(writer.bytes == (try value(prefix + "signed command")))
        #expect(writer.bytes.count == 23)
    }

    @Test("Signature: the known answer")
    func knownAnswer() throws {
        let signing = DataSigning(csrk: Secret(try value("known CSRK")))
        #expect(signing.signature(message: try value("known message"), signCounter: 1) == (try value("known MAC")))
    }

    @Test("Receipts", arguments: ["accepted", "done", "dead"])
    func receipts(name: String) throws {
        let csrk = Secret(try value("lock CSRK"))
        #expect(CMAC(key: csrk).derive(ReceiptKey.label) == Secret(try value("receipt key")))
        let challenge = try ChallengeID(exactly: try value("challenge"))
        let handle = AttributeHandle(try #require(UInt16(try text("receipt handle"), radix: 16)))
        let state = try LockState(exactly: try value("\(name) state"))
        let expected = try Receipt(exactly: try value("\(name) receipt"))
        #expect(ReceiptKey.nonce(expected.lockCounter, challenge, handle) == (try value("\(name) nonce")))
        let key = ReceiptKey(lockCSRK: csrk)
        #expect(
            key.seal(state, lockCounter: expected.lockCounter, answering: challenge, handle: handle) == expected)
        #expect(key.open(expected, answering: challenge, handle: handle) == state)
    }

    @Test("Setup code")
    func setupCode() throws {
        let lock = try #require(DeviceAddress(try text("lock address")).flatMap { IdentityAddress($0) })
        let random = try value("r")
        let confirm = try value("C")
        let code = try #require(SetupCode(lock: lock, confirm: confirm, random: Secret(random)))
        #expect(code.text == (try text("setup code")))
        #expect(try SetupCode(parsing: try text("setup code")) == code)
    }
}
