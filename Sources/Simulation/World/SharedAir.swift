import VirtualRadio

/// One virtual air, shared by who is on it, and what is recorded of it where somebody wants that.
package final class SharedAir {
    package var radio: VirtualRadio
    private let recorder: (any AirRecorder)?

    package init(_ configuration: AirConfiguration, recorder: (any AirRecorder)?) {
        radio = VirtualRadio(configuration: configuration)
        self.recorder = recorder
    }

    /// Plugs a controller in. `name`: of its host, in captures; by default one that no other has.
    package func plug(
        _ name: String? = nil, _ hardware: ControllerConfiguration = ControllerConfiguration()
    ) -> Wire {
        let controller = radio.addController(hardware)
        let name = name ?? "controller-\(controller)"
        return Wire(self, controller, hardware, recorder?.beginRecording(of: name))
    }
}

/// Takes down what the hosts and the controllers of one air say to each other.
package protocol AirRecorder: AnyObject {
    /// A second host of the same name is told from the first.
    func beginRecording(of name: String) -> any WireRecorder
}

/// Takes down what passes one wire.
package protocol WireRecorder: AnyObject {
    /// One H4 packet, at an instant of the virtual clock.
    func record(_ octets: [UInt8], isFromHost: Bool, atNanoseconds instant: UInt64)
}
