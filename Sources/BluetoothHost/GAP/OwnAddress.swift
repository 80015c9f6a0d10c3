import BluetoothCore
import HCI

/// Keeps the controller's random address as it is wanted. The controller takes another one only while nothing uses it:
/// whoever does rests as long as the controller has yet to be told.
///
/// Core 5.4, Vol 4, Part E, 7.8.4 (LE Set Random Address command)
package struct OwnAddress {
    package var wanted: DeviceAddress { didSet { if wanted != oldValue { failure = nil } } }
    package private(set) var told: DeviceAddress?
    package private(set) var failure: HCIErrorCode?

    private var outstanding: DeviceAddress?

    package init(wanted: DeviceAddress) { self.wanted = wanted }

    /// Whoever uses the address starts nothing, and ends what runs.
    package var mustRest: Bool { told != wanted }

    /// The address to tell the controller, once everybody who uses it is at rest.
    package mutating func next(isUnused: Bool) -> DeviceAddress? {
        guard mustRest, isUnused, outstanding == nil, failure == nil else { return nil }
        outstanding = wanted
        return wanted
    }

    package mutating func completed(_ status: HCIErrorCode) {
        guard let address = outstanding else { return }
        outstanding = nil
        if status == .success { told = address } else { failure = status }
    }

    /// What was refused may be asked once more.
    package mutating func retry() { failure = nil }

    /// The controller forgot it.
    package mutating func reset() { self = Self(wanted: wanted) }
}
