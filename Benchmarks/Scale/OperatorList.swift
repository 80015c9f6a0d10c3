import BluetoothCore
import CLinux
import DaemonControl

/// A list of a running lock, page by page on its control socket. From a request to its answer the lock's loop does not stand still for
/// longer.
struct OperatorList: ~Copyable {
    enum Kind: String, CaseIterable {
        case users, bonds, status

        fileprivate func request(after: String?) -> PeripheralRequest {
            switch self {
            case .users: .usersPage(PeripheralRequest.UsersPage(after: after))
            case .bonds: .bondsPage(PeripheralRequest.StatusPage(after: after))
            case .status: .statusPage(PeripheralRequest.StatusPage(after: after))
            }
        }

        fileprivate var rows: String { self == .status ? "credentials" : rawValue }
    }

    let kind: Kind
    private var client: ControlClient
    private var after: String?
    private(set) var milliseconds: [Double] = []
    private(set) var rows = 0
    /// Of the longest page's answer.
    private(set) var octetsMaximum = 0

    private static let patienceMilliseconds: UInt64 = 10_000

    init(_ state: String, _ kind: Kind) throws {
        client = try ControlClient(connectingTo: state + "/peripheral.sock")
        self.kind = kind
    }

    /// The next one; false when it was the last.
    mutating func page() throws -> Bool {
        let deadline = Instant(nanoseconds: latch_boottime_nanoseconds())
            .advanced(byMilliseconds: Self.patienceMilliseconds)
        let begin = Clock.milliseconds
        let answer = try client.ask(kind.request(after: after), deadline: deadline)
        milliseconds.append(Clock.milliseconds - begin)
        rows += answer[kind.rows]?.array?.count ?? 0
        octetsMaximum = max(octetsMaximum, JSONValue.object(answer).text.utf8.count)
        after = answer["next"]?.string
        return after != nil
    }
}
