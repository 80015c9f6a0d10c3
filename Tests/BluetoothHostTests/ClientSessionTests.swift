import ATT
import BluetoothCore
import GATT
import L2CAP
import Testing

@testable import BluetoothHost

/// What the end of each kind of operation leads to, and what waits for a link's security.
@Suite("A link's client: operations from their beginning to their end")
struct ClientSessionTests {
    typealias Conclusion = ClientSession.Conclusion

    private static let manager = ManagerID(rawValue: 3)
    private static let asked = OperationToken(rawValue: 9)
    private static let own = OperationToken(rawValue: 10)
    private static let record = SubscriptionRecord(
        peer: PeerIdentifier(bits: 7), valueHandle: AttributeHandle(0x10), cccHandle: AttributeHandle(0x11),
        kind: .indicate)
    private static let hash = [UInt8](repeating: 5, count: 16)

    private static let done = Result<GATTClientResult, GATTClientError>.success(.done)
    private static let refused = Result<GATTClientResult, GATTClientError>.failure(
        .refused(.insufficientAuthentication, handle: AttributeHandle(0x10)))
    private static let outOfSync = Result<GATTClientResult, GATTClientError>.failure(
        .refused(.databaseOutOfSync, handle: AttributeHandle(0x10)))
    private static let hashed = Result<GATTClientResult, GATTClientError>.success(
        .values([RemoteValue(handle: AttributeHandle(0x10), value: hash)]))
    private static let empty = Result<GATTClientResult, GATTClientError>.success(.values([]))

    private static func operation(
        _ origin: OperationOrigin, _ operation: GATTClientOperation = .exchangeMTU, token: OperationToken = own
    ) -> SecuredOperation {
        SecuredOperation(operation: operation, origin: origin, token: token)
    }

    @Test("Each origin with each end")
    func conclusions() {
        let mine = Conclusion(manager: Self.manager, token: Self.asked)
        func with(_ consequence: Conclusion.Consequence, _ manager: ManagerID?) -> Conclusion {
            Conclusion(
                manager: manager, token: manager == nil ? Self.own : Self.asked, consequence: consequence)
        }
        let rows: [(OperationOrigin, [(Result<GATTClientResult, GATTClientError>, Conclusion)])] = [
            (
                .procedure(Self.manager, Self.asked),
                [(Self.done, mine), (Self.refused, mine), (Self.outOfSync, with(.treeVoid, Self.manager))]
            ),
            (
                .signedWrite(Self.manager, Self.asked),
                [(Self.done, mine), (Self.refused, mine), (Self.outOfSync, with(.treeVoid, Self.manager))]
            ),
            (
                .changeSubscription(Self.manager, Self.asked, .begun(Self.record)),
                [
                    (Self.done, with(.subscriptionChanged(Self.manager, .begun(Self.record)), Self.manager)),
                    (Self.refused, mine), (Self.outOfSync, with(.treeVoid, Self.manager)),
                ]
            ),
            (
                .changeSubscription(Self.manager, Self.asked, .ended(AttributeHandle(0x10))),
                [
                    (
                        Self.done,
                        with(.subscriptionChanged(Self.manager, .ended(AttributeHandle(0x10))), Self.manager)
                    ),
                    (Self.refused, mine), (Self.outOfSync, with(.treeVoid, Self.manager)),
                ]
            ),
            (
                .readDatabaseHash,
                [
                    (Self.hashed, with(.databaseHash(Self.hash), nil)), (Self.empty, with(.databaseHash(nil), nil)),
                    (Self.done, with(.none, nil)), (Self.refused, with(.none, nil)),
                    (Self.outOfSync, with(.treeVoid, nil)),
                ]
            ),
            (
                .exchangeMTU,
                [(Self.done, with(.none, nil)), (Self.refused, with(.none, nil))]
            ),
            (
                .claimFeatures,
                [
                    (Self.done, with(.none, nil)), (Self.refused, with(.none, nil)),
                    (Self.outOfSync, with(.treeVoid, nil)),
                ]
            ),
        ]
        for (origin, ends) in rows {
            for (result, expected) in ends {
                #expect(Self.operation(origin).conclusion(result) == expected, "\(origin), \(result)")
            }
        }
    }

    @Test("An operation ends once")
    func once() {
        var session = ClientSession()
        session.begin(Self.operation(.procedure(Self.manager, Self.asked)))
        let first = session.take(Self.own)
        let second = session.take(Self.own)
        #expect(first?.token == Self.own && second == nil)
    }

    @Test("What waits for security runs once more, in its order, and no oftener; there is room for so many")
    func waiting() {
        var session = ClientSession()
        #expect(!session.isAwaitingSecurity)
        for number in 0..<ClientSession.awaitingSecurityMaximum {
            #expect(session.hasRoomToAwaitSecurity)
            let operation = Self.operation(.claimFeatures, token: OperationToken(rawValue: UInt64(number)))
            session.awaitSecurity(
                .operation(operation, .refused(.insufficientEncryption, handle: AttributeHandle(0x10))))
        }
        #expect(!session.hasRoomToAwaitSecurity && session.isAwaitingSecurity)
        let again = session.takeAwaitingSecurity()
        let numbers = again.compactMap { refused -> UInt64? in
            if case .operation(let operation, _) = refused { operation.token.rawValue } else { nil }
        }
        #expect(numbers == Array(0..<UInt64(ClientSession.awaitingSecurityMaximum)))
        #expect(!again.contains { !$0.isRetry })
        #expect(!session.isAwaitingSecurity && session.hasRoomToAwaitSecurity)
    }

    @Test("Who gives the connection up takes what waits for security along, operations and channels, and nobody else's")
    func abandoned() {
        var session = ClientSession()
        for (number, manager) in [(1, Self.manager), (2, ManagerID(rawValue: 4))] as [(UInt64, ManagerID)] {
            let token = OperationToken(rawValue: number)
            session.awaitSecurity(
                .operation(
                    Self.operation(.procedure(manager, token), token: token),
                    .refused(.insufficientEncryption, handle: AttributeHandle(0x10))))
            session.awaitSecurity(
                .channel(ChannelNumber(rawValue: number), ChannelOwner(manager: manager), .insufficientEncryption))
        }
        #expect(session.abandon(Self.manager) == [OperationToken(rawValue: 1)])
        #expect(session.abandonOpenings(of: Self.manager) == [ChannelNumber(rawValue: 1)])
        #expect(session.abandonOpenings(of: Self.manager).isEmpty)
        #expect(session.takeAwaitingSecurity().count == 2)
    }

    @Test(
        "A channel's refusal, by its result (Vol 3, Part A, 4.23, Table 4.20)",
        arguments: [
            (0x0002, nil), (0x0004, nil), (0x0005, .authentication), (0x0006, nil), (0x0007, nil),
            (0x0008, .encryption), (0x0009, nil), (0x000A, nil), (0x000B, nil), (0xFFFF, nil),
        ] as [(UInt16, SecurityLack?)])
    func channelResults(result: UInt16, lack: SecurityLack?) {
        let refused = RefusedRequest.channel(
            ChannelNumber(rawValue: 1), ChannelOwner(manager: Self.manager),
            LECreditBasedConnectionResult(rawValue: result))
        #expect(refused.lack == lack && !refused.isRetry && refused.retried.isRetry)
    }

    @Test("An operation's refusal, by its code; nobody pairs for a name, nor for what is no refusal")
    func operationCodes() {
        func lack(_ error: GATTClientError, _ origin: OperationOrigin = .claimFeatures) -> SecurityLack? {
            RefusedRequest.operation(Self.operation(origin), error).lack
        }
        func refused(_ code: ATTErrorCode) -> GATTClientError { .refused(code, handle: AttributeHandle(0x10)) }
        #expect(lack(refused(.insufficientAuthentication)) == .authentication)
        #expect(lack(refused(.insufficientEncryption)) == .encryption)
        #expect(lack(refused(.encryptionKeySizeTooShort)) == .keySize)
        #expect(lack(refused(.insufficientAuthorization)) == nil && lack(refused(.readNotPermitted)) == nil)
        #expect(lack(refused(.insufficientEncryption), .readName) == nil && lack(.bearerClosed) == nil)
    }

    @Test("The MTU is exchanged before what needs it, behind what does not, and not for a signed command")
    func mtu() {
        func when(_ operation: GATTClientOperation) -> SecuredOperation.MTUExchange {
            Self.operation(.claimFeatures, operation).mtuExchange(defaultMTU: 23)
        }
        let handle = AttributeHandle(0x10)
        #expect(when(.read(handle)) == .behind)
        #expect(when(.write(handle, [UInt8](repeating: 0, count: 20))) == .behind)
        #expect(when(.write(handle, [UInt8](repeating: 0, count: 21))) == .before)
        #expect(when(.signedWriteWithoutResponse(handle, [UInt8](repeating: 0, count: 8))) == .notYet)
        #expect(when(.signedWriteWithoutResponse(handle, [UInt8](repeating: 0, count: 9))) == .before)
        #expect(when(.discoverDatabase) == .before)
    }
}
