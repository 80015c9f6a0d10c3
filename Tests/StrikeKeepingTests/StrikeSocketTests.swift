import Glibc
import TestSupport
import Testing

@testable import StrikeKeeping

@Suite("The keeper of a strike: its socket")
struct StrikeSocketTests {
    private static func plan(_ path: String, group: gid_t? = nil) throws -> StrikePlan {
        let group = group.map { "group = \"\($0)\"\n" } ?? ""
        return try strikePlan(
            "chip = \"door\"\n[socket]\npath = \"\(path)\"\nuser = \"0\"\n\(group)"
                + "[strike]\nline = \"0\"\nfail = \"secure\"\n")
    }

    @Test(
        "It is its user's and its group's, and nobody else's; a group that is named has it in place of the keeper's own"
    )
    func mode() throws {
        // Without root there is one group to give it to.
        let other = geteuid() == 0 ? 61_009 : getegid()
        for group in [nil, other] {
            let scratch = ScratchDirectory()
            let path = scratch.path + "/s"
            let socket = try StrikeSocket(Self.plan(path, group: group))
            var made = stat()
            #expect(lstat(path, &made) == 0)
            #expect(made.st_mode & S_IFMT == S_IFSOCK && made.st_mode & 0o7777 == 0o660)
            #expect(made.st_uid == geteuid() && made.st_gid == group ?? getegid())
            #expect(lstat(path + ".lock", &made) == 0 && made.st_mode & 0o7777 == 0o600)
            _ = socket.descriptor
        }
    }

    @Test("One that a kill has left behind is replaced")
    func leftBehind() throws {
        let scratch = ScratchDirectory()
        let path = scratch.path + "/s"
        for _ in 0..<2 {
            let socket = try StrikeSocket(Self.plan(path))
            let daemon = try DaemonEnd(path)
            _ = (socket.descriptor, daemon)
        }
    }
}
