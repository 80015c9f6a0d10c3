import BluetoothCore
import HCI
import L2CAP

/// What a command was sent for: its answer goes there.
enum CommandPurpose {
    case bringUp
    case gap(GAP.Machine)
    case link(LinkID, LinkCommand)
    /// Ends a link that this side has no room for.
    case rejectLink(ConnectionHandle)
    /// Its failure changes nothing that the events do not say.
    case ignored
}

enum LinkCommand {
    case disconnect, enableEncryption, longTermKeyReply
    case connectionUpdate, connectionParametersRequest, connectionParametersReply
    case reading(LinkReading)
    case inquiry(LinkInquiry.Step)
}

/// What a PDU was sent for, where its completion matters.
enum SendPurpose {
    case queuedUpdate(RestorationLedger.Owner, sequence: UInt64, LinkID)
    /// A write that must not leave late: its manager hears when it would have.
    case datedWrite(ManagerID, OperationToken, PeerIdentifier)
}

/// The controller as the host holds it: its command flow, its buffers, and what each token was for.
struct Controller: ~Copyable {
    var bringUp: BringUp?
    var facts = ControllerFacts()
    var commands = CommandQueue()
    var acl: ACLSendQueue?

    private var commandPurposes: [UInt64: CommandPurpose] = [:]
    private var sendPurposes: [UInt64: SendPurpose] = [:]
    private var nextToken: UInt64 = 1
    private var writer = ByteWriter(capacity: 1024)

    /// Octets that one link may have waiting before apps are told to wait.
    static let comfortableQueuedOctets = 4096

    var deadline: Instant? { Instant.earliest(commands.deadline, acl?.deadline) }

    /// Nothing is known of it any more. Tokens go on counting: an answer that still comes out of the old queue is not
    /// taken for one out of the new.
    mutating func startOver() {
        let token = nextToken
        self = Controller()
        nextToken = token
    }

    mutating func submit(
        _ command: any HCICommand, for purpose: CommandPurpose, now: Instant, into outputs: inout [CommandQueueOutput]
    ) {
        let token = makeToken()
        commandPurposes[token] = purpose
        commands.submit(command, token: token, now: now, into: &outputs)
    }

    /// A command that waits for a link that is over would be about the next link that gets its handle.
    mutating func withdrawCommands(of link: LinkID, now: Instant, into outputs: inout [CommandQueueOutput]) {
        let waiting = commandPurposes.lazy.filter { if case .link(link, _) = $0.value { true } else { false } }
        let tokens = Set(waiting.map(\.key))
        if !tokens.isEmpty { commands.withdraw(tokens, now: now, into: &outputs) }
    }

    mutating func takePurpose(of token: UInt64) -> CommandPurpose {
        commandPurposes.removeValue(forKey: token) ?? .ignored
    }

    mutating func takeSendPurpose(of token: UInt64) -> SendPurpose? { sendPurposes.removeValue(forKey: token) }

    /// Queues a PDU behind its basic header. False when the link has no room: its bearer can only be given up then.
    mutating func send(
        _ payload: [UInt8], on channel: ChannelIdentifier, _ handle: ConnectionHandle, for purpose: SendPurpose?,
        until: Instant?
    ) -> Bool {
        // Taken out of `self` while the queue in `self` reads it; its storage is reused.
        var frame = ByteWriter()
        swap(&frame, &writer)
        defer { swap(&frame, &writer) }
        frame.removeAll()
        BasicFrame.encode(payload.span.bytes, channel: channel, into: &frame)
        let token = purpose == nil ? 0 : makeToken()
        guard Self.submit(frame.bytes.span.bytes, token, until, handle, to: &acl) else { return false }
        if let purpose { sendPurposes[token] = purpose }
        return true
    }

    private static func submit(
        _ frame: RawSpan, _ token: UInt64, _ until: Instant?, _ handle: ConnectionHandle,
        to acl: inout ACLSendQueue?
    ) -> Bool {
        do {
            guard try acl?.submit(frame, token: token, until: until, on: handle) != nil else { return false }
            return true
        } catch {
            return false
        }
    }

    /// Appends the next ACL packet that the controller has a buffer for; nil when there is none.
    mutating func writeNextPacket(now: Instant, into packets: inout ByteWriter) -> ACLPacket? {
        acl?.nextPacket(now: now, into: &packets)
    }

    func hasRoom(for handle: ConnectionHandle) -> Bool {
        (acl?.queuedOctets(on: handle) ?? 0) < Self.comfortableQueuedOctets
    }

    func hasRoomForBulk(_ handle: ConnectionHandle) -> Bool { acl?.hasRoomForBulk(on: handle) ?? true }

    /// Octets that credit-based channels may have waiting on one link.
    static let channelQueuedOctets = 1024

    func hasRoomForChannels(_ handle: ConnectionHandle) -> Bool {
        acl?.queuedOctets(on: handle).map { $0 < Self.channelQueuedOctets } ?? false
    }

    private mutating func makeToken() -> UInt64 {
        defer { nextToken += 1 }
        return nextToken
    }
}
