import Testing
import VirtualRadio

/// One virtual air, shared by who is on it, and what is recorded of it when a test's failure is to be captured.
package final class SharedAir {
    package var radio: VirtualRadio
    /// nil while nobody asked for captures.
    private let recording: AirRecording?

    package init(
        _ configuration: AirConfiguration = AirConfiguration(), sourceLocation: SourceLocation = #_sourceLocation
    ) {
        radio = VirtualRadio(configuration: configuration)
        guard let scope = CaptureScope.current else {
            Issue.record(
                "The suite of this test makes an air and lacks the trait `.capturesFailures`",
                sourceLocation: sourceLocation)
            recording = nil
            return
        }
        recording = scope.beginRecording()
    }

    /// Plugs a controller in. `name`: of its host, in captures; by default one that no other has.
    package func plug(
        _ name: String? = nil, _ hardware: ControllerConfiguration = ControllerConfiguration()
    ) -> Wire {
        let controller = radio.addController(hardware)
        let name = name ?? "controller-\(controller)"
        return Wire(self, controller, hardware, recording?.beginRecording(of: name))
    }
}
