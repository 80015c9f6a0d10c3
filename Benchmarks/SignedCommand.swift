import ATT
import BluetoothCore
import BluetoothCrypto
import CLinux
import GATT
import Glibc
import LockProtocol
import SecurityManager

/// Where the lock's values are: in the tree that its first launch published.
struct LockHandles {
    let command: AttributeHandle
    let challenge: AttributeHandle
    let receipt: AttributeHandle
    /// Of the descriptors that a key writes when it enrols.
    let configurations: [AttributeHandle]
    let databaseHash: [UInt8]

    init(published: ServiceDefinition, at declaration: AttributeHandle) throws {
        var server = GATTServer(configuration: GATTServerConfiguration(deviceName: ""))
        let service = try server.publish(published, at: declaration)
        func find(_ uuid: BluetoothUUID) throws -> (value: AttributeHandle, configuration: AttributeHandle?) {
            for (definition, handles) in zip(published.characteristics, service.characteristics)
            where definition.uuid == uuid {
                return (handles.value, handles.configuration)
            }
            throw BenchmarkError("the lock publishes no \(uuid)")
        }
        command = try find(LockUUID.lockCommand).value
        challenge = try find(LockUUID.challenge).value
        receipt = try find(LockUUID.commandReceipt).value
        configurations = try [LockUUID.challenge, LockUUID.commandReceipt, LockUUID.lockState].compactMap {
            try find($0).configuration
        }
        databaseHash = server.databaseHash
    }
}

/// A key's side of one signed command, in HCI octets between a daemon and its radio: a link is there from one packet to the
/// next, so that nothing is measured but the daemon. The radio hears nothing of this link.
struct SignedCommand {
    /// What the lock kept of this key.
    let bond: Bond
    let counter: UInt32
    let handles: LockHandles
    /// A fresh private address of the key instead of its identity address.
    let isPrivate: Bool
    /// The daemon's socket.
    let host: Int32

    private static let connection: (low: UInt8, high: UInt8) = (0xEE, 0x0E)
    private static let patienceMilliseconds: Int32 = 10_000

    /// Milliseconds from the link until the lock's receipt says that the command was accepted. `forward` takes what is not
    /// of this link.
    func run(forward: ([UInt8]) throws -> Void) throws -> Double {
        let begin = Clock.milliseconds
        try send(connected())
        var stream = HCIPackets()
        var challenge: ChallengeID?
        while true {
            var waiting = pollfd(fd: host, events: Int16(POLLIN), revents: 0)
            guard poll(&waiting, 1, Self.patienceMilliseconds) > 0 else {
                throw BenchmarkError("the lock answers no signed command")
            }
            for packet in try stream.read(host) {
                guard isOfLink(packet) else {
                    try forward(packet)
                    continue
                }
                guard packet[0] == 0x02 else {
                    if try answered(packet) { continue }
                    throw BenchmarkError("the lock ends the link")
                }
                try send([0x04, 0x13, 5, 1, Self.connection.low, Self.connection.high, 1, 0])
                guard packet.count > 12, packet[9] == ReceiptKey.notificationOpcode else { continue }
                let value = Array(packet[12...])
                switch AttributeHandle(UInt16(packet[10]) | UInt16(packet[11]) << 8) {
                case handles.challenge where challenge == nil:
                    challenge = try Challenge(exactly: value).id
                    if let challenge { try send(command(answering: challenge)) }
                case handles.receipt:
                    guard let challenge else { continue }
                    try requireAccepted(value, challenge)
                    return Clock.milliseconds - begin
                default: break
                }
            }
        }
    }

    private func requireAccepted(_ value: [UInt8], _ challenge: ChallengeID) throws {
        guard let csrk = bond.localCSRK,
            let state = ReceiptKey(lockCSRK: csrk).open(
                try Receipt(exactly: value), answering: challenge, handle: handles.receipt),
            state.result == .done || state.result == .accepted
        else { throw BenchmarkError("the lock does not accept the command") }
    }

    /// Core 5.4, Vol 4, Part E, 7.7.65.10 (LE Enhanced Connection Complete event)
    private func connected() throws -> [UInt8] {
        guard let identity = bond.identity, let irk = bond.peerIRK else { throw BenchmarkError("no identity") }
        let address =
            isPrivate
            ? Toolbox.resolvablePrivateAddress(
                irk: AES128(key: irk), random: UInt32(truncatingIfNeeded: SystemRandom.uint64()))
            : identity.address
        let bits = (0..<6).map { UInt8(truncatingIfNeeded: address.bits >> (8 * $0)) }
        return [0x04, 0x3E, 31, 0x0A, 0, Self.connection.low, Self.connection.high, 1, 1] + bits
            + [UInt8](repeating: 0, count: 12) + [24, 0, 0, 0, 200, 0, 0]
    }

    /// Commands about the link get an answer, and the end that they ask for none. False for HCI_Disconnect.
    private func answered(_ packet: [UInt8]) throws -> Bool {
        try send([0x04, 0x0F, 4, 0, 1, packet[1], packet[2]])
        return !(packet[1] == 0x06 && packet[2] == 0x04)
    }

    private func isOfLink(_ packet: [UInt8]) -> Bool {
        switch packet[0] {
        case 0x02: packet[1] == Self.connection.low && packet[2] & 0x0F == Self.connection.high
        case 0x01: packet.count >= 6 && packet[4] == Self.connection.low && packet[5] == Self.connection.high
        default: false
        }
    }

    private func command(answering challenge: ChallengeID) throws -> [UInt8] {
        let value = LockCommand(operation: .lock, challenge: challenge).encoded
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
        let count = UInt8(pdu.count)
        return [0x02, Self.connection.low, Self.connection.high | 0x20, count + 4, 0, count, 0, 0x04, 0] + pdu
    }

    private func send(_ packet: [UInt8]) throws {
        guard write(host, packet, packet.count) == packet.count else { throw BenchmarkError("the daemon is gone") }
    }
}

/// Whole HCI packets of a stream.
struct HCIPackets {
    private var rest: [UInt8] = []

    mutating func read(_ descriptor: Int32) throws -> [[UInt8]] {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = Glibc.read(descriptor, &buffer, buffer.count)
        guard count > 0 else { throw BenchmarkError("the daemon is gone") }
        rest += buffer[..<count]
        var packets: [[UInt8]] = []
        while let length = length, rest.count >= length {
            packets.append(Array(rest[..<length]))
            rest.removeFirst(length)
        }
        return packets
    }

    private var length: Int? {
        guard rest.count >= 5 else { return rest.count == 4 && rest[0] == 0x01 ? 4 + Int(rest[3]) : nil }
        return rest[0] == 0x02 ? 5 + Int(rest[3]) + Int(rest[4]) << 8 : 4 + Int(rest[3])
    }
}
