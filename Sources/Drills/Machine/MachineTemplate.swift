import Glibc

/// A household whose machines have disks: made once, and every case begins with these.
final class MachineTemplate: Sendable {
    let house: HouseTemplate
    private static let imageMegabytes = 32

    init(programs: Programs, seed: UInt64, waiter: Waiter) throws {
        house = try HouseTemplate(programs: programs, seed: seed, isSeparate: true, waiter: waiter)
        for role in Role.allCases { try makeImage(role, waiter) }
    }

    func remove() { house.remove() }

    /// An ext4 with what the role's daemon has left.
    func image(_ role: Role) -> String { "\(house.directory.path)/\(role.rawValue).img" }

    private func makeImage(_ role: Role, _ waiter: Waiter) throws {
        let tree = "\(house.directory.path)/\(role.rawValue).tree"
        guard mkdir(tree, 0o700) == 0 else { throw DrillError.system("cannot make \(tree)") }
        try house.furnish(role, into: tree)
        let log = house.directory.log("mkfs")
        let command = try ProcessHandle(
            [
                "/usr/bin/env", "mkfs.ext4", "-q", "-F", "-b", "4096", "-m", "0", "-N", "64", "-J", "size=4", "-O",
                "^resize_inode", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard,root_owner=0:0", "-d", tree,
                image(role), "\(Self.imageMegabytes)M",
            ], log: log)
        guard try command.wait(waiter, until: Clock.now + Clock.milliseconds(30_000)) == .exited(0) else {
            throw DrillError(
                .environment, "mkfs.ext4 failed, see \(log): this drill needs e2fsprogs (apt install e2fsprogs)")
        }
    }
}
