import BluetoothCore
import BluetoothCrypto
import LockProtocol
import SecurityManager

/// A key's side of one link with signed commands, in HCI octets between a daemon and its radio: a link is there from one
/// packet to the next, so that nothing is measured but the daemon. The radio hears nothing of this link.
struct SignedLink {
    /// What the lock said.
    enum Word {
        case challenge
        /// Its answer to the last command.
        case receipt(LockResult)
        /// It asked something about the link, which this answers.
        case request
    }

    /// What the lock kept of this key.
    let bond: Bond
    /// Of the first command.
    var counter: UInt32
    let handles: LockHandles
    /// A fresh private address of the key instead of its identity address.
    var isPrivate = false
    /// The controller's handle of the connection.
    var connection: UInt16 = 0x0EEE
    /// The newest one, which no command has answered yet.
    private(set) var challenge: ChallengeID?
    private var answered: ChallengeID?

    init(bond: Bond, counter: UInt32, handles: LockHandles, isPrivate: Bool = false, connection: UInt16 = 0x0EEE) {
        self.bond = bond
        self.counter = counter
        self.handles = handles
        self.isPrivate = isPrivate
        self.connection = connection
    }

    private var connectionOctets: [UInt8] { [UInt8(truncatingIfNeeded: connection), UInt8(connection >> 8)] }

    /// Core 5.4, Vol 4, Part E, 7.7.65.10 (LE Enhanced Connection Complete event)
    func connected() throws -> [UInt8] {
        guard let identity = bond.identity, let irk = bond.peerIRK else { throw BenchmarkError("no identity") }
        let address =
            isPrivate
            ? Toolbox.resolvablePrivateAddress(
                irk: AES128(key: irk), random: UInt32(truncatingIfNeeded: SystemRandom.uint64()))
            : identity.address
        let bits = (0..<6).map { UInt8(truncatingIfNeeded: address.bits >> (8 * $0)) }
        return [0x04, 0x3E, 31, 0x0A, 0] + connectionOctets + [1, 1] + bits
            + [UInt8](repeating: 0, count: 12) + [24, 0, 0, 0, 200, 0, 0]
    }

    /// The key ends the link.
    ///
    /// Core 5.4, Vol 4, Part E, 7.7.5 (Disconnection Complete event)
    mutating func disconnected() -> [UInt8] {
        (challenge, answered) = (nil, nil)
        return [0x04, 0x05, 4, 0] + connectionOctets + [0x13]
    }

    func isMine(_ packet: [UInt8]) -> Bool {
        let place =
            switch packet[0] {
            case 0x02: 1
            case 0x01 where packet.count >= 6: 4
            default: packet.count
            }
        return packet.count >= place + 2 && packet[place] == connectionOctets[0]
            && packet[place + 1] & 0x0F == connectionOctets[1]
    }

    /// One packet of this link, and what its controller answers.
    mutating func hear(_ packet: [UInt8]) throws -> (word: Word, answer: [UInt8]) {
        guard packet[0] == 0x02 else {
            // Commands about the link get an answer, and the end that they ask for none.
            guard packet[1] != 0x06 || packet[2] != 0x04 else { throw BenchmarkError("the lock ends the link") }
            return (.request, [0x04, 0x0F, 4, 0, 1, packet[1], packet[2]])
        }
        let sent = [0x04, 0x13, 5, 1] + connectionOctets + [1, 0]
        guard packet.count > 12, packet[9] == ReceiptKey.notificationOpcode else { return (.request, sent) }
        let value = Array(packet[12...])
        switch AttributeHandle(UInt16(packet[10]) | UInt16(packet[11]) << 8) {
        case handles.challenge:
            challenge = try Challenge(exactly: value).id
            return (.challenge, sent)
        case handles.receipt: return (.receipt(try result(of: value)), sent)
        default: return (.request, sent)
        }
    }

    private func result(of receipt: [UInt8]) throws -> LockResult {
        guard let csrk = bond.localCSRK, let answered,
            let state = ReceiptKey(lockCSRK: csrk).open(
                try Receipt(exactly: receipt), answering: answered, handle: handles.receipt)
        else { throw BenchmarkError("the lock's receipt cannot be opened") }
        guard state.result == .done || state.result == .accepted else {
            throw BenchmarkError("the lock does not accept the command: \(state.result)")
        }
        return state.result
    }

    /// The packet of a signed write that answers the newest challenge.
    mutating func command(_ operation: LockOperation) throws -> [UInt8] {
        guard let challenge else { throw BenchmarkError("the lock has sent no challenge") }
        let value = LockCommand(operation: operation, challenge: challenge).encoded
        let handle = handles.command.rawValue
        let message = [0xD2, UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)] + value
        var own = bond
        own.localCSRK = bond.remoteCSRK
        own.localSignCounterReserved = counter
        guard let identity = bond.identity else { throw BenchmarkError("no identity") }
        let book = BondBook(
            localIdentity: LocalIdentity(address: identity, irk: SystemRandom.secret()), bonds: [own])
        guard case .signed(let pdu, _) = book.sign(message, with: own.id) else {
            throw BenchmarkError("the command cannot be signed")
        }
        counter += 1
        (answered, self.challenge) = (challenge, nil)
        let count = UInt8(pdu.count)
        return [0x02, connectionOctets[0], connectionOctets[1] | 0x20, count + 4, 0, count, 0, 0x04, 0] + pdu
    }
}
