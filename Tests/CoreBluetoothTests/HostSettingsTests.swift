import BluetoothCore
import BluetoothHost
import Foundation
import HCITransport
import HostComposition
import Testing

@testable import CoreBluetooth

@Suite("What the environment says of the process's host")
struct HostSettingsTests {
    private func settings(_ environment: [String: String]) throws -> HostSettings {
        try HostSettings(
            environment: environment.merging(["HOME": "/home/anna"]) { mine, _ in mine }, boot: BootID(bits: 1),
            program: "Doorbell",
            machine: "board")
    }

    @Test("nothing: the first adapter, the user's state, the machine's name, and no pairing")
    func nothing() throws {
        let settings = try settings([:])
        #expect(settings.transport == nil)
        #expect(settings.stateDirectory == "/home/anna/.local/state/latch/Doorbell")
        #expect(settings.configuration.deviceName == "board")
        #expect(settings.configuration.pairing.admission == .asNeeded)
        #expect(settings.configuration.encryptsBondedLinks)
        #expect(settings.configuration.privacy == HostConfiguration(deviceName: "").privacy)
    }

    @Test(
        "state lies where it was put by name, by systemd, or by the user's XDG directories, in this order",
        arguments: [
            (["XDG_STATE_HOME": "/x"], "/x/latch/Doorbell"),
            (["XDG_STATE_HOME": "relative"], "/home/anna/.local/state/latch/Doorbell"),
            (["XDG_STATE_HOME": "/x", "STATE_DIRECTORY": "/var/lib/a:/var/lib/b"], "/var/lib/a"),
            (["STATE_DIRECTORY": "/var/lib/a", "LATCH_STATE": "/mine"], "/mine"),
        ])
    func state(environment: [String: String], expected: String) throws {
        #expect(try settings(environment).stateDirectory == expected)
    }

    @Test("every variable is taken")
    func everything() throws {
        let settings = try settings([
            "LATCH_TRANSPORT": "hci:1", "LATCH_NAME": "Bell", "LATCH_PAIRING": "just-works", "LATCH_PRIVACY": "yes",
            "CREDENTIALS_DIRECTORY": "/run/credentials/bell",
        ])
        #expect(settings.transport == .controller(.userChannel(.number(1), takes: false)))
        #expect(settings.configuration.deviceName == "Bell")
        #expect(settings.configuration.pairing.admission == .anybody)
        #expect(settings.configuration.privacy)
        #expect(settings.credentialsDirectory == "/run/credentials/bell")
        #expect(try !self.settings(["LATCH_PRIVACY": "no"]).configuration.privacy)
    }

    @Test("an adapter that bluetoothd keeps can be named, and one of its own leaves bluetoothd alone")
    func blueZ() throws {
        #expect(try settings(["LATCH_TRANSPORT": "bluez:hci1"]).transport == AirAddress(parsing: "bluez:hci1"))
        guard case .bus = try settings(["LATCH_TRANSPORT": "bluez:hci1"]).openAir(),
            case .controller(_, .failure) = try settings(["LATCH_TRANSPORT": "unix:/nowhere/air"]).openAir()
        else {
            Issue.record("it is somewhere else")
            return
        }
    }

    @Test(
        "what cannot be meant is refused, and the variable named",
        arguments: [
            ("LATCH_TRANSPORT", "bluetooth"), ("LATCH_TRANSPORT", "bluez:1"), ("LATCH_STATE", "state"),
            ("LATCH_PAIRING", "always"),
            ("LATCH_PRIVACY", "1"),
        ])
    func malformed(variable: String, value: String) {
        #expect {
            try settings([variable: value])
        } throws: { "\($0)".hasPrefix(variable) && "\($0)".contains(value) }
    }

    @Test("nobody's home: there is no place for state, and the way out is said")
    func homeless() {
        #expect {
            try HostSettings(environment: [:], boot: BootID(bits: 1), program: "Doorbell", machine: "board")
        } throws: { "\($0)".contains("LATCH_STATE") }
    }
}
