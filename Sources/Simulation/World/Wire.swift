import VirtualRadio

/// The wire between a host and its controller, with its faults. What passes is recorded as the host sees it: a packet that a
/// fault swallows on the way to the host is not in a capture, and one that a test makes up is.
package final class Wire {
    /// Packets that get lost on their way to the controller.
    package var loses: ([UInt8]) -> Bool = { _ in false }
    /// What the host's packets are when they reach the controller.
    package var outgoing: ([UInt8]) -> [UInt8] = { $0 }
    /// A controller's packets that the host never gets.
    package var withholds: ([UInt8]) -> Bool = { _ in false }
    /// A controller's packets that the host gets as soon as this says so no more.
    package var delays: ([UInt8]) -> Bool = { _ in false }
    /// A controller's packets that the host gets twice.
    package var doubles: ([UInt8]) -> Bool = { _ in false }
    /// What a controller's packets are when they reach the host.
    package var rewrites: ([UInt8]) -> [UInt8] = { $0 }

    package private(set) var controller: ControllerID
    private let air: SharedAir
    private let hardware: ControllerConfiguration
    private let recording: (any WireRecorder)?
    private var delayed: [[UInt8]] = []

    init(
        _ air: SharedAir, _ controller: ControllerID, _ hardware: ControllerConfiguration,
        _ recording: (any WireRecorder)?
    ) {
        self.air = air
        self.controller = controller
        self.hardware = hardware
        self.recording = recording
    }

    /// One packet of the host's; whether it was not lost.
    @discardableResult
    package func send(_ packet: [UInt8]) -> Bool {
        guard !loses(packet) else { return false }
        recording?.record(packet, isFromHost: true, atNanoseconds: air.radio.now)
        air.radio.send(outgoing(packet), from: controller)
        return true
    }

    /// Nothing is wrong with it any more.
    package func mend() {
        loses = { _ in false }
        outgoing = { $0 }
        withholds = { _ in false }
        delays = { _ in false }
        doubles = { _ in false }
        rewrites = { $0 }
    }

    /// What the host gets now.
    package func receive() -> [[UInt8]] { receiveTimed().map(\.octets) }

    /// As `receive`, with the instant at which each left the controller, or came to an end of its delay.
    package func receiveTimed() -> [(instant: UInt64, octets: [UInt8])] {
        let heard =
            delayed.map { (instant: air.radio.now, octets: $0) }
            + air.radio.drainTimed(controller).filter { !withholds($0.octets) }
        let isLate = heard.map { delays($0.octets) }
        delayed = zip(heard, isLate).filter(\.1).map(\.0.octets)
        let received = zip(heard, isLate).filter { !$0.1 }.map(\.0).flatMap { packet in
            let rewritten = (instant: packet.instant, octets: rewrites(packet.octets))
            return doubles(packet.octets) ? [rewritten, rewritten] : [rewritten]
        }
        for packet in received { recording?.record(packet.octets, isFromHost: false, atNanoseconds: packet.instant) }
        return received
    }

    /// Packets that reach the host, and that no controller has sent.
    func recordInjected(_ packets: [[UInt8]]) {
        for packet in packets { recording?.record(packet, isFromHost: false, atNanoseconds: air.radio.now) }
    }

    /// The host's connection closes: another controller of the same make stands behind the wire then.
    package func replug() {
        air.radio.unplug(controller)
        controller = air.radio.addController(hardware)
    }
}
