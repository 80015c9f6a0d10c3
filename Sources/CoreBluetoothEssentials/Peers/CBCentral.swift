import BluetoothCore
import BluetoothHost
import Synchronization

/// A central that connected to this side, or subscribed and is away.
public final class CBCentral: CBPeer, @unchecked Sendable {
    struct State: Sendable {
        var maximumUpdateValueLength = CBCentral.updateLengthMinimumOctets
        var link: LinkInfo?
    }

    /// What a notification carries at the default ATT_MTU of 23.
    static let updateLengthMinimumOctets = 20
    /// Core 5.4, Vol 3, Part F, 3.4.7.1 (ATT_HANDLE_VALUE_NTF)
    static let notificationHeaderOctets = 3

    let state = Mutex(State())

    /// Octets of a value that one notification carries to this central; more are cut.
    public var maximumUpdateValueLength: Int { state.withLock { $0.maximumUpdateValueLength } }
}
