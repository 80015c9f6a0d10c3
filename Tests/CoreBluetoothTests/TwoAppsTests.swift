import Foundation
import Testing

@Suite("Apps that import CoreBluetooth and nothing else", .serialized)
struct TwoAppsTests {
    @Test("a peripheral and a central meet, and each goes on where it was killed")
    func killedAndRestored() async throws {
        let air = try await Air()
        var doorbell = try air.start("Doorbell")
        #expect(try await doorbell.lines(until: "advertising") == ["state: poweredOn", "advertising"])
        var visitor = try air.start("Visitor")
        #expect(
            try await visitor.lines(until: "heard: ding")
                == ["state: poweredOn", "discovered a doorbell", "listening", "heard: ding"])
        #expect(try await doorbell.lines(until: "rang: ding") == ["rang: ding"])

        // The central again: what it had asked for is restored, and nothing is asked for or discovered anew.
        await visitor.kill()
        visitor = try air.start("Visitor")
        #expect(
            try await visitor.lines(until: "heard: ding")
                == ["restored: 1 peripheral, listening", "state: poweredOn", "heard: ding"])
        #expect(try await doorbell.lines(until: "rang: ding") == ["rang: ding"])

        // The peripheral again: it advertises by itself, and knows its subscriber.
        await doorbell.kill()
        doorbell = try air.start("Doorbell")
        #expect(
            try await doorbell.lines(until: "rang: ding")
                == ["restored: 1 service, 1 subscriber", "state: poweredOn", "rang: ding"])
        #expect(try await visitor.lines(until: "heard: ding") == ["disconnected", "heard: ding"])
    }

    @Test("state is kept where the user's state belongs, and only the user may enter")
    func stateDirectory() async throws {
        let air = try await Air()
        let doorbell = try air.start("Doorbell")
        _ = try await doorbell.lines(until: "advertising")
        for folder in [".local", ".local/state", ".local/state/latch", ".local/state/latch/Doorbell"] {
            #expect(try mode(air.directory.path + "/" + folder) == 0o700)
        }
        let files = try FileManager.default.contentsOfDirectory(
            atPath: air.directory.path + "/.local/state/latch/Doorbell")
        #expect(files.contains("bluetooth.sqlite") && files.contains("machine.key"))
        for file in files {
            #expect(try mode(air.directory.path + "/.local/state/latch/Doorbell/" + file) == 0o600, "\(file)")
        }
    }

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test("one process at a time is an app's device: the second hears that there is no adapter, and why")
    func secondProcess() async throws {
        let air = try await Air()
        let first = try air.start("Doorbell")
        _ = try await first.lines(until: "advertising")
        let second = try air.start("Doorbell")
        #expect(await second.line() == "state: unsupported")
        #expect(await second.complaint.contains("bluetooth.sqlite: in use by process "))
    }

    @Test("a controller that comes later is found, and what was missing is said once")
    func lateController() async throws {
        let air = try await Air(withRadio: false)
        let doorbell = try air.start("Doorbell")
        #expect(await doorbell.line() == "state: unsupported")
        try await air.plug()
        #expect(
            try await doorbell.lines(until: "advertising") == ["state: resetting", "state: poweredOn", "advertising"])
        #expect(
            await doorbell.complaint
                == "CoreBluetooth: unix:\(air.directory.path)/air: no such socket; start the controller that makes it\n"
        )
    }

    @Test("what nobody can have meant, and state that others may read: the app hears a state, and people the reason")
    func misconfigured() async throws {
        let air = try await Air(withRadio: false)
        let nowhere = try air.start("Visitor", environment: ["LATCH_TRANSPORT": "bluetooth"])
        #expect(await nowhere.line() == "state: unsupported")
        #expect(await nowhere.complaint.hasPrefix("CoreBluetooth: LATCH_TRANSPORT: "))
        let open = air.directory.path + "/open"
        try FileManager.default.createDirectory(
            atPath: open, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
        let exposed = try air.start("Visitor", environment: ["LATCH_STATE": open])
        #expect(await exposed.line() == "state: unauthorized")
        #expect(await exposed.complaint.contains("chmod 0700 \(open)"))
    }
}
