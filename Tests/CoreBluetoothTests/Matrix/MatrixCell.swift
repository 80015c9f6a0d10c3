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

    init(_ wish: Wish) throws {
        self.wish = wish
        air = try Air()
        app = try Self.start(air, "app", 1, wish.role)
        peer = try Self.start(air, "peer", 2, wish.peerRole)
        for side in [app, peer] { _ = try side.lines(until: "state: poweredOn") }
    }

    // MARK: Processes

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
    func restart(under runner: [String] = []) throws {
        try relaunch(under: runner)
        let lines = try app.lines(until: "state: poweredOn")
        #expect(lines == [wish.restored, "state: poweredOn"])
    }

    private func startPeer() throws {
        peer = try Self.start(air, "peer", 2, wish.peerRole)
        _ = try peer.lines(until: "state: poweredOn")
    }

    private func tell(_ side: App, _ command: String, until answer: String) throws {
        try side.type(command)
        _ = try side.lines(until: answer)
    }

    /// Until everything that the app has asked for is kept.
    private func sync() throws { try tell(app, "sync", until: "kept") }

    /// What the peer prints, up to a line.
    func peerSays(_ line: String) throws -> [String] { try peer.lines(until: line) }

    // MARK: The cell

    /// The app asks for what the column names.
    func prepare() throws {
        switch wish {
        case .scan:
            try tell(peer, "publish", until: "published")
            try app.type("scan")
            try sync()
        case .pendingConnection:
            try advertise(peer)
            try find(peer, from: app)
            peer.kill()
            try app.type("connect")
            try sync()
        case .connectedPeer: try connect(app, to: peer)
        case .subscriptions: try subscribe(app, to: peer)
        case .services: try subscribe(peer, to: app)
        case .advertising: try advertise(app)
        case .undeliveredUpdates:
            try subscribe(peer, to: app)
            peer.kill()
            try tell(app, "update kept", until: "updated: kept")
            try sync()
        }
    }

    /// Both sides' controllers go, and others come: the processes go on. `isSwitchedOff`: meanwhile the app's adapter is there, and off.
    func replug(isSwitchedOff: Bool = false) throws {
        try air.unplug()
        _ = try app.lines(until: "state: resetting")
        if isSwitchedOff {
            let socket = try BusySocket(air.directory.path + "/air.1")
            _ = try withExtendedLifetime(socket) { try app.lines(until: "state: poweredOff") }
        }
        try air.plug()
        _ = try app.lines(until: "state: poweredOn")
        if wish != .pendingConnection, wish != .undeliveredUpdates { _ = try peer.lines(until: "state: poweredOn") }
    }

    /// What the peer does while the app is away.
    func meanwhile() throws {
        switch wish {
        case .scan: try tell(peer, "advertise", until: "advertising")
        case .pendingConnection: try startPeer()
        case .subscriptions: try tell(peer, "update first", until: "updated: first")
        case .connectedPeer, .services, .advertising, .undeliveredUpdates: break
        }
    }

    /// What was asked for goes on. `isLinked`: the link has not ended.
    func verify(isLinked: Bool = false) throws {
        switch wish {
        case .scan: _ = try app.lines(until: "found")
        case .pendingConnection:
            _ = try app.lines(until: "connected")
            try read(from: app, of: peer)
        case .connectedPeer:
            if !isLinked { _ = try app.lines(until: "connected") }
            try read(from: app, of: peer)
        case .subscriptions:
            _ = try app.lines(until: "heard: first")
            try tell(peer, "update second", until: "updated: second")
            _ = try app.lines(until: "heard: second")
        case .services:
            try tell(app, "update second", until: "updated: second")
            var heard = try peer.lines(until: "heard: second")
            try peer.type("read")
            heard += try peer.lines(until: "read: hello")
            // The handles are the ones that the peer knows.
            #expect(!heard.contains("services changed") && !heard.contains("discovered"), "\(heard)")
        case .advertising:
            try peer.type("scan")
            _ = try peer.lines(until: "found")
        case .undeliveredUpdates:
            try startPeer()
            _ = try peer.lines(until: "heard: kept")
        }
    }

    private func advertise(_ peripheral: App) throws {
        try tell(peripheral, "publish", until: "published")
        try tell(peripheral, "advertise", until: "advertising")
    }

    private func find(_ peripheral: App, from central: App) throws {
        try tell(central, "scan", until: "found")
        try central.type("stop")
    }

    private func connect(_ central: App, to peripheral: App) throws {
        try advertise(peripheral)
        try find(peripheral, from: central)
        try tell(central, "connect", until: "connected")
    }

    private func subscribe(_ central: App, to peripheral: App) throws {
        try connect(central, to: peripheral)
        try tell(central, "subscribe", until: "subscribed")
        _ = try peripheral.lines(until: "subscriber came")
    }

    private func read(from central: App, of peripheral: App) throws {
        try tell(central, "read", until: "read: hello")
        _ = try peripheral.lines(until: "was read")
    }
}

extension Wish {
    fileprivate var peerRole: String { role == "central" ? "peripheral" : "central" }
}
