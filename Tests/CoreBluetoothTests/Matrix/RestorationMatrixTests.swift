import Foundation
import Glibc
import Testing

/// docs/RESTORATION.md, "The matrix": a test is a row, and each of its arguments a column.
@Suite("docs/RESTORATION.md: the matrix")
struct RestorationMatrixTests {
    @Test("SIGKILL", arguments: Wish.allCases)
    func killed(_ wish: Wish) throws {
        let cell = try MatrixCell(wish)
        try cell.prepare()
        cell.app.kill()
        try cell.meanwhile()
        try cell.restart()
        try cell.verify()
    }

    @Test("crash", arguments: Wish.allCases)
    func crashed(_ wish: Wish) throws {
        let cell = try MatrixCell(wish)
        try cell.prepare()
        try cell.app.type("crash")
        // Where SIGABRT is held back, as under a sanitizer, abort() ends the process by a fault.
        #expect([SIGABRT, SIGSEGV].contains(cell.app.end()))
        try cell.meanwhile()
        try cell.restart()
        try cell.verify()
    }

    @Test("SIGTERM", arguments: Wish.allCases)
    func terminated(_ wish: Wish) throws {
        let cell = try MatrixCell(wish)
        try cell.prepare()
        cell.app.signal(SIGTERM)
        #expect(cell.app.end() == SIGTERM)
        try cell.meanwhile()
        try cell.restart()
        try cell.verify()
    }

    @Test("SIGTERM: the peer hears that the link was ended, and does not wait for a supervision timeout")
    func terminatedInOrder() throws {
        let cell = try MatrixCell(.services)
        try cell.prepare()
        cell.app.signal(SIGTERM)
        #expect(cell.app.end() == SIGTERM)
        // 7: peripheralDisconnected. 6 would be connectionTimeout.
        #expect(try cell.peerSays("disconnected: 7") == ["disconnected: 7"])
    }

    @Test("SIGTERM: an app that handles it keeps it")
    func handled() throws {
        let cell = try MatrixCell(.connectedPeer)
        try cell.app.type("handle")
        _ = try cell.app.lines(until: "handling")
        try cell.prepare()
        cell.app.signal(SIGTERM)
        #expect(try cell.app.lines(until: "terminated") == ["terminated"])
        try cell.verify(isLinked: true)
    }

    @Test("suspended and resumed", arguments: Wish.allCases)
    func suspended(_ wish: Wish) throws {
        let cell = try MatrixCell(wish)
        try cell.prepare()
        cell.app.signal(SIGSTOP)
        try cell.meanwhile()
        cell.app.signal(SIGCONT)
        try cell.verify(isLinked: true)
    }

    @Test("unplugged and back", arguments: Wish.allCases)
    func unplugged(_ wish: Wish) throws {
        let cell = try MatrixCell(wish)
        try cell.prepare()
        try cell.replug()
        try cell.meanwhile()
        try cell.verify()
    }

    @Test("adapter off and on", arguments: Wish.allCases)
    func switchedOff(_ wish: Wish) throws {
        let cell = try MatrixCell(wish)
        try cell.prepare()
        try cell.replug(isSwitchedOff: true)
        try cell.meanwhile()
        try cell.verify()
    }

    @Test("wall clock set back", arguments: Wish.allCases)
    func clockSetBack(_ wish: Wish) throws {
        let cell = try MatrixCell(wish)
        try cell.prepare()
        cell.app.kill()
        try cell.meanwhile()
        let library = try WallClock.library(in: cell.air.directory.path)
        try cell.restart(under: ["/usr/bin/env", "LD_PRELOAD=\(library)"])
        try cell.app.type("time")
        let told = try #require(cell.app.line().flatMap { Int($0.replacing("time: ", with: "")) })
        #expect(told < time(nil) - WallClock.behindSeconds / 2)
        try cell.verify()
    }

    /// Namespaces give the next life another boot identifier, and a boot time that has begun again.
    @Test("reboot", arguments: Wish.allCases)
    func rebooted(_ wish: Wish) throws {
        try #require(geteuid() == 0, "mounts need root")
        let cell = try MatrixCell(wish)
        try cell.prepare()
        cell.app.kill()
        try cell.meanwhile()
        let identifier = cell.air.directory.path + "/boot_id"
        try (UUID().uuidString.lowercased() + "\n").write(toFile: identifier, atomically: true, encoding: .utf8)
        var uptime = timespec()
        clock_gettime(CLOCK_BOOTTIME, &uptime)
        try cell.restart(under: [
            "/usr/bin/unshare", "--mount", "--time", "--boottime", "\(Self.bootedSeconds - uptime.tv_sec)", "--fork",
            "--kill-child=SIGKILL", "/bin/sh", "-c",
            "mount --bind \"$0\" /proc/sys/kernel/random/boot_id && exec \"$@\"", identifier,
        ])
        try cell.verify()
    }

    /// How long ago the next life's machine was started.
    private static let bootedSeconds = 30

    /// Where the launches end: as the controller is opened, and at two turns of the loop that brings it up.
    private static let launchCalls = ["connect:1", "epoll_wait:2", "epoll_wait:8"]

    @Test("kill during restore", arguments: Wish.allCases)
    func killedDuringRestore(_ wish: Wish) throws {
        let cell = try MatrixCell(wish)
        try cell.prepare()
        cell.app.kill()
        try cell.meanwhile()
        for place in Self.launchCalls {
            let words = place.split(separator: ":")
            try cell.relaunch(under: [
                "/usr/bin/strace", "-f", "-o", "/dev/null", "-e", "trace=\(words[0])", "-e",
                "inject=\(words[0]):signal=SIGKILL:when=\(words[1])",
            ])
            #expect(cell.app.end() == SIGKILL, "\(place)")
        }
        try cell.restart()
        try cell.verify()
    }
}
