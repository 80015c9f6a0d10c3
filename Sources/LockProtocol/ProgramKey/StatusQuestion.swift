import BluetoothCore
import BluetoothCrypto

/// The operands by which a program with a key of its own asks for Key Status: what became of one command. The link's other end may be
/// anybody, so the answer counts by its authenticator alone (``ProgramKey/authenticated(_:asked:)``).
///
/// docs/PROTOCOL.md, Program key
package struct StatusQuestion: WireCodable, Hashable {
    package static let octets = 14

    /// From the CSPRNG, so that no answer fits which was given before.
    package var number: UInt64
    /// The challenge that the command answered. The lock takes no command any more that answers it.
    package var challenge: ChallengeID

    package init(number: UInt64, challenge: ChallengeID) {
        self.number = number
        self.challenge = challenge
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        number = try reader.readUInt64()
        challenge = try ChallengeID(decoding: &reader)
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(number)
        challenge.encode(into: &writer)
    }
}

/// The parameters of the answer to a ``StatusQuestion``, before the authenticator: 9 octets. With the response's three and the
/// authenticator's eight they are what the smallest ATT_MTU carries.
package struct QuestionedStatus: WireCodable, Hashable {
    package static let octets = 9

    package var role: UInt8
    package var rights: Rights
    /// Of the lock's last command of this bond, whichever that is; 0 where there was none.
    package var lastCounter: UInt32
    /// Of the command that was asked about; done where that is not the lock's last one.
    package var result: LockResult
    /// None where the command that was asked about is not the lock's last one. The lock has not taken it then, and never will.
    package var phase: CommandPhase

    package init(role: UInt8, rights: Rights, lastCounter: UInt32, result: LockResult, phase: CommandPhase) {
        self.role = role
        self.rights = rights
        self.lastCounter = lastCounter
        self.result = result
        self.phase = phase
    }

    /// What of a Key Status answers this question.
    package init(_ status: KeyStatus, asked question: StatusQuestion) {
        let asked = status.lastCommand.flatMap { $0.challenge == question.challenge ? $0 : nil }
        self.init(
            role: status.role, rights: status.rights, lastCounter: status.lastCommand?.signCounter ?? 0,
            result: asked?.result ?? .done, phase: asked?.phase ?? .none)
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        role = try reader.readUInt8()
        rights = Rights(rawValue: try reader.readUInt16())
        lastCounter = try reader.readUInt32()
        result = LockResult(rawValue: try reader.readUInt8())
        phase = CommandPhase(rawValue: try reader.readUInt8())
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(role)
        writer.write(rights.rawValue)
        writer.write(lastCounter)
        writer.write(result.rawValue)
        writer.write(phase.rawValue)
    }
}

extension ProgramKey {
    /// A response whose parameters end with the lock's authenticator. `request`: the octets that it answers, op-code first.
    package func authenticated(_ response: ControlPointResponse, asked request: [UInt8]) -> ControlPointResponse {
        var authenticated = response
        authenticated.parameters += answerAuthenticator(response.encoded, request)
        return authenticated
    }

    /// The response without its authenticator; nil unless the lock has given it to this request. In constant time.
    package func answer(_ octets: [UInt8], asked request: [UInt8]) -> ControlPointResponse? {
        guard octets.count >= ControlPointResponse.headerOctets + Self.authenticatorOctets else { return nil }
        let said = Array(octets.dropLast(Self.authenticatorOctets))
        let authenticator = Array(octets.suffix(Self.authenticatorOctets))
        guard ConstantTime.equal(authenticator, answerAuthenticator(said, request)) else { return nil }
        return try? ControlPointResponse(exactly: said)
    }

    /// A request's length follows from its op-code, so that no two pairs of a request and a response have the same octets.
    private func answerAuthenticator(_ response: [UInt8], _ request: [UInt8]) -> [UInt8] {
        Array(CMAC(key: answers).authenticate(request + response).octets.prefix(Self.authenticatorOctets))
    }
}
