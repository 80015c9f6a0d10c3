import Foundation
import Testing

/// One cell of the restoration matrix: an app, its peer, and a radio between them, each a process of its own.
///
/// A test calls ``prepare()``, does what its row is about to the app, with ``meanwhile()`` while the app is away, and then
/// ``verify()``. What is believed is what the two apps print.
final class MatrixCell {
    let wish: Wish
    let air: Air
    private(set) var app: App
    private var peer: App

    /// `runner` makes the words of a program that runs the app's first life, given the air's directory.
    init(_ wish: Wish, under runner: (String) throws -> [String] = { _ in [] }) async throws {
        self.wish = wish
        air = try await Air()
        app = try Self.start(air, "app", 1, wish.role, runner: runner(air.directory.path))
        peer = try Self.start(air, "peer", 2, wish.peerRole)
        for side in [app, peer] { _ = try await side.lines(until: "state: poweredOn") }
    }

    // MARK: Processes

    /// Where the app keeps its state, in the air's directory.
    static func state(_ directory: String) -> String { directory + "/app" }

    private static func start(
        _ air: Air, _ name: String, _ adapter: Int, _ role: String, runner: [String] = []
    ) throws -> App {
        let path = air.directory.path
        return try air.start(
            "MatrixApp", [role], adapter: adapter, environment: ["LATCH_STATE": "\(path)/\(name)"], runner: runner)
    }

    /// The app's next life, with the program `runner` around it.
    func relaunch(under runner: [String] = []) throws {
        app = try Self.start(air, "app", 1, wish.role, runner: runner)
    }

    /// The app's next life, which is restored and asks for nothing.
    func restart(under runner: [String] = []) async throws {
        try relaunch(under: runner)
        let lines = try await app.lines(until: "state: poweredOn")
        #expect(lines == [wish.restored, "state: poweredOn"])
    }

    private func startPeer() async throws {
        peer = try Self.start(air, "peer", 2, wish.peerRole)
        _ = try await peer.lines(until: "state: poweredOn")
    }

    private func tell(_ side: App, _ command: String, until answer: String) async throws {
        try side.type(command)
        _ = try await side.lines(until: answer)
    }

    /// Until everything that the app has asked for is kept.
    private func sync() async throws { try await tell(app, "sync", until: "kept") }

    /// What the peer prints, up to a line.
    func peerSays(_ line: String) async throws -> [String] { try await peer.lines(until: line) }

    // MARK: The cell

    /// The app asks for what the column names.
    func prepare() async throws {
        switch wish {
        case .scan:
            try await tell(peer, "publish", until: "published")
            try app.type("scan")
            try await sync()
        case .pendingConnection:
            try await advertise(peer)
            try await find(peer, from: app)
            await peer.kill()
            try app.type("connect")
            try await sync()
        case .connectedPeer: try await connect(app, to: peer)
        case .subscriptions: try await subscribe(app, to: peer)
        case .services: try await subscribe(peer, to: app)
        case .advertising: try await advertise(app)
        case .undeliveredUpdates:
            try await subscribe(peer, to: app)
            await peer.kill()
            try await tell(app, "update kept", until: "updated: kept")
            try await sync()
        }
    }

    /// The app asks for a connection to a peer that is there, and that it wants to begin in so many seconds.
    func prepareConnection(delaySeconds: Int) async throws {
        try await advertise(peer)
        try await find(peer, from: app)
        try app.type("connect-later \(delaySeconds)")
        try await sync()
    }

    /// Both sides' controllers go, and others come: the processes go on. `isSwitchedOff`: meanwhile the app's adapter is there, and off.
    func replug(isSwitchedOff: Bool = false) async throws {
        try await air.unplug()
        _ = try await app.lines(until: "state: resetting")
        if isSwitchedOff {
            let socket = try BusySocket(air.directory.path + "/air.1")
            defer { withExtendedLifetime(socket) {} }
            _ = try await app.lines(until: "state: poweredOff")
        }
        try await air.plug()
        _ = try await app.lines(until: "state: poweredOn")
        if wish != .pendingConnection, wish != .undeliveredUpdates {
            _ = try await peer.lines(until: "state: poweredOn")
        }
    }

    /// What the peer does while the app is away.
    func meanwhile() async throws {
        switch wish {
        case .scan: try await tell(peer, "advertise", until: "advertising")
        case .pendingConnection: try await startPeer()
        case .subscriptions: try await tell(peer, "update first", until: "updated: first")
        case .connectedPeer, .services, .advertising, .undeliveredUpdates: break
        }
    }

    /// What was asked for goes on. `isLinked`: the link has not ended.
    func verify(isLinked: Bool = false) async throws {
        switch wish {
        case .scan: _ = try await app.lines(until: "found")
        case .pendingConnection:
            _ = try await app.lines(until: "connected")
            try await read(from: app, of: peer)
        case .connectedPeer:
            if !isLinked { _ = try await app.lines(until: "connected") }
            try await read(from: app, of: peer)
        case .subscriptions:
            _ = try await app.lines(until: "heard: first")
            try await tell(peer, "update second", until: "updated: second")
            _ = try await app.lines(until: "heard: second")
        case .services:
            try await tell(app, "update second", until: "updated: second")
            var heard = try await peer.lines(until: "heard: second")
            try peer.type("read")
            heard += try await peer.lines(until: "read: hello")
            // The handles are the ones that the peer knows.
            #expect(!heard.contains("services changed") && !heard.contains("discovered"), "\(heard)")
        case .advertising:
            try peer.type("scan")
            _ = try await peer.lines(until: "found")
        case .undeliveredUpdates:
            try await startPeer()
            _ = try await peer.lines(until: "heard: kept")
        }
    }

    private func advertise(_ peripheral: App) async throws {
        try await tell(peripheral, "publish", until: "published")
        try await tell(peripheral, "advertise", until: "advertising")
    }

    private func find(_ peripheral: App, from central: App) async throws {
        try await tell(central, "scan", until: "found")
        try central.type("stop")
    }

    private func connect(_ central: App, to peripheral: App) async throws {
        try await advertise(peripheral)
        try await find(peripheral, from: central)
        try await tell(central, "connect", until: "connected")
    }

    private func subscribe(_ central: App, to peripheral: App) async throws {
        try await connect(central, to: peripheral)
        try await tell(central, "subscribe", until: "subscribed")
        _ = try await peripheral.lines(until: "subscriber came")
    }

    private func read(from central: App, of peripheral: App) async throws {
        try await tell(central, "read", until: "read: hello")
        _ = try await peripheral.lines(until: "was read")
    }
}

extension Wish {
    fileprivate var peerRole: String { role == "central" ? "peripheral" : "central" }
}
