import BluetoothCore

/// One pairing by a setup code, which bluetoothd makes and this side watches: the old bond goes, the peer is found, the kernel is given the
/// code, and only then does bluetoothd pair.
///
/// Whatever bluetoothd asks this side's agent meanwhile is refused: a pairing by a code asks nothing, and another one is not wanted.
///
/// BlueZ, doc/mgmt-api.txt (Add Remote Out Of Band Data Command), doc/device-api.txt (Pair)
struct BlueZPairing: Equatable, Sendable {
    enum Step: Equatable, Sendable {
        /// bluetoothd has a bond with it, and was told to forget it.
        case removing(device: String)
        /// Nothing is heard of it yet.
        case finding
        /// Somebody with the right to do so gives the kernel the code.
        case providing(device: String)
        case pairing(device: String)
        /// Both have the bond. The link that it was made on proves nothing of it.
        case leaving(device: String)
    }

    let address: DeviceAddress
    var step = Step.finding
    /// When it has failed.
    let until: Instant

    /// As long as a window may be open for a peer, and a pairing behind that.
    static let timeoutMilliseconds: UInt64 = 60_000

    init(_ address: DeviceAddress, now: Instant) {
        self.address = address
        until = now.advanced(byMilliseconds: Self.timeoutMilliseconds)
    }

    var needsDiscovery: Bool {
        switch step {
        case .finding, .providing: true
        case .removing, .pairing, .leaving: false
        }
    }
}

/// Why bluetoothd has not paired.
package enum BlueZPairingFailure: Error, Hashable, Sendable, CustomStringConvertible {
    case notPoweredOn
    /// Another one is under way.
    case busy
    /// The peer was not heard, or did not come to an end.
    case timedOut
    /// bluetoothd does not forget the bond that it has.
    case notForgotten(String)
    /// Nobody here may give the kernel a code.
    case codeNotTaken(String)
    /// As bluetoothd says it.
    case refused(String)

    package var description: String {
        switch self {
        case .notPoweredOn: "the adapter is off"
        case .busy: "bluetoothd is pairing with another device"
        case .timedOut: "it took too long"
        case .notForgotten(let reason): "bluetoothd keeps its old bond: \(reason)"
        case .codeNotTaken(let reason): "the setup code cannot be given to the kernel: \(reason)"
        case .refused(let reason): "bluetoothd: \(reason)"
        }
    }
}
