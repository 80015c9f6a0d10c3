/// A peripheral's connection as its app sees it, where the app's calls, the loop and the callbacks are behind each other.
///
/// - In: the app's calls, as they are made; each of them again when it has come to the loop; news of the loop, in the order of the
///   callbacks.
/// - Out: the state that the app sees. It changes with the app's own calls and with what the app is told, and the last of both decides:
///   news from before a call do not undo it.
/// - Owner: `CBPeripheral`.
struct ShownConnection: Sendable {
    enum Call: Sendable { case connect, cancel }

    /// How the connection stands on the loop, once so many of the app's calls have come there.
    struct News: Sendable {
        fileprivate let state: CBPeripheralState
        fileprivate let heard: UInt64
    }

    private(set) var state = CBPeripheralState.disconnected
    private var made: UInt64 = 0
    private var last = Call.connect
    private var heard: UInt64 = 0

    mutating func make(_ call: Call) {
        made += 1
        last = call
        state = seen(state)
    }

    /// A call has come to the loop.
    mutating func hear() { heard += 1 }

    func news(_ state: CBPeripheralState) -> News { News(state: state, heard: heard) }

    mutating func show(_ news: News) { state = news.heard == made ? news.state : seen(news.state) }

    /// What there is, seen by an app whose last call is on its way.
    private func seen(_ state: CBPeripheralState) -> CBPeripheralState {
        switch last {
        case .connect: state == .connected ? .connected : .connecting
        case .cancel: state == .disconnected ? .disconnected : .disconnecting
        }
    }
}
