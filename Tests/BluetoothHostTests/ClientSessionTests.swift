import ATT
import BluetoothCore
import GATT
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
                .subscribe(Self.manager, Self.asked, Self.record),
                [
                    (Self.done, with(.subscribed(Self.manager, Self.record), Self.manager)), (Self.refused, mine),
                    (Self.outOfSync, with(.treeVoid, Self.manager)),
                ]
            ),
            (
                .unsubscribe(Self.manager, Self.asked, AttributeHandle(0x10)),
                [
                    (Self.done, with(.unsubscribed(Self.manager, AttributeHandle(0x10)), Self.manager)),
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
            session.awaitSecurity(Self.operation(.claimFeatures, token: OperationToken(rawValue: UInt64(number))))
        }
        #expect(!session.hasRoomToAwaitSecurity && session.isAwaitingSecurity)
        let again = session.takeAwaitingSecurity()
        let numbers = again.map(\.token.rawValue)
        #expect(numbers == Array(0..<UInt64(ClientSession.awaitingSecurityMaximum)))
        #expect(!again.contains { !$0.isRetry })
        #expect(!session.isAwaitingSecurity && session.hasRoomToAwaitSecurity)
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
