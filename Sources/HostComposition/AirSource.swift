import BlueZ
import DBusTransport
import HCITransport

/// Where a host's air is, and how it is reached.
package enum AirSource {
    /// `launched`: what the first attempt to open it gave.
    case controller(ControllerSource, launched: Result<HCIStream, TransportError>)
    case bus(SystemBus.Place, AdapterChoice)

    /// The bluetoothd of this machine.
    package static func blueZ(_ adapter: AdapterChoice) -> Self { .bus(.system, adapter) }

    /// The one of this machine, if it runs now. It waits for the bus's answer.
    package static var runningBlueZ: Self? { SystemBus.isOwned(BlueZCentral.busName) ? .blueZ(.any) : nil }

    /// A controller, as `source` opens it, from now on.
    package static func controller(_ source: ControllerSource) -> Self {
        .controller(source, launched: source.launch())
    }

    /// The adapter of bluetoothd's; nil: a controller of its own.
    var adapter: AdapterChoice? { if case .bus(_, let adapter) = self { adapter } else { nil } }

    /// Why it could not be opened at first.
    package var obstacle: TransportError? {
        if case .controller(_, .failure(let error)) = self { error } else { nil }
    }

    func connect(on loop: EventLoop) -> HostDriver.Air {
        switch self {
        case .controller(let controller, let launched):
            .controller(
                ControllerConnection(
                    launched, name: controller.name, canReopen: controller.canReopen, loop: loop,
                    backOff: controller.backOff, reopenedBy: controller.open))
        case .bus(let place, _): .bus(SystemBus(place, matches: BlueZCentral.matches, loop: loop))
        }
    }
}
