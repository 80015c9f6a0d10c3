import CLinux
import Glibc

/// The speeds that a UART may be opened with, and the constants that termios has for them.
private let speeds: [UInt32: Int32] = [
    9_600: B9600, 19_200: B19200, 38_400: B38400, 57_600: B57600, 115_200: B115200, 230_400: B230400,
    460_800: B460800, 500_000: B500000, 576_000: B576000, 921_600: B921600, 1_000_000: B1000000,
    1_152_000: B1152000, 1_500_000: B1500000, 2_000_000: B2000000, 2_500_000: B2500000, 3_000_000: B3000000,
    3_500_000: B3500000, 4_000_000: B4000000,
]

/// Opens a UART raw, for this process alone.
func openSerial(_ device: String, baud: UInt32, flowControl: Bool) throws(TransportError) -> OwnedDescriptor {
    let name = "serial:\(device)"
    guard let speed = speeds[baud] else {
        let known = speeds.keys.sorted().map(String.init).joined(separator: ", ")
        throw TransportError(.malformedAddress, "\(name): no such speed as \(baud); there are \(known)")
    }
    let raw = latch_open(device, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0)
    guard raw >= 0 else { throw openFailure(errno, device) }
    let descriptor = OwnedDescriptor(raw)
    guard isatty(descriptor.rawValue) == 1 else {
        throw TransportError(.unsupported, "\(name): not a serial line")
    }
    guard flock(descriptor.rawValue, LOCK_EX | LOCK_NB) == 0 else {
        throw TransportError(.busy, "\(name): another process has it; stop that first")
    }
    guard latch_serial_configure(descriptor.rawValue, speed_t(speed), flowControl ? 1 : 0) == 0 else {
        guard errno == EINVAL else { throw TransportError(system: errno, name) }
        let wish = "\(baud) baud" + (flowControl ? " with RTS and CTS" : "")
        throw TransportError(.unsupported, "\(name): the device cannot be set to \(wish); choose what it can")
    }
    return descriptor
}

/// Why a UART cannot be opened, by the system's number of it.
func openFailure(_ number: Int32, _ device: String) -> TransportError {
    let name = "serial:\(device)"
    switch number {
    case ENOENT, ENXIO, ENODEV: return TransportError(.notFound, "\(name): no such device; is the adapter attached?")
    // The file's mode says no.
    case EACCES:
        return TransportError(
            .notPermitted,
            "\(name): not permitted; have this user in the group that may open it (as a rule \"dialout\"): "
                + "`SupplementaryGroups=` in the unit, or `usermod -aG`")
    // The unit's DevicePolicy= says no.
    case EPERM:
        return TransportError(.notPermitted, "\(name): not permitted; set `DeviceAllow=\(device) rw` in the unit")
    case EBUSY: return TransportError(.busy, "\(name): another process has it; stop that first")
    case let other: return TransportError(system: other, name)
    }
}
