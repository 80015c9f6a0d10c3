import BluetoothCore
import BluetoothCrypto

/// What one program and its lock have agreed on at the enrolment. Nobody else has it: not the host that the program shares with other
/// programs, and nobody who has seen the setup code. Commands carry its authenticator, and their receipts are sealed under it, whatever
/// the link is.
package struct ProgramKey: Sendable, Equatable {
    package static let octets = 32
    package static let authenticatorOctets = 8
    package static let confirmationOctets = 16
    /// In the place of the handle in a receipt's nonce. A program that speaks to its peer through somebody else's host may not know handles.
    package static let receiptHandle = AttributeHandle(0)
    static let commandLabel: [UInt8] = Array("latch command 1".utf8)
    static let confirmationLabel: [UInt8] = Array("latch confirm 1".utf8)
    static let acceptanceLabel: [UInt8] = Array("latch confirmed 1".utf8)
    static let answerLabel: [UInt8] = Array("latch status 1".utf8)

    /// Both halves, for whoever keeps it.
    package let secret: Secret
    private let command: Secret
    /// Of receipts for commands under this key.
    package let receipts: ReceiptKey
    /// Of the lock's answers to a ``StatusQuestion``, and of nothing else.
    let answers: Secret

    /// nil unless there are ``octets``.
    package init?(_ secret: Secret) {
        guard secret.count == Self.octets else { return nil }
        self.secret = secret
        command = secret.part(0..<Self.octets / 2)
        let fromLock = secret.part(Self.octets / 2..<Self.octets)
        receipts = ReceiptKey(programSecret: fromLock)
        answers = CMAC(key: fromLock).derive(Self.answerLabel)
    }

    package static func == (a: Self, b: Self) -> Bool { a.secret == b.secret }

    /// What shows the lock that the program has the key, before any command does.
    package var confirmation: [UInt8] { CMAC(key: command).authenticate(Self.confirmationLabel).octets }

    /// In constant time.
    package func isConfirmed(by octets: [UInt8]) -> Bool { ConstantTime.equal(octets, confirmation) }

    /// What shows the program that the lock has confirmed this key: the parameters of its answer.
    package var acceptance: [UInt8] { CMAC(key: command).authenticate(Self.acceptanceLabel).octets }

    /// In constant time.
    package func isAccepted(by octets: [UInt8]) -> Bool { ConstantTime.equal(octets, acceptance) }

    /// A counter never goes with two commands.
    package func authenticate(_ command: LockCommand, counter: UInt32) -> ProgramCommand {
        ProgramCommand(command: command, counter: counter, authenticator: authenticator(command, counter))
    }

    /// In constant time.
    package func verifies(_ received: ProgramCommand) -> Bool {
        ConstantTime.equal(received.authenticator, authenticator(received.command, received.counter))
    }

    /// The 64 most significant bits of the CMAC, in the order in which RFC 4493 writes them.
    private func authenticator(_ command: LockCommand, _ counter: UInt32) -> [UInt8] {
        var writer = ByteWriter(capacity: Self.commandLabel.count + LockCommand.octets + 4)
        writer.write(Self.commandLabel)
        command.encode(into: &writer)
        writer.write(counter)
        return Array(CMAC(key: self.command).authenticate(writer.bytes).octets.prefix(Self.authenticatorOctets))
    }
}

/// The value of Lock Command (0002) of a program that has a key of its own: 20 octets, as many as one write carries at the least ATT_MTU.
package struct ProgramCommand: WireCodable, Hashable {
    package static let octets = LockCommand.octets + 4 + ProgramKey.authenticatorOctets

    package var command: LockCommand
    /// Strictly greater than that of the command before.
    package var counter: UInt32
    package var authenticator: [UInt8]

    package init(command: LockCommand, counter: UInt32, authenticator: [UInt8]) {
        self.command = command
        self.counter = counter
        self.authenticator = authenticator
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        command = try LockCommand(decoding: &reader)
        counter = try reader.readUInt32()
        authenticator = try reader.readBytes(ProgramKey.authenticatorOctets)
    }

    package func encode(into writer: inout ByteWriter) {
        command.encode(into: &writer)
        writer.write(counter)
        writer.write(authenticator)
    }
}
