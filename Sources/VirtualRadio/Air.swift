/// The pure value in which controllers meet.
package struct Air: Sendable {
    package private(set) var now: UInt64
    package var nextEventInstant: UInt64? { nil }
    private var last = 0

    package init(configuration: AirConfiguration) { now = configuration.startNanoseconds }

    mutating func addController(_ configuration: ControllerConfiguration) -> ControllerID {
        last += 1
        return ControllerID(ordinal: last)
    }
    mutating func removeController(_ controller: ControllerID) {}
    mutating func receive(_ packet: Span<UInt8>, from controller: ControllerID) {}
    mutating func settle() {}
    mutating func advance(to instant: UInt64) { now = max(now, instant) }
    mutating func takePackets(of controller: ControllerID) -> [(instant: UInt64, octets: [UInt8])] { [] }
    mutating func setDistance(_ a: RadioName, _ b: RadioName, metres: Double) {}
    mutating func setLoss(_ a: RadioName, _ b: RadioName, percent: Double) {}
    mutating func setCut(_ a: RadioName, _ b: RadioName, _ isCut: Bool) {}
    mutating func setPower(_ controller: ControllerID, on: Bool) {}
}

enum RadioName: Hashable, Sendable {
    case ordinal(ControllerID)
    case address(UInt64)
}
