import Foundation
import Parcel
import Testing

/// Examples/README.md has what each of them shows.
@Suite("The examples, killed, cut off and restored", .serialized)
struct ExampleTests {
    // MARK: A heart rate sensor and its monitor

    private static func isHeartRate(_ line: String) -> Bool { line.hasPrefix("heart rate: ") }

    @Test("heart rates flow again, in the same session, whichever of the two was killed")
    func heartRate() async throws {
        let air = try await Air()
        var sensor = try air.start("HeartRateSensor")
        #expect(try await sensor.lines(until: "advertising") == ["state: poweredOn", "advertising"])
        var monitor = try air.start("HeartRateMonitor")
        #expect(
            try await monitor.lines(until: Self.isHeartRate) == [
                "state: poweredOn", "discovered a sensor", "connected", "worn on: chest", "new session", "listening",
                "heart rate: 72 bpm, 0 kJ",
            ])
        #expect(try await sensor.lines(until: "subscribed") == ["energy reset", "subscribed"])

        // The sensor has no bond with it: it is found and connected to by itself, and subscribes with each link.
        await monitor.kill()
        monitor = try air.start("HeartRateMonitor")
        let again = try await monitor.lines(until: Self.isHeartRate)
        #expect(
            again.dropLast() == [
                "restored: 1 peripheral", "state: poweredOn", "connected", "worn on: chest", "listening",
            ])
        #expect(again.last?.hasSuffix(", 0 kJ") == false, "it is the same session")

        await sensor.kill()
        sensor = try air.start("HeartRateSensor")
        #expect(
            try await sensor.lines(until: "subscribed") == ["restored: 1 service", "state: poweredOn", "subscribed"])
        #expect(try await monitor.lines(until: "disconnected").dropLast().allSatisfy(Self.isHeartRate))
        #expect(
            try await monitor.lines(until: Self.isHeartRate) == [
                "connected", "worn on: chest", "listening", "heart rate: 72 bpm, 0 kJ",
            ])
    }

    @Test("a heart that beats faster than an octet can say", arguments: [255, 256, 600])
    func fastHeart(rate: Int) async throws {
        let air = try await Air()
        let sensor = try air.start("HeartRateSensor", ["\(rate)"])
        _ = try await sensor.lines(until: "advertising")
        let monitor = try air.start("HeartRateMonitor")
        #expect(try await monitor.lines(until: Self.isHeartRate).last == "heart rate: \(rate) bpm, 0 kJ")
    }

    // MARK: A greeter and its guests

    @Test("a greeting is read in parts, answered in parts, and read anew by everybody when it has changed")
    func greeting() async throws {
        let air = try await Air()
        let greeter = try air.start("Greeter")
        #expect(try await greeter.lines(until: "advertising") == ["state: poweredOn", "advertising"])
        let anna = try air.start("Guest", ["Anna"])
        let annasWelcome = "Greeter says: Welcome, Anna. It is good to see you. (visits: 1)"
        #expect(
            try await anna.lines(until: annasWelcome) == [
                "state: poweredOn", "discovered a greeter", "listening",
                "Greeter says: Hello. Who is there? (visits: 0)", "answered", annasWelcome,
            ])
        let parts = ["read from octet 0", "read from octet 246"]
        let answer = "says: It is me, and this is more than one packet holds."
        for part in parts + ["Anna \(answer)"] + parts { #expect(await greeter.line() == part) }

        // Another guest's answer is news for the first as well.
        let bob = try air.start("Guest", ["Bob & sons"], environment: ["LATCH_STATE": air.directory.path + "/bob"])
        let bobsWelcome = "Greeter says: Welcome, Bob & sons. It is good to see you. (visits: 2)"
        #expect(try await bob.lines(until: bobsWelcome).suffix(3) == [annasWelcome, "answered", bobsWelcome])
        #expect(await anna.line() == bobsWelcome)
    }

    // MARK: A lock and its owner's phone

    @Test("a phone comes back to its lock, also while its app is dead, and hears what it has missed")
    func lock() async throws {
        let air = try await Air()
        let padlock = try air.start("Padlock", adapter: 1)
        #expect(try await padlock.lines(until: "advertising") == ["state: poweredOn", "advertising"])
        var phone = try air.start("Phone", adapter: 2)
        #expect(
            try await phone.lines(until: "the lock is locked")
                == ["state: poweredOn", "found a lock", "at the lock", "listening", "the lock is locked"])
        func turn(_ word: String) async throws {
            try padlock.type(word)
            #expect(await padlock.line() == word + "ed")
        }
        try await turn("unlock")
        #expect(await phone.line() == "the lock is unlocked")

        // It leaves and comes back.
        try air.cut()
        #expect(await phone.line() == "away")
        try await turn("lock")
        try air.join()
        #expect(try await phone.lines(until: "the lock is locked") == ["at the lock", "the lock is locked"])

        // It leaves, and its app is killed while it has just asked for the lock's return, or was about to. It comes back with
        // nobody there. Whoever supervises the app starts it again.
        try air.cut()
        #expect(await phone.line() == "away")
        await phone.kill()
        try await turn("unlock")
        try air.join()
        phone = try air.start("Phone", adapter: 2)
        #expect(
            try await phone.lines(until: "the lock is unlocked")
                == ["restored: 1 peripheral, listening", "state: poweredOn", "at the lock", "the lock is unlocked"])

        // It leaves with a dead app, which is started again out of range: it is connected when it comes near.
        await phone.kill()
        try air.cut()
        try await turn("lock")
        phone = try air.start("Phone", adapter: 2)
        #expect(
            try await phone.lines(until: "state: poweredOn") == [
                "restored: 1 peripheral, listening", "state: poweredOn",
            ])
        try air.join()
        #expect(try await phone.lines(until: "the lock is locked") == ["at the lock", "the lock is locked"])
    }

    @Test("a lock that was killed is there again, with its phone, and says how it stands")
    func killedLock() async throws {
        let air = try await Air()
        var padlock = try air.start("Padlock")
        _ = try await padlock.lines(until: "advertising")
        let phone = try air.start("Phone")
        _ = try await phone.lines(until: "the lock is locked")
        try padlock.type("unlock")
        #expect(await phone.line() == "the lock is unlocked")
        await padlock.kill()
        padlock = try air.start("Padlock")
        #expect(
            try await padlock.lines(until: "state: poweredOn") == [
                "restored: 1 service, 1 subscriber", "state: poweredOn",
            ])
        // It may have been killed before it knew that the phone had heard the last value: that comes again then.
        let heard = try await phone.lines(until: "the lock is locked")
        #expect(
            heard.filter { $0 != "the lock is unlocked" } == ["away", "at the lock", "the lock is locked"])
    }

    // MARK: A mailbox and a courier

    /// The same octets in every run.
    private static func contents(_ octets: Int) -> Data {
        var number: UInt32 = 1
        return Data(
            (0..<octets).map { _ in
                number = number &* 1_664_525 &+ 1_013_904_223
                return UInt8(truncatingIfNeeded: number >> 24)
            })
    }

    /// A file, the mailbox's folder, and the name under which the file is kept there.
    private static func post(_ octets: Int, in directory: String) throws -> (file: String, kept: String) {
        let parcel = Parcel(contents(octets))
        try parcel.contents.write(to: URL(fileURLWithPath: directory + "/file"))
        return (directory + "/file", "parcel-\(String(parcel.checksum, radix: 16))")
    }

    @Test("a file crosses a channel, whole, and another one after the mailbox was killed")
    func channel() async throws {
        let air = try await Air()
        let (file, kept) = try Self.post(100 << 10, in: air.directory.path)
        var mailbox = try air.start("Mailbox", [air.directory.path])
        #expect(try await mailbox.lines(until: "advertising") == ["state: poweredOn", "advertising"])
        for start in 1...2 {
            let courier = try air.start("Courier", [file])
            #expect(
                try await courier.lines(until: "delivered: 102400 octets") == [
                    "state: poweredOn", "discovered a mailbox", "channel open", "delivered: 102400 octets",
                ])
            #expect(await courier.line() == nil)
            #expect(await courier.status == 0)
            #expect(try await mailbox.lines(until: "kept: \(kept)") == ["a parcel of 102400 octets", "kept: \(kept)"])
            let received = URL(fileURLWithPath: "\(air.directory.path)/\(kept)")
            #expect(try Data(contentsOf: received) == Self.contents(100 << 10))
            try FileManager.default.removeItem(at: received)
            guard start == 1 else { continue }
            await mailbox.kill()
            mailbox = try air.start("Mailbox", [air.directory.path])
            #expect(try await mailbox.lines(until: "state: poweredOn") == ["restored: 1 service", "state: poweredOn"])
        }
    }

    @Test("a mailbox that is killed in the middle of a file gets it again, whole")
    func cutShort() async throws {
        // A kill that comes late finds all of a short one there.
        for octets in [1 << 20, 4 << 20, ParcelReader.contentsOctetsMaximum] where try await isCutShort(octets) {
            return
        }
        Issue.record("each file was there before its mailbox was killed")
    }

    /// False when the kill came too late.
    private func isCutShort(_ octets: Int) async throws -> Bool {
        let air = try await Air()
        let (file, kept) = try Self.post(octets, in: air.directory.path)
        var mailbox = try air.start("Mailbox", [air.directory.path])
        _ = try await mailbox.lines(until: "advertising")
        let courier = try air.start("Courier", [file])
        _ = try await mailbox.lines(until: "a parcel of \(octets) octets")
        await mailbox.kill()
        mailbox = try air.start("Mailbox", [air.directory.path])
        let told = try await courier.lines(until: "delivered: \(octets) octets")
        guard told.contains("disconnected") else { return false }
        #expect(
            told == [
                "state: poweredOn", "discovered a mailbox", "channel open", "disconnected", "channel open",
                "delivered: \(octets) octets",
            ])
        #expect(
            try await mailbox.lines(until: "kept: \(kept)")
                == ["restored: 1 service", "state: poweredOn", "a parcel of \(octets) octets", "kept: \(kept)"])
        #expect(
            try Data(contentsOf: URL(fileURLWithPath: "\(air.directory.path)/\(kept)")) == Self.contents(octets))
        return true
    }

    @Test("a parcel is checked: its end, its length, its contents; and CRC-32 is everybody's")
    func parcels() throws {
        let parcel = Parcel(Data("123456789".utf8))
        // The check value of CRC-32 in the catalogues of checksums.
        #expect(parcel.checksum == 0xCBF4_3926)
        var reader = ParcelReader()
        let octets = parcel.octets
        for octet in octets.dropLast() { #expect(try reader.take(Data([octet])) == nil) }
        #expect(try reader.take(Data(octets.suffix(1))) == parcel)
        #expect(reader.length == 9)

        var empty = ParcelReader()
        #expect(try empty.take(Parcel(Data()).octets) == Parcel(Data()))
        var damaged = octets
        damaged[octets.count - 1] ^= 1
        var others: [(Data, ParcelReader.Refusal)] = [(damaged, .damaged), (octets + [0], .trailing)]
        let tooLong = Parcel.octets(UInt32(ParcelReader.contentsOctetsMaximum + 1)) + [0, 0, 0, 0]
        others.append((Data(tooLong), .tooLong))
        for (octets, refusal) in others {
            var reader = ParcelReader()
            #expect(throws: refusal) { try reader.take(octets) }
        }
    }
}
