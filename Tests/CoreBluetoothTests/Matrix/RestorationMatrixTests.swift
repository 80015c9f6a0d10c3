import Foundation
import Glibc
import Testing

/// docs/RESTORATION.md, "The matrix": a test is a row, and each of its arguments a column.
@Suite("docs/RESTORATION.md: the matrix", .serialized)
struct RestorationMatrixTests {
    @Test("SIGKILL", arguments: Wish.allCases)
    func killed(_ wish: Wish) async throws {
        let cell = try await MatrixCell(wish)
        try await cell.prepare()
        await cell.app.kill()
        try await cell.meanwhile()
        try await cell.restart()
        try await cell.verify()
    }

    @Test("crash", arguments: Wish.allCases)
    func crashed(_ wish: Wish) async throws {
        // Without Swift's own look at a crash: it stops the app's threads and clones itself, and stands still under the thread
        // sanitizer, with all files open.
        let cell = try await MatrixCell(wish, under: { _ in ["/usr/bin/env", "SWIFT_BACKTRACE=enable=no"] })
        try await cell.prepare()
        try cell.app.type("crash")
        // By a signal; under a sanitizer, which takes that for itself, with a failure's exit status.
        #expect(await cell.app.status != 0)
        try await cell.meanwhile()
        try await cell.restart()
        try await cell.verify()
    }

    @Test("SIGTERM", arguments: Wish.allCases)
    func terminated(_ wish: Wish) async throws {
        let cell = try await MatrixCell(wish)
        try await cell.prepare()
        cell.app.signal(SIGTERM)
        #expect(await cell.app.end() == SIGTERM)
        try await cell.meanwhile()
        try await cell.restart()
        try await cell.verify()
    }

    @Test("SIGTERM: the peer hears that the link was ended, and does not wait for a supervision timeout")
    func terminatedInOrder() async throws {
        let cell = try await MatrixCell(.services)
        try await cell.prepare()
        cell.app.signal(SIGTERM)
        #expect(await cell.app.end() == SIGTERM)
        // 7: peripheralDisconnected. 6 would be connectionTimeout.
        #expect(try await cell.peerSays("disconnected: 7") == ["disconnected: 7"])
    }

    @Test("SIGTERM: an app that handles it keeps it")
    func handled() async throws {
        let cell = try await MatrixCell(.connectedPeer)
        try cell.app.type("handle")
        _ = try await cell.app.lines(until: "handling")
        try await cell.prepare()
        cell.app.signal(SIGTERM)
        #expect(try await cell.app.lines(until: "terminated") == ["terminated"])
        try await cell.verify(isLinked: true)
    }

    /// The app's state lies on an ext4 of its own, whose cache is lost.
    @Test("power cut", arguments: Wish.allCases)
    func powerCut(_ wish: Wish) async throws {
        try #require(geteuid() == 0, "mounts need root")
        let disk = { (directory: String) in
            [
                try App.path("latch-lab"), "disk", "--image", directory + "/disk", "--at", MatrixCell.state(directory),
                "--",
            ]
        }
        let cell = try await MatrixCell(wish, under: disk)
        try await cell.prepare()
        cell.app.signal(SIGPWR)
        #expect(await cell.app.status == 0)
        #expect(await cell.app.complaint.contains("the power was cut: no flush had confirmed "))
        try await cell.meanwhile()
        try await cell.restart(under: disk(cell.air.directory.path))
        try await cell.verify()
    }

    @Test("suspended and resumed", arguments: Wish.allCases)
    func suspended(_ wish: Wish) async throws {
        let cell = try await MatrixCell(wish)
        try await cell.prepare()
        cell.app.signal(SIGSTOP)
        try await cell.meanwhile()
        cell.app.signal(SIGCONT)
        try await cell.verify(isLinked: true)
    }

    @Test("suspended and resumed: a connection whose delay was over meanwhile is made")
    func suspendedDelay() async throws {
        let cell = try await MatrixCell(.pendingConnection)
        try await cell.prepareConnection(delaySeconds: 1)
        cell.app.signal(SIGSTOP)
        // The time is the matter here: the delay is over long before the process goes on. Nothing is late by waiting longer.
        try await Task.sleep(for: .milliseconds(1_500))
        cell.app.signal(SIGCONT)
        try await cell.verify()
    }

    @Test("unplugged and back", arguments: Wish.allCases)
    func unplugged(_ wish: Wish) async throws {
        let cell = try await MatrixCell(wish)
        try await cell.prepare()
        try await cell.replug()
        try await cell.meanwhile()
        try await cell.verify()
    }

    @Test("adapter off and on", arguments: Wish.allCases)
    func switchedOff(_ wish: Wish) async throws {
        let cell = try await MatrixCell(wish)
        try await cell.prepare()
        try await cell.replug(isSwitchedOff: true)
        try await cell.meanwhile()
        try await cell.verify()
    }

    @Test("wall clock set back", arguments: Wish.allCases)
    func clockSetBack(_ wish: Wish) async throws {
        let cell = try await MatrixCell(wish)
        try await cell.prepare()
        await cell.app.kill()
        try await cell.meanwhile()
        let library = try await WallClock.library(in: cell.air.directory.path)
        try await cell.restart(under: ["/usr/bin/env", "LD_PRELOAD=\(library)"])
        try cell.app.type("time")
        // Its connection may come back before it answers.
        let answer = try #require(await cell.app.line(beginning: "time: "))
        let told = try #require(Int(answer.dropFirst("time: ".count)))
        #expect(told < time(nil) - WallClock.behindSeconds / 2)
        try await cell.verify()
    }

    /// The app that is killed wrote the present schema: its file is rewritten as each earlier version would have left it.
    @Test("upgrade from each schema", arguments: Wish.allCases, PastSchema.all)
    func upgraded(_ wish: Wish, from schema: Int) async throws {
        let cell = try await MatrixCell(wish)
        try await cell.prepare()
        await cell.app.kill()
        try PastSchema.rewrite(MatrixCell.state(cell.air.directory.path), to: schema)
        try await cell.meanwhile()
        try await cell.restart()
        try await cell.verify()
    }

    /// Namespaces give the next life another boot identifier, and a boot time that has begun again.
    @Test("reboot", arguments: Wish.allCases)
    func rebooted(_ wish: Wish) async throws {
        try #require(geteuid() == 0, "mounts need root")
        let cell = try await MatrixCell(wish)
        try await cell.prepare()
        await cell.app.kill()
        try await cell.meanwhile()
        let identifier = cell.air.directory.path + "/boot_id"
        try (UUID().uuidString.lowercased() + "\n").write(toFile: identifier, atomically: true, encoding: .utf8)
        var uptime = timespec()
        clock_gettime(CLOCK_BOOTTIME, &uptime)
        try await cell.restart(under: [
            "/usr/bin/unshare", "--mount", "--time", "--boottime", "\(Self.bootedSeconds - uptime.tv_sec)", "--fork",
            "--kill-child=SIGKILL", "/bin/sh", "-c",
            "mount --bind \"$0\" /proc/sys/kernel/random/boot_id && exec \"$@\"", identifier,
        ])
        try await cell.verify()
    }

    /// How long ago the next life's machine was started.
    private static let bootedSeconds = 30

    /// Where the launches end: as the controller is opened, and at two turns of the loop that brings it up.
    private static let launchCalls = ["connect:1", "epoll_wait:2", "epoll_wait:8"]

    @Test("kill during restore", arguments: Wish.allCases)
    func killedDuringRestore(_ wish: Wish) async throws {
        let cell = try await MatrixCell(wish)
        try await cell.prepare()
        await cell.app.kill()
        try await cell.meanwhile()
        for place in Self.launchCalls {
            let words = place.split(separator: ":")
            try cell.relaunch(under: [
                "/usr/bin/strace", "-f", "-o", "/dev/null", "-e", "trace=\(words[0])", "-e",
                "inject=\(words[0]):signal=SIGKILL:when=\(words[1])",
            ])
            #expect(await cell.app.end() == SIGKILL, "\(place)")
        }
        try await cell.restart()
        try await cell.verify()
    }
}
