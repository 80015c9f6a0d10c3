import Testing

@Suite("The programs of the documentation", .serialized)
struct DocumentationSampleTests {
    private let report = "target 20"
    /// Longer than a packet.
    private static func schedule(_ day: String) -> String {
        ["Mo", "Tu", "We", "Th", "Fr", "Sa", "Su"].map { "\($0) \(day)" }.joined(separator: "; ")
    }

    @Test("the remote reads, subscribes and writes both ways, and comes back by the identifier that it has kept")
    func thermostat() async throws {
        let air = try await Air()
        let thermostat = try air.start("Thermostat")
        #expect(await thermostat.line() == "advertising")
        var remote = try air.start("Remote")
        let first = try await remote.lines(until: "target 22")
        #expect(first.first == "discovered a thermostat")
        // Read in two parts, welcomed alone, written in two parts, reported with each change.
        let schedule = Self.schedule("06:30 20 C, 08:00 16 C, 17:00 21 C, 22:30 16 C")
        #expect(first.dropFirst().sorted() == [schedule, report, report, "target 22", "written"].sorted())
        #expect(await thermostat.line() == "subscribed")

        await remote.kill()
        remote = try air.start("Remote")
        let second = try await remote.lines(until: "target 22")
        #expect(second.first == "connecting to the one that it knows")
        let written = Self.schedule("06:00 20 C, 09:00 17 C, 16:00 22 C, 23:00 17 C")
        #expect(second.contains(written), "what was written in the life before")
    }

    @Test("the thermostat that has lost its adapter publishes and advertises once more without an error")
    func adapterReturns() async throws {
        let air = try await Air()
        let thermostat = try air.start("Thermostat")
        #expect(await thermostat.line() == "advertising")
        try await air.unplug()
        #expect(await thermostat.line() == "resetting: the controller is gone")
        try await air.plug()
        #expect(try await thermostat.lines(until: "advertising").last == "advertising")
        let remote = try air.start("Remote")
        #expect(try await remote.lines(until: "target 22").contains("written"))
    }
}
