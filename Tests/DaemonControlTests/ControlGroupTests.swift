import CLinux
import Glibc
import TestSupport
import Testing

@testable import DaemonControl

/// Who beside a daemon's user may have its control socket, and where such a socket may lie.
@Suite("Control socket: its group and its directory")
struct ControlGroupTests {
    private let directory = ScratchDirectory()
    private let loop = PollLoop()
    private var socket: String { directory.path + "/s.sock" }

    private func serve(_ group: ControlGroup?, at path: String? = nil) throws(ControlSocketError) -> ControlServer {
        try ControlServer(path: path ?? socket, group: group, loop: loop, release: { $0() }) { _, exchange in
            exchange.finish([:])
        }
    }

    private func status(_ path: String) -> stat? {
        var found = stat()
        return lstat(path, &found) == 0 ? found : nil
    }

    /// A group that this process may give files to: any, for root, and so one that it is not in.
    private var ours: ControlGroup {
        get throws { try ControlGroup(named: String(geteuid() == 0 ? 61_009 : getegid())) }
    }

    /// The server has refused, and there is nothing that a client could take for a socket.
    private func refuses(_ group: ControlGroup?, with words: [String]) {
        let error = #expect(throws: ControlSocketError.self) { try serve(group) }
        #expect(error?.reason == .misconfigured)
        for word in words { #expect(error?.description.contains(word) == true, "\(error?.description ?? "")") }
        #expect(status(socket) == nil)
    }

    @Test("without a group the socket is its owner's alone")
    func alone() throws {
        let server = try serve(nil)
        #expect(status(socket)?.st_mode == S_IFSOCK | 0o600)
        #expect(status(socket)?.st_gid == getegid())
        server.close()
    }

    @Test("with a group the socket is its members' too, whatever the process's umask, and its lock file is not")
    func members() throws {
        try #require(chmod(directory.path, 0o711) == 0)
        let server = try serve(ours)
        let made = try #require(status(socket))
        #expect(made.st_mode == S_IFSOCK | 0o660)
        #expect(made.st_gid == (try ours).id)
        #expect(made.st_uid == geteuid())
        #expect(status(socket + ".lock")?.st_mode == S_IFREG | 0o600)
        server.close()
    }

    @Test("a set-group-ID directory gives the group, and nothing has to be given away")
    func inherited() throws {
        let group = try ours
        try #require(chown(directory.path, uid_t.max, group.id) == 0 && chmod(directory.path, 0o2710) == 0)
        let server = try serve(group)
        #expect(status(socket)?.st_gid == group.id)
        #expect(status(socket)?.st_mode == S_IFSOCK | 0o660)
        server.close()
    }

    @Test("a group is found by its name and by its number, and is the same one")
    func lookup() throws {
        let byName = try ControlGroup(named: "root")
        #expect(byName.id == 0)
        #expect(try ControlGroup(named: "0").id == byName.id)
        #expect(try ControlGroup(named: "4294967294").id == 4_294_967_294)
    }

    /// The last but one are what `chown` takes for "no change", and one more.
    @Test(
        "a group that is none is refused by its name",
        arguments: ["no-such-group", "", "+5", "-1", "5 ", "٣", "4294967295", "4294967296", "root\n"])
    func unknown(name: String) {
        let error = #expect(throws: ControlSocketError.self) { try ControlGroup(named: name) }
        #expect(error?.reason == .misconfigured)
        #expect(error?.description.contains("there is no group `\(name)`") == true)
    }

    @Test("a directory that members cannot enter is refused, and left closed", arguments: [0o700, 0o701, 0o710])
    func closedDirectory(mode: mode_t) throws {
        let group = try ours
        // Where the directory is the group's, others' bit is not for its members; where it is not, the group's is not.
        if mode == 0o701 { try #require(chown(directory.path, uid_t.max, group.id) == 0) }
        if mode == 0o710 {
            guard geteuid() == 0 else { return try notOurs(mode) }
        }
        try #require(chmod(directory.path, mode) == 0)
        refuses(group, with: ["members of group `\(group.name)` cannot enter", directory.path, "0711"])
        #expect(directory.files.isEmpty)
    }

    /// A user who is not root has directories of his own group only: another group's member is asked about.
    private func notOurs(_ mode: mode_t) throws {
        try #require(chmod(directory.path, mode) == 0)
        refuses(try ControlGroup(named: "0"), with: ["members of group `0` cannot enter"])
    }

    @Test(
        "Planted socket: a directory that others can write to is refused by the daemon and by its client",
        arguments: [0o777, 0o1777, 0o770, 0o702])
    func openDirectory(mode: mode_t) throws {
        let server = try serve(nil)
        try #require(chmod(directory.path, mode) == 0)
        #expect(throws: ControlClientError.openDirectory(path: socket, directory: directory.path)) {
            _ = try ControlClient(connectingTo: socket)
        }
        #expect(throws: ControlSocketError.self) { try serve(nil, at: directory.path + "/other.sock") }
        #expect(status(directory.path + "/other.sock") == nil)
        #expect(status(directory.path + "/other.sock.lock") == nil)
        server.close()
    }

    @Test("a socket that cannot be given to its group goes, and so does nobody's lock")
    func notAMember() throws {
        // Root may give to any group; everybody else has one that is not theirs.
        guard geteuid() != 0 else { return try notAMemberAsRoot() }
        try #require(chmod(directory.path, 0o711) == 0)
        refuses(try ControlGroup(named: "0"), with: ["no member", "SupplementaryGroups=0"])
    }

    /// What is left of that for root: a directory of another user is none to give a socket away in.
    private func notAMemberAsRoot() throws {
        try #require(chown(directory.path, 61_001, gid_t.max) == 0 && chmod(directory.path, 0o711) == 0)
        refuses(try ours, with: ["belongs to user 61001"])
    }

    @Test("a path that no socket can have is refused for its length, with a group too")
    func longPath() throws {
        let path = directory.path + "/" + String(repeating: "a", count: 120)
        let error = #expect(throws: ControlSocketError.self) { try serve(ours, at: path) }
        #expect(error?.description.contains("107") == true)
        #expect(directory.files.isEmpty)
    }
}
