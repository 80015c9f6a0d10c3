import CBlueZ
import CLinux
import Glibc

/// What is asked of the kernel about one adapter. Each call returns 0 or above, or a negative error number.
struct AdapterKernel {
    var bindUserChannel: () -> Int32
    /// 1 when the adapter is up.
    var isUp: () -> Int32
    /// 1 when it has links.
    var hasLinks: () -> Int32
    var bringDown: () -> Int32
    var isBluetoothdRunning: () -> Bool
}

/// Takes the adapter hciN over whole: what the kernel and `bluetoothd` have it for otherwise ends until the channel is
/// closed. An adapter that is up and that nobody uses is brought down first; one that somebody uses is left to them, unless
/// the configuration says that it is ours.
struct UserChannel {
    let number: UInt16
    /// As the configuration has it.
    let name: String
    /// The adapter is nobody else's, whoever has it up.
    var takes = false
    let kernel: AdapterKernel

    func take() throws(TransportError) {
        var result = kernel.bindUserChannel()
        if result == -EBUSY {
            try free()
            result = kernel.bindUserChannel()
        }
        guard result >= 0 else { throw error(-result) }
    }

    /// The kernel refuses its user channel while the adapter is up or being set up.
    private func free() throws(TransportError) {
        let isUp = kernel.isUp()
        guard isUp >= 0 else { throw error(-isUp) }
        guard isUp == 1 else {
            throw TransportError(.notReady, "\(name): the kernel is setting the adapter up; it is free in a moment")
        }
        if !takes { try requireUnused() }
        let result = kernel.bringDown()
        guard result >= 0 else { throw error(-result) }
    }

    private func requireUnused() throws(TransportError) {
        guard !kernel.isBluetoothdRunning() else {
            throw TransportError(
                .busy,
                "\(name): bluetoothd holds the adapter; hand it over with \"systemctl stop bluetooth\" or \"bluetoothctl"
                    + " power off\", and back by stopping this daemon; or have it taken, by \",take\" behind the address"
            )
        }
        guard kernel.hasLinks() <= 0 else {
            throw TransportError(
                .busy, "\(name): somebody has links over the adapter; end them, or \"hciconfig hci\(number) down\"")
        }
    }

    private func error(_ number: Int32) -> TransportError {
        switch number {
        case EUSERS:
            TransportError(
                .busy, "\(name): another program holds the adapter's user channel; stop that first")
        // Up again at once: somebody wants it so.
        case EBUSY where takes, EALREADY where takes:
            TransportError(.notReady, "\(name): another program brings the adapter up again; it is taken in a moment")
        case EBUSY, EALREADY:
            TransportError(.busy, "\(name): another program brings the adapter up again; stop that first")
        case ENODEV:
            TransportError(.notFound, "\(name): no such adapter; \"ls /sys/class/bluetooth\" names those that are")
        case ERFKILL: TransportError(.notReady, "\(name): the adapter is switched off; \"rfkill unblock bluetooth\"")
        case EPERM, EACCES:
            TransportError(
                .notPermitted, "\(name): not permitted; give this service AmbientCapabilities=CAP_NET_ADMIN")
        case EINVAL, EOPNOTSUPP:
            TransportError(
                .unsupported,
                "\(name): no user channel: the kernel is older than Linux 3.14, or the adapter lacks its configuration")
        case ETIMEDOUT: TransportError(.timedOut, "\(name): the adapter does not answer; unplug it and plug it in")
        case let other: TransportError(system: other, "\(name): no user channel")
        }
    }
}

/// Opens the user channel of AF_BLUETOOTH.
///
/// - Throws: ``TransportError``, which says whether waiting mends it. `name` is how it calls the adapter.
func openUserChannel(_ adapter: AdapterName, takes: Bool, _ name: String) throws(TransportError) -> OwnedDescriptor {
    let raw = latch_hci_socket()
    guard raw >= 0 else {
        switch errno {
        case EAFNOSUPPORT, EPROTONOSUPPORT:
            throw TransportError(
                .unsupported, "\(name): this kernel has no Bluetooth sockets; load the module \"bluetooth\"")
        case let other: throw TransportError(system: other, "\(name): no Bluetooth socket")
        }
    }
    let descriptor = OwnedDescriptor(raw)
    func asked(_ result: Int32) -> Int32 { result < 0 ? -errno : result }
    guard let number = adapter.number(among: KernelAdapters(asking: raw)) else {
        throw TransportError(
            .notFound,
            "\(name): no such adapter; \"ls -l \(KernelAdapters.folder)/*/device\" names the ports of those that are, and"
                + " \"hciconfig\" their addresses")
    }
    try UserChannel(
        number: number, name: name, takes: takes,
        kernel: AdapterKernel(
            bindUserChannel: { asked(latch_hci_bind_user_channel(raw, number)) },
            isUp: { asked(latch_hci_is_up(raw, number)) },
            hasLinks: { asked(latch_hci_has_links(raw, number)) },
            bringDown: { asked(latch_hci_down(raw, number)) },
            isBluetoothdRunning: { RunningPrograms().hasBluetoothd })
    ).take()
    return descriptor
}

/// What else runs on this machine, as far as this process may see it.
struct RunningPrograms {
    var processes = "/proc"
    /// systemd's, which can be read where other users' processes are hidden.
    var bluetoothService = "/sys/fs/cgroup/system.slice/bluetooth.service/cgroup.events"

    var hasBluetoothd: Bool {
        if Self.text(bluetoothService).contains("populated 1") { return true }
        guard let folder = opendir(processes) else { return false }
        defer { closedir(folder) }
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { octets in
                String(decoding: octets.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard Int32(name) != nil else { continue }
            if Self.text("\(processes)/\(name)/comm") == "bluetoothd\n" { return true }
        }
        return false
    }

    /// The beginning of a file; nothing when it cannot be read.
    private static func text(_ path: String) -> String {
        let raw = latch_open(path, O_RDONLY | O_CLOEXEC, 0)
        guard raw >= 0 else { return "" }
        let descriptor = OwnedDescriptor(raw)
        var octets = [UInt8](repeating: 0, count: 256)
        let count = octets.withUnsafeMutableBytes { read(descriptor.rawValue, $0.baseAddress, $0.count) }
        return String(decoding: octets.prefix(max(0, count)), as: UTF8.self)
    }
}
