import BlueZ
import HCITransport
import HostComposition
import Testing

@testable import latch

@Suite("Where a host's air is")
struct AirAddressTests {
    @Test(
        "An address is read as it is written",
        arguments: ["bluez", "bluez:hci1", "bluez:00:1A:7D:DA:71:13", "hci:0", "unix:/run/air", "tcp:127.0.0.1:1"])
    func written(text: String) throws { #expect("\(try AirAddress(parsing: text))" == text) }

    @Test("bluetoothd's adapters are named by the kernel's names or by their addresses")
    func adapters() throws {
        #expect(try AirAddress(parsing: "bluez") == .blueZ(.any))
        #expect(try AirAddress(parsing: "bluez:hci1") == .blueZ(.named("hci1")))
        #expect(try AirAddress(parsing: "bluez:00:00:00:00:00:02") == .blueZ(.address(2)))
        #expect(try AirAddress(parsing: "hci:1") == .controller(TransportAddress(parsing: "hci:1")))
    }

    @Test(
        "What names no adapter is refused, with the forms that do",
        arguments: ["bluez:", "bluez:hci", "bluez:1", "bluez:hci1,take", "bluez:00:11:22:33:44:55/random", "blues"])
    func malformed(text: String) {
        let error = #expect(throws: TransportError.self) { try AirAddress(parsing: text) }
        #expect(error?.kind == .malformedAddress && error?.description.contains("bluez:hciN") == true)
    }
}
