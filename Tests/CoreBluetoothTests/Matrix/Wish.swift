import Testing

/// A column of the restoration matrix: what an app has asked for, or has standing, when something happens to it.
enum Wish: String, CaseIterable, CustomTestStringConvertible, Sendable {
    case scan
    case pendingConnection = "pending connection"
    case connectedPeer = "connected peer"
    case subscriptions
    case services = "services and subscribers"
    case advertising
    case undeliveredUpdates = "undelivered updates"

    var testDescription: String { rawValue }

    /// Which side of the air the app is on; its peer is on the other.
    var role: String {
        switch self {
        case .scan, .pendingConnection, .connectedPeer, .subscriptions: "central"
        case .services, .advertising, .undeliveredUpdates: "peripheral"
        }
    }

    /// What the app is told at its next launch.
    var restored: String {
        switch self {
        case .scan: "restored: scanning, 0 peers, not listening"
        case .pendingConnection, .connectedPeer: "restored: not scanning, 1 peers, not listening"
        case .subscriptions: "restored: not scanning, 1 peers, listening"
        case .services, .undeliveredUpdates: "restored: 1 services, 1 subscribers, advertising"
        case .advertising: "restored: 1 services, 0 subscribers, advertising"
        }
    }
}
