import BluetoothCore
import BluetoothCrypto
import LockProtocol
import Testing

func octets(_ hex: String) -> [UInt8] { HexText.decode(hex) ?? [] }

let challenge = ChallengeID(bits: 0xF6E5_D4C3_B2A1)

/// Round trip, and every strict prefix refused.
func checkCodec<T: WireCodable>(_ value: T, _ hex: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    #expect(HexText.encode(value.encoded) == hex, sourceLocation: sourceLocation)
    #expect(try T(exactly: octets(hex)) == value, sourceLocation: sourceLocation)
    for count in 0..<value.encoded.count {
        #expect(throws: DecodingError.self, sourceLocation: sourceLocation) {
            try T(exactly: Array(value.encoded.prefix(count)))
        }
    }
    #expect(throws: DecodingError.trailingOctets(count: 1), sourceLocation: sourceLocation) {
        try T(exactly: value.encoded + [0])
    }
}

@Suite("Codecs of the Lock profile")
struct CodecTests {
    @Test("Command: 8 octets, version and operation, argument, challenge")
    func command() throws {
        try checkCodec(LockCommand(operation: .unlock, challenge: challenge), "1200A1B2C3D4E5F6")
        try checkCodec(
            LockCommand(operation: .lockAndGo, argument: .after(seconds: 254), challenge: challenge),
            "14FEA1B2C3D4E5F6")
        try checkCodec(
            LockCommand(operation: .unlock, argument: .holdOpen, challenge: challenge), "12FFA1B2C3D4E5F6")
    }

    @Test("Command: without a bound it is refused, every bound round-trips, an unknown operation survives")
    func commandFirstOctet() throws {
        #expect(throws: DecodingError.invalidValue(field: "command bound")) {
            try LockCommand(exactly: [2, 0] + challenge.encoded)
        }
        for nibble: UInt8 in 1...15 {
            let bound = try #require(CommandBound(rawValue: nibble))
            let command = LockCommand(operation: .unlock, bound: bound, challenge: challenge)
            #expect(command.encoded == [nibble << 4 | 2, 0] + challenge.encoded)
            #expect(try LockCommand(exactly: command.encoded) == command)
        }
        for operation: UInt8 in 0...15 {
            let command = try LockCommand(exactly: [0x10 | operation, 0] + challenge.encoded)
            #expect(command.encoded.first == 0x10 | operation)
        }
    }

    @Test("Bound: half seconds from the challenge's issue on, the longest that is not later than the sender's time")
    func bounds() throws {
        #expect(CommandBound(rawValue: 0) == nil && CommandBound(rawValue: 16) == nil)
        #expect(CommandBound.challengeLife.rawValue == 1 && CommandBound.challengeLife.milliseconds == nil)
        for nibble: UInt8 in 2...15 {
            let bound = try #require(CommandBound(rawValue: nibble))
            let milliseconds = UInt64(nibble - 1) * 500
            #expect(bound.milliseconds == milliseconds)
            #expect(CommandBound(within: milliseconds) == bound)
            #expect(CommandBound(within: milliseconds - 1) == (nibble == 2 ? nil : CommandBound(rawValue: nibble - 1)))
        }
        #expect(CommandBound(within: 0) == nil && CommandBound(within: .max) == .longest)
        #expect(CommandBound.longest.milliseconds == 7_000)
    }

    @Test("Command: every argument round-trips", arguments: UInt8.min...UInt8.max)
    func arguments(octet: UInt8) { #expect(RelockArgument(octet: octet).octet == octet) }

    @Test("Challenge: 8 octets, life in 100 ms, flags")
    func challengeValue() throws {
        let value = Challenge(id: challenge, remainingLife: 50, flags: .signedAccepted)
        try checkCodec(value, "A1B2C3D4E5F63201")
        #expect(value.remainingMilliseconds == 5_000)
    }

    @Test("State: 7 octets, unknown codes survive")
    func state() throws {
        try checkCodec(
            LockState(bolt: .unlocking, door: .closed, result: .accepted, answered: challenge.prefix),
            "020101A1B2C3D4")
        try checkCodec(
            LockState(
                bolt: BoltCode(rawValue: 0xEE), door: .ajar.with(flags: DoorCode.lowBattery | DoorCode.tamper),
                result: LockResult(rawValue: 0x77), answered: 0), "EEC37700000000")
    }

    @Test("Key Status: 3 octets without a command, 16 with one; counter 0 is not “none”")
    func keyStatus() throws {
        let none = KeyStatus(role: 3, rights: [.lock, .unlock], lastCommand: nil)
        #expect(HexText.encode(none.encoded) == "030300")
        #expect(try KeyStatus(exactly: none.encoded) == none)
        for counter in [nil, 0, UInt32.max] {
            let last = LastCommand(challenge: challenge, signCounter: counter, result: .done, phase: .done)
            let status = KeyStatus(role: 1, rights: Role.owner.rights, lastCommand: last)
            #expect(try KeyStatus(exactly: status.encoded) == status)
            #expect(status.encoded.count == 16)
        }
        try checkCodec(
            LastCommand(challenge: challenge, signCounter: 7, result: .accepted, phase: .done),
            "01A1B2C3D4E5F6070000000103")
        #expect(throws: DecodingError.invalidValue(field: "sign counter")) {
            try LastCommand(exactly: octets("00A1B2C3D4E5F6070000000103"))
        }
        #expect(throws: DecodingError.invalidValue(field: "last command flags")) {
            try LastCommand(exactly: octets("02A1B2C3D4E5F6070000000103"))
        }
    }

    @Test("Control point: request and response; a response to Key Status fits the smallest ATT_MTU")
    func controlPoint() throws {
        let request = ControlPointRequest(opcode: .keyStatus, operands: [])
        #expect(request.encoded == [0x01])
        #expect(try ControlPointRequest(exactly: [0x01]) == request)
        #expect(throws: DecodingError.self) { try ControlPointRequest(exactly: []) }
        let last = LastCommand(challenge: challenge, signCounter: 7, result: .accepted, phase: .done)
        let status = KeyStatus(role: 1, rights: Role.owner.rights, lastCommand: last)
        let response = ControlPointResponse(request: .keyStatus, result: .success, parameters: status.encoded)
        #expect(try ControlPointResponse(exactly: response.encoded) == response)
        #expect(response.encoded.count <= 23 - 3)
        #expect(throws: DecodingError.invalidValue(field: "response code")) {
            try ControlPointResponse(exactly: [0x21, 0x01, 0x01])
        }
    }

    @Test("UUIDs: FD51xxxx-D1DB-463D-86FD-15EFB82160A8")
    func uuids() {
        #expect(LockUUID.lockService.description == "FD510000-D1DB-463D-86FD-15EFB82160A8")
        #expect(LockUUID.commandReceipt.description == "FD510007-D1DB-463D-86FD-15EFB82160A8")
    }
}

@Suite("Receipts")
struct ReceiptTests {
    let key = ReceiptKey(lockCSRK: Secret(octets("F0E0D0C0B0A090807060504030201000")))
    let handle = AttributeHandle(0x001C)
    let state = LockState(bolt: .unlocking, door: .closed, result: .accepted, answered: challenge.prefix)

    @Test("Forged receipt: a flip of any bit opens for nobody")
    func bitFlips() throws {
        let receipt = key.seal(state, lockCounter: 65, answering: challenge, handle: handle).encoded
        #expect(receipt.count == Receipt.octets && receipt.count == 19)
        #expect(key.open(try Receipt(exactly: receipt), answering: challenge, handle: handle) == state)
        for bit in 0..<receipt.count * 8 {
            var flipped = receipt
            flipped[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(key.open(try Receipt(exactly: flipped), answering: challenge, handle: handle) == nil)
        }
    }

    @Test("Transplanted receipt: another challenge, handle or bond opens nothing")
    func transplants() {
        let receipt = key.seal(state, lockCounter: 65, answering: challenge, handle: handle)
        let other = ReceiptKey(lockCSRK: Secret([UInt8](repeating: 7, count: 16)))
        #expect(key.open(receipt, answering: ChallengeID(bits: challenge.bits ^ 1 << 47), handle: handle) == nil)
        #expect(key.open(receipt, answering: challenge, handle: AttributeHandle(0x001D)) == nil)
        #expect(other.open(receipt, answering: challenge, handle: handle) == nil)
    }

    @Test("A receipt that names another challenge inside is no answer, even under the right nonce")
    func innerChallenge() {
        var wrong = state
        wrong.answered ^= 1
        let receipt = key.seal(wrong, lockCounter: 65, answering: challenge, handle: handle)
        #expect(key.open(receipt, answering: challenge, handle: handle) == nil)
    }

    @Test("Every strict prefix of a receipt is refused")
    func prefixes() throws {
        let receipt = key.seal(state, lockCounter: 65, answering: challenge, handle: handle)
        try checkCodec(receipt, HexText.encode(receipt.encoded))
    }
}
