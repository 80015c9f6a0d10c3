import BluetoothHost
import HCITransport
import HostComposition

extension TransportAddress {
    /// What an operator is to think of first when a controller there fails so; nil where that is nothing of the way to it.
    func hint(for failure: ControllerFailure) -> String? {
        guard case .serial(_, let baud, let hasFlowControl) = self else { return nil }
        switch failure {
        case .unresponsive, .outOfStep:
            return
                "\(baud) baud\(hasFlowControl ? " with" : " without") RTS and CTS: check speed, flow control and wiring. A controller "
                + "that wants firmware or another protocol than H4 is the kernel's to attach (hci_uart, btattach), and hci:N then: "
                + "docs/OPERATING.md, \"A controller on a UART\""
        case .hardwareError, .commandQueueFull, .unknownLink, .bringUpFailed: return nil
        }
    }
}

extension AirAddress {
    /// The same of a controller of this side's own.
    func hint(for failure: ControllerFailure) -> String? {
        if case .controller(let address) = self { address.hint(for: failure) } else { nil }
    }
}
