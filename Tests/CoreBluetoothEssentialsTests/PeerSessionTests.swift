import ATT
import BluetoothCore
import BluetoothHost
import GATT
import Testing

@testable import CoreBluetoothEssentials

/// What a central manager knows of one peer: state × input.
@Suite("The session of a peer")
struct PeerSessionTests {
    // MARK: The connection

    /// Every state of a connection, by the events that lead there.
    static let connections: [(title: String, events: [ConnectionInput])] = [
        ("none", []), ("wanted", [.wanted]), ("stranger", [.wanted, .stranger]), ("bonded", [.wanted, .bonded]),
        ("bonded, asked again", [.wanted, .bonded, .wanted]),
        ("none, ending: wanted", [.wanted, .withdrawn]),
        ("none, ending: bonded", [.wanted, .bonded, .withdrawn]),
        ("wanted, ending: stranger", [.wanted, .stranger, .withdrawn, .wanted]),
        ("wanted, ending: wanted", [.wanted, .withdrawn, .wanted]),
        ("none, ending: wanted, wanted", [.wanted, .withdrawn, .wanted, .withdrawn]),
    ]

    /// By state, in the order of ``ConnectionInput``.
    static let afterwards: [String: [String]] = [
        "none": ["wanted", "none", "stranger", "bonded", "none", "none", "none", "none"],
        "wanted": ["wanted", "none, ending: wanted", "stranger", "bonded", "wanted", "wanted", "none", "wanted"],
        "stranger": [
            "stranger, asked again", "none, ending: stranger", "stranger", "bonded", "stranger", "bonded", "none",
            "wanted",
        ],
        "bonded": [
            "bonded, asked again", "none, ending: bonded", "stranger", "bonded", "stranger", "bonded", "none", "wanted",
        ],
        "bonded, asked again": [
            "bonded, asked again", "none, ending: bonded, asked again", "stranger", "bonded", "stranger, asked again",
            "bonded, asked again", "wanted", "wanted",
        ],
        "none, ending: wanted": [
            "wanted, ending: wanted", "none, ending: wanted", "none, ending: stranger", "none, ending: bonded",
            "none, ending: wanted", "none, ending: wanted", "none", "none, ending: wanted",
        ],
        "none, ending: bonded": [
            "wanted, ending: bonded", "none, ending: bonded", "none, ending: stranger", "none, ending: bonded",
            "none, ending: stranger", "none, ending: bonded", "none", "none, ending: wanted",
        ],
        "wanted, ending: stranger": [
            "wanted, ending: stranger", "none, ending: stranger, wanted", "wanted, ending: stranger",
            "wanted, ending: bonded", "wanted, ending: stranger", "wanted, ending: bonded", "wanted",
            "wanted, ending: wanted",
        ],
        "wanted, ending: wanted": [
            "wanted, ending: wanted", "none, ending: wanted, wanted", "wanted, ending: stranger",
            "wanted, ending: bonded", "wanted, ending: wanted", "wanted, ending: wanted", "wanted",
            "wanted, ending: wanted",
        ],
        "none, ending: wanted, wanted": [
            "wanted, ending: wanted, wanted", "none, ending: wanted, wanted", "none, ending: stranger, wanted",
            "none, ending: bonded, wanted", "none, ending: wanted, wanted", "none, ending: wanted, wanted",
            "none, ending: wanted", "none, ending: wanted, wanted",
        ],
    ]

    @Test("The connection: every state and every event", arguments: connections.map(\.title))
    func connection(_ title: String) throws {
        let events = try #require(Self.connections.first { $0.title == title }).events
        let expected = try #require(Self.afterwards[title])
        for (input, after) in zip(ConnectionInput.allCases, expected) {
            var bench = PeerSessionBench()
            for event in events { bench.enter(event) }
            #expect(bench.connection == title)
            bench.enter(input)
            #expect(bench.connection == after, "after \(input)")
            #expect(bench.said.isEmpty)
        }
    }

    @Test("A session of nobody is empty once all that was given up has ended")
    func empty() {
        var bench = PeerSessionBench()
        for input: ConnectionInput in [.wanted, .stranger, .withdrawn, .wanted, .withdrawn] { bench.enter(input) }
        bench.enter(.ended)
        #expect(!bench.session.isEmpty)
        bench.enter(.ended)
        #expect(bench.session.isEmpty)
    }

    // MARK: The tree

    /// Every state of a tree, by what leads there, on a link of a bonded peer.
    static let trees: [(title: String, events: [TreeInput])] = [
        ("unknown", []), ("kept", [.kept]), ("checked", [.discovered]), ("changed", [.discovered, .invalidated]),
        ("changed, nothing left", [.invalidated]),
    ]

    static let adopted = "keep 2, services 2, setNotify 0x3 0x4"
    static let anew = "discoverDatabase"

    /// By state, in the order of ``TreeInput``: the state afterwards, and what is said.
    static let treesAfterwards: [String: [(String, String)]] = [
        "unknown": [
            ("kept", ""), ("checked", adopted), ("unknown", "no services"), ("checked", adopted), ("unknown", anew),
            ("changed", "keep 0"), ("unknown", ""), ("unknown", ""),
        ],
        "kept": [
            ("kept", ""), ("checked", adopted), ("kept", "no services"), ("checked", adopted), ("kept", anew),
            ("changed", "keep 0"), ("kept", ""), ("unknown", ""),
        ],
        "checked": [
            ("checked", ""), ("checked", adopted), ("checked", "no services"), ("checked", adopted),
            ("checked", anew), ("changed", "keep 0"), ("kept", ""), ("unknown", ""),
        ],
        "changed": [
            ("changed", ""), ("checked", adopted), ("changed", "no services"), ("checked", adopted),
            ("changed", anew), ("changed", "keep 0"), ("changed", ""), ("unknown", ""),
        ],
        "changed, nothing left": [
            ("changed", ""), ("checked", adopted), ("changed", "no services"), ("checked", adopted),
            ("changed", anew), ("changed", "keep 0"), ("changed", ""), ("unknown", ""),
        ],
    ]

    @Test("The tree: every state and every event", arguments: trees.map(\.title))
    func tree(_ title: String) throws {
        let events = try #require(Self.trees.first { $0.title == title }).events
        let expected = try #require(Self.treesAfterwards[title])
        for (input, after) in zip(TreeInput.allCases, expected) {
            var bench = PeerSessionBench()
            for event in events { bench.enter(event) }
            bench.outputs = []
            bench.enter(input)
            #expect(bench.tree == after.0, "after \(input)")
            #expect(bench.said == after.1, "after \(input)")
        }
    }

    struct Discovery: CustomTestStringConvertible, Sendable {
        let state: String
        let isBonded: Bool?
        /// Of the host: nil for no tree, else its hash.
        let kept: [UInt8]??
        let said: String
        var testDescription: String { "\(state), bonded: \(String(describing: isBonded)) → \(said)" }

        init(_ state: String, _ isBonded: Bool?, kept: [UInt8]?? = .some(nil), _ said: String) {
            self.state = state
            self.isBonded = isBonded
            self.kept = kept
            self.said = said
        }
    }

    static let discoveries = [
        Discovery("unknown", nil, "no services"), Discovery("checked", nil, "no services"),
        Discovery("unknown", true, kept: nil, anew), Discovery("unknown", true, "services 2"),
        Discovery("unknown", false, kept: nil, anew), Discovery("unknown", false, anew),
        Discovery("unknown", false, kept: [7], "readByUUID 2B2A"),
        Discovery("kept", true, "services 2"), Discovery("kept", false, "readByUUID 2B2A"),
        Discovery("checked", true, "services 2"), Discovery("checked", false, "services 2"),
        Discovery("changed", true, anew), Discovery("changed", false, anew),
        Discovery("changed, nothing left", true, anew), Discovery("changed, nothing left", false, anew),
    ]

    @Test(
        "Services that an app asks for: from the peer, from what is kept, or after a look at its hash",
        arguments: discoveries)
    func discover(_ discovery: Discovery) throws {
        var bench = PeerSessionBench()
        for event in try #require(Self.trees.first { $0.title == discovery.state }).events { bench.enter(event) }
        bench.outputs = []
        let kept: RemoteDatabase? = discovery.kept.map {
            RemoteDatabase(hash: $0, services: PeerSessionBench.database.services)
        }
        bench.feed(.discover(nil, isBonded: discovery.isBonded, kept: kept))
        #expect(bench.said == discovery.said)
    }

    @Test("attack: a stranger that comes back with another tree gets no operation of its old one")
    func strangersTree() {
        var bench = PeerSessionBench()
        bench.enter(.wanted)
        bench.enter(.stranger)
        bench.enter(.discovered)
        bench.enter(.ended)
        bench.enter(.stranger)
        bench.outputs = []
        bench.feed(.call(.write(bench.characteristic, [1]), of: bench.peripheral))
        #expect(bench.said == "wrote invalidHandle")
    }

    @Test("attack: a peer whose bond is gone is no longer believed to have the tree that it had")
    func formerlyBonded() {
        var bench = PeerSessionBench()
        for input: ConnectionInput in [.wanted, .bonded] { bench.enter(input) }
        bench.enter(.discovered)
        for input: ConnectionInput in [.ended, .wanted, .stranger] { bench.enter(input) }
        bench.outputs = []
        bench.feed(.discover(nil, isBonded: false, kept: nil))
        #expect(bench.said == "readByUUID 2B2A")
    }

    // MARK: Calls

    /// What the host is asked for each call, what the app hears when there is no such attribute, and how it ends.
    static let calls: [(title: String, asked: String, unknown: String, done: String, failed: String)] = [
        ("read", "read 0x7", "read nothing invalidHandle", "read [1, 2]", "read nothing notConnected"),
        (
            "readDescriptor", "read 0x8", "descriptor nothing invalidHandle", "descriptor [1, 2]",
            "descriptor nothing notConnected"
        ),
        ("write", "write 0x7 [9]", "wrote invalidHandle", "wrote", "wrote notConnected"),
        (
            "writeDescriptor", "write 0x9 [9]", "wrote descriptor invalidHandle", "wrote descriptor",
            "wrote descriptor notConnected"
        ),
        ("writeConfiguration", "wrote descriptor invalidHandle", "wrote descriptor invalidHandle", "", ""),
        ("writeWithoutResponse", "command 0x7 [9]", "command ended", "command ended", "command ended"),
        (
            "signedWrite", "signed 0x7 [9]", "signed with nothing invalidHandle", "signed with 4",
            "signed with nothing notConnected"
        ),
        ("datedWrite", "command 0x7 [9] until 5", "not written", "", "not written"),
        ("datedSignedWrite", "signed 0x7 [9] until 5", "not written", "", "not written"),
        (
            "subscribe", "setNotify 0x7 0x8", "notifying true invalidHandle", "notifying true",
            "notifying true notConnected"
        ),
        (
            "unsubscribe", "unsubscribe 0x7 0x8", "notifying false invalidHandle", "notifying false",
            "notifying false notConnected"
        ),
        ("readRSSI", "rssi", "rssi", "rssi -40", "rssi 127 notConnected"),
        ("includedServices", "included 1", "no included", "", ""),
        ("characteristics", "characteristics 1", "no characteristics", "", ""),
        ("descriptors", "descriptors 2", "no descriptors", "", ""),
    ]

    @Test("Every call: what the host is asked, and its one end", arguments: calls.map(\.title))
    func call(_ title: String) throws {
        let row = try #require(Self.calls.first { $0.title == title })
        var bench = PeerSessionBench()
        let call = try #require(bench.call(title))
        bench.feed(.call(call, of: bench.peripheral))
        #expect(bench.said == row.unknown.replacing("invalidHandle", with: "notConnected"), "nobody is there")
        bench.enter(.wanted)
        bench.enter(.bonded)
        bench.outputs = []
        bench.feed(.call(call, of: bench.peripheral))
        #expect(bench.said == row.unknown, "nothing is known")
        bench.enter(.discovered)
        bench.outputs = []
        bench.feed(.call(call, of: bench.peripheral))
        #expect(bench.said == row.asked)
        guard case .ask(_, let purpose)? = bench.outputs.last else { return #expect(row.done.isEmpty) }
        bench.session.began(purpose, OperationToken(rawValue: 3))
        let ended = bench.session.take(OperationToken(rawValue: 3))
        let taken = try #require(ended)
        let endedAgain = bench.session.take(OperationToken(rawValue: 3))
        #expect(endedAgain == nil, "one end for each")
        bench.outputs = []
        bench.feed(.completed(taken, .success(PeerSessionBench.value(for: title))))
        #expect(bench.said == row.done)
        bench.outputs = []
        bench.feed(.completed(taken, .failure(.notConnected)))
        #expect(bench.said == row.failed)
        bench.outputs = []
        bench.feed(.notBegun(taken))
        #expect(bench.said == row.failed, "no host")
    }

    @Test("A tree that the host does not keep any more is unknown to a session without a connection, and to no other")
    func treeChangedElsewhere() {
        var bench = PeerSessionBench()
        bench.enter(.wanted)
        bench.enter(.bonded)
        bench.enter(.discovered)
        bench.feed(.treeChanged)
        #expect(bench.tree == "checked")
        bench.enter(.lost)
        #expect(bench.tree == "kept")
        bench.feed(.treeChanged)
        #expect(bench.tree == "unknown" && bench.connection == "wanted")
    }

    @Test("A subscription counts once the peer has taken it, and ends with what it was to")
    func subscriptions() {
        var bench = PeerSessionBench()
        bench.enter(.wanted)
        bench.enter(.bonded)
        bench.enter(.discovered)
        let subscribe = PeerSession.Purpose.call(.setNotify(bench.characteristic, true))
        bench.feed(.completed(subscribe, .failure(.notConnected)))
        #expect(bench.session.subscriptions.isEmpty)
        bench.feed(.completed(subscribe, .success(.gatt(.done))))
        #expect(bench.session.subscriptions == [AttributeHandle(7)])
        bench.enter(.ended)
        #expect(bench.session.subscriptions == [AttributeHandle(7)], "a bonded peer remembers")
        bench.feed(.invalidated(AttributeHandle(8)...AttributeHandle(9)))
        #expect(bench.session.subscriptions == [AttributeHandle(7)])
        bench.feed(.invalidated(AttributeHandle(5)...AttributeHandle(7)))
        #expect(bench.session.subscriptions.isEmpty)
    }
}
