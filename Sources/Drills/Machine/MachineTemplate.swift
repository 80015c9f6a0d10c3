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
    func image(_ role: Role) -> String { "\(house.directory.path)/\(role.rawValue).img" }

    /// A disk like the daemons', whose power stays.
    func mountWitness(_ waiter: Waiter) throws -> CutDisk {
        let (folder, mountPoint) = (house.directory.path + "/device", house.directory.path + "/mounted")
        for made in [folder, mountPoint] where mkdir(made, 0o700) != 0 {
            throw DrillError.system("cannot make \(made)")
        }
        let disk = try CutDisk(
            image: image(.key), folder: folder, mountPoint: mountPoint, log: house.directory.log("mount"))
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
