/// Simulated LE controllers on one air under a virtual clock: what a test or the simulator holds, one per world.
///
/// Hosts meet it as they meet hardware, in H4 packets. Nothing happens but by `send`, `advance` and the faults, and the
/// same calls with the same seed give the same octets at the same instants.
package struct VirtualRadio: Sendable {
    private var air: Air

    package init(configuration: AirConfiguration = AirConfiguration()) { air = Air(configuration: configuration) }

    /// Nanoseconds since the clock's origin.
    package var now: UInt64 { air.now }

    /// When something next happens by itself; nil when nothing will.
    package var nextEventInstant: UInt64? { air.nextEventInstant }

    /// Lets everything that is due by `instant` happen, in order. An instant in the past changes nothing.
    package mutating func advance(toNanoseconds instant: UInt64) { air.advance(to: instant) }

    /// Plugs a controller in. Ordinals count from 1 and are never used twice.
    package mutating func addController(_ configuration: ControllerConfiguration = ControllerConfiguration())
        -> ControllerID
    { air.addController(configuration) }

    /// One H4 packet, its type octet first, from the host of a controller. What is no such packet is answered with
    /// Hardware Error.
    package mutating func send(_ packet: [UInt8], from controller: ControllerID) {
        air.receive(packet.span, from: controller)
        air.settle()
    }

    /// The H4 packets that the host of this controller has not taken yet, oldest first.
    package mutating func drain(_ controller: ControllerID) -> [[UInt8]] { drainTimed(controller).map(\.octets) }

    /// As `drain`, with the instant at which each left the controller.
    package mutating func drainTimed(_ controller: ControllerID) -> [(instant: UInt64, octets: [UInt8])] {
        air.takePackets(of: controller)
    }

    /// All distances are 1 m until set.
    package mutating func setDistance(_ a: ControllerID, _ b: ControllerID, metres: Double) {
        air.setDistance(.ordinal(a), .ordinal(b), metres: metres)
    }

    /// The share of packets lost between two controllers, in percent. 100 is a cut.
    package mutating func setLoss(_ a: ControllerID, _ b: ControllerID, percent: Double) {
        air.setLoss(.ordinal(a), .ordinal(b), percent: percent)
    }

    /// From now on nothing passes between the two.
    package mutating func cut(_ a: ControllerID, _ b: ControllerID) { air.setCut(.ordinal(a), .ordinal(b), true) }

    /// Undoes `cut`.
    package mutating func join(_ a: ControllerID, _ b: ControllerID) { air.setCut(.ordinal(a), .ordinal(b), false) }

    /// A controller without power is silent to its host and on the air, and forgets everything. One that comes back says
    /// Hardware Error, as controllers that reset themselves do.
    package mutating func power(_ controller: ControllerID, on: Bool) { air.setPower(controller, on: on) }

    /// Hardware Error, out of nothing.
    package mutating func failHardware(_ controller: ControllerID, code: UInt8) {
        air.failHardware(of: controller, code: code)
    }

    /// Octets that are no packet, on their way to the host.
    package mutating func injectOctets(_ octets: [UInt8], to controller: ControllerID) {
        air.injectOctets(octets, to: controller)
    }

    /// Does what a line of the control socket asks, captures aside; the rest of the answer, or nil for what is refused.
    package mutating func perform(controlLine line: String) -> String? {
        guard let command = try? ControlCommand(line) else { return nil }
        return try? air.perform(command)
    }

    /// Takes a controller away for good; its peers see the supervision timeout.
    package mutating func unplug(_ controller: ControllerID) { air.removeController(controller) }
}
