import Testing

@testable import CoreBluetoothEssentials

@Suite("A connection's state as its app sees it")
struct ShownConnectionTests {
    private static let states: [CBPeripheralState] = [.disconnected, .connecting, .connected, .disconnecting]

    /// Shown `state`, with no call on its way.
    private static func seen(_ state: CBPeripheralState) -> ShownConnection {
        var connection = ShownConnection()
        connection.show(connection.news(state))
        return connection
    }

    @Test("State and call: a connection is seen as asked for until it stands, and as given up until it is over")
    func calls() {
        var table: [[CBPeripheralState]] = []
        for call in [ShownConnection.Call.connect, .cancel] {
            table.append(
                Self.states.map { state in
                    var connection = Self.seen(state)
                    #expect(connection.state == state)
                    connection.make(call)
                    return connection.state
                })
        }
        #expect(
            table == [
                [.connecting, .connecting, .connected, .connecting],
                [.disconnected, .disconnecting, .disconnecting, .disconnecting],
            ])
    }

    @Test("News from before a call do not undo it, and news from behind it count as they are")
    func news() {
        for before in Self.states {
            for call in [ShownConnection.Call.connect, .cancel] {
                for told in Self.states {
                    var connection = Self.seen(before)
                    let early = connection.news(told)
                    connection.make(call)
                    connection.show(early)
                    // As if the call were made when the news have come.
                    var later = Self.seen(told)
                    later.make(call)
                    #expect(connection.state == later.state)
                    connection.hear()
                    connection.show(connection.news(told))
                    #expect(connection.state == told)
                }
            }
        }
    }

    @Test("Of several calls on their way the last one decides, until the loop has come to it")
    func several() {
        var connection = ShownConnection()
        for call in [ShownConnection.Call.connect, .cancel, .connect, .cancel] { connection.make(call) }
        var seen: [CBPeripheralState] = []
        for told in [CBPeripheralState.connecting, .disconnected, .connected, .disconnected] {
            connection.show(connection.news(told))
            seen.append(connection.state)
            connection.hear()
        }
        #expect(seen == [.disconnecting, .disconnected, .disconnecting, .disconnected])
        connection.show(connection.news(.connecting))
        #expect(connection.state == .connecting)
    }
}
