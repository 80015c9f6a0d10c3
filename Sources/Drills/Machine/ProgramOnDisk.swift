import CLinux
import Glibc

/// `latch-lab disk`: a program whose files are on a disk of its own, until it ends or the power is cut.
package struct ProgramOnDisk {
    /// What the medium has of the writes that no flush has confirmed when the power goes.
    package enum Keeps: String, CaseIterable, Sendable {
        case nothing, everything, chance

        /// As ``Survivors`` counts them.
        fileprivate var choice: Int {
            switch self {
            case .nothing: 0
            case .everything: 1
            case .chance: 4
            }
        }
    }

    /// How it ended.
    package enum End: Equatable, Sendable {
        case ended(status: Int32)
        case killed(signal: Int32)
        /// The power was cut: how many writes, and octets, no flush had confirmed, and how many octets of those are kept.
        case cut(writes: Int, octets: Int, keptOctets: Int)
    }

    private let image: String
    private let mountPoint: String
    private let keeps: Keeps
    private let seed: UInt64
    private let words: [String]

    /// - Parameter image: a file with an ext4, made where there is none. When the program has ended it has what the medium has.
    /// - Parameter mountPoint: where the program finds that; made where it is missing. Nobody else sees it.
    /// - Parameter words: the program's path and its arguments.
    package init(image: String, mountPoint: String, keeps: Keeps, seed: UInt64?, words: [String]) {
        self.image = image
        self.mountPoint = mountPoint
        self.keeps = keeps
        self.seed = seed ?? DrillSeed.fresh
        self.words = words
    }

    /// Throws `DrillError`; behind SIGINT and SIGTERM the program was killed, and the image is as it was.
    package func run() throws -> End {
        guard access(words[0], X_OK) == 0 else {
            throw DrillError(
                .environment, "\(words[0]) is no program that can be run: build it, or name another by its path")
        }
        try CutDisk.ownMounts()
        let signals = latch_signalfd(1 << UInt64(SIGPWR) | 1 << UInt64(SIGCHLD))
        guard signals >= 0 else { throw DrillError.system("cannot take signals") }
        defer { close(signals) }
        let waiter = try Waiter()
        let (device, log) = (image + ".device", image + ".log")
        if access(image, F_OK) != 0 { try DiskImage.make(image, log: log, waiter) }
        for directory in [device, mountPoint] where mkdir(directory, 0o700) != 0 && errno != EEXIST {
            throw DrillError.system("cannot make \(directory)")
        }
        let disk = try CutDisk(image: image, folder: device, mountPoint: mountPoint, log: log)
        try disk.mend(waiter)
        try disk.mount(waiter)
        guard chmod(mountPoint, 0o700) == 0 else { throw DrillError.system("cannot change the mode of \(mountPoint)") }
        let end = try live(on: disk, signals, waiter)
        try disk.save(to: image, waiter)
        disk.end()
        rmdir(device)
        // What mount and its like have said is for those whose disk does not come up.
        unlink(log)
        return end
    }

    private func live(on disk: CutDisk, _ signals: Int32, _ waiter: Waiter) throws -> End {
        let program = try ProcessHandle(passing: words)
        while !program.hasEnded {
            try waiter.wait(signals, POLLIN, until: .max)
            while case let signal = latch_signalfd_read(signals), signal != 0 {
                if signal == UInt32(SIGPWR) { return try cut(program, disk, waiter) }
            }
        }
        try disk.unmount(waiter)
        return switch program.end {
        case .exited(let status)?: .ended(status: status)
        case .killed(let signal)?: .killed(signal: signal)
        case nil: throw DrillError(.stuck, "\(words[0]) has not ended")
        }
    }

    /// The program is gone, and whatever the kernel would still write.
    private func cut(_ program: ProcessHandle, _ disk: CutDisk, _ waiter: Waiter) throws -> End {
        disk.arm(1, lies: false)
        try disk.setProcess(program)
        program.kill()
        try disk.unmount(waiter)
        let unflushed = disk.unflushed
        let kept = Survivors.chosen(keeps.choice, of: unflushed, seed: seed)
        disk.restore(kept)
        return .cut(writes: unflushed.count, octets: unflushed.reduce(0, +), keptOctets: kept.reduce(0, +))
    }
}
