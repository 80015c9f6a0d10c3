import Glibc

/// A household whose machines have disks: made once, and every case begins with these.
final class MachineTemplate: Sendable {
    let house: HouseTemplate

    init(programs: Programs, seed: UInt64, waiter: Waiter) throws {
        house = try HouseTemplate(programs: programs, seed: seed, isSeparate: true, waiter: waiter)
        for role in Role.allCases { try makeImage(role, waiter) }
    }

    func remove() { house.remove() }

    /// An ext4 with what the role's daemon has left.
    private func image(_ role: Role) -> String { "\(house.directory.path)/\(role.rawValue).img" }

    /// A disk like the daemons', whose power stays.
    func mountWitness(_ waiter: Waiter) throws -> CutDisk {
        let mountPoint = house.directory.path + "/mounted"
        guard mkdir(mountPoint, 0o700) == 0 else { throw DrillError.system("cannot make \(mountPoint)") }
        return try mount(.key, in: house.directory, at: mountPoint, waiter)
    }

    /// A disk with what the role's daemon has left, served in a directory that has no other one.
    func mount(_ role: Role, in directory: DrillDirectory, at mountPoint: String, _ waiter: Waiter) throws -> CutDisk {
        let folder = directory.path + "/device"
        guard mkdir(folder, 0o700) == 0 else { throw DrillError.system("cannot make \(folder)") }
        let disk = try CutDisk(
            image: image(role), folder: folder, mountPoint: mountPoint, log: directory.log("mount"))
        try disk.mount(waiter)
        return disk
    }

    private func makeImage(_ role: Role, _ waiter: Waiter) throws {
        let tree = "\(house.directory.path)/\(role.rawValue).tree"
        guard mkdir(tree, 0o700) == 0 else { throw DrillError.system("cannot make \(tree)") }
        try house.furnish(role, into: tree)
        try DiskImage.make(image(role), from: tree, log: house.directory.log("mkfs"), waiter)
    }
}
