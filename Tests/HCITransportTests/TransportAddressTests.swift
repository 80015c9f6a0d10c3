import BluetoothCore
import Foundation
import Testing

@testable import HCITransport

@Suite("Where a controller is")
struct TransportAddressTests {
    private static let good: [(String, TransportAddress)] = [
        ("unix:/run/radio.sock", .unix(path: "/run/radio.sock")), ("unix:a:b", .unix(path: "a:b")),
        ("tcp:127.0.0.1:9000", .tcp(host: "127.0.0.1", port: 9000)), ("tcp:[::1]:1", .tcp(host: "::1", port: 1)),
        ("serial:/dev/ttyS0,115200", .serial(device: "/dev/ttyS0", baud: 115_200, flowControl: false)),
        ("serial:/dev/ttyS0,3000000,rtscts", .serial(device: "/dev/ttyS0", baud: 3_000_000, flowControl: true)),
        ("hci:0", .userChannel(.number(0), takes: false)),
        ("hci:65534,take", .userChannel(.number(65534), takes: true)),
        (
            "hci:00:1A:7D:DA:71:13",
            .userChannel(.address(DeviceAddress(kind: .public, bits: 0x001A_7DDA_7113)), takes: false)
        ),
        ("hci:usb-1-1.2,take", .userChannel(.port("1-1.2"), takes: true)), ("fd:3", .inherited(3)),
    ]

    @Test("addresses, and their text", arguments: good)
    func parses(_ text: String, _ address: TransportAddress) throws {
        #expect(try TransportAddress(parsing: text) == address)
        #expect("\(address)" == text)
    }

    @Test(
        "what may be left out",
        arguments: [
            ("serial:/dev/ttyS0", TransportAddress.serial(device: "/dev/ttyS0", baud: 115_200, flowControl: false)),
            ("serial:/dev/ttyS0,rtscts", .serial(device: "/dev/ttyS0", baud: 115_200, flowControl: true)),
        ])
    func defaults(_ text: String, _ address: TransportAddress) throws {
        #expect(try TransportAddress(parsing: text) == address)
    }

    @Test(
        "what is none, said in one line with what would be",
        arguments: [
            "", "unix", "unix:", "/run/radio.sock", "tcp:127.0.0.1", "tcp::9000", "tcp:127.0.0.1:0",
            "tcp:127.0.0.1:65536", "tcp:[[2]]:6", "tcp:[2:6", "tcp:2]:6",
            "tcp:::1:9000", "serial:", "serial:,9600", "serial:/dev/ttyS0,0", "serial:/dev/ttyS0,fast",
            "serial:/dev/ttyS0,rtscts,9600", "serial:/dev/ttyS0,9600,rtscts,", "hci:", "hci:65535", "hci:-1", "hci:x",
            "hci:0,", "hci:0,take,take", "hci:0,give", "hci:,take", "hci:00:00:00:00:00:00", "hci:00:1A:7D:DA:71",
            "hci:C0:1A:7D:DA:71:13/random", "hci:usb-", "hci:usb-1", "hci:usb-1-1:1.0", "hci:usb-../1-1",
            "tcp:127.0.0.1:+9000", "serial:/dev/ttyS0,+9600", "hci:+0", "hci:-0", "hci:00:+A:7D:DA:71:13",
            "hci:00:-0:7D:DA:71:13", "fd:+3", "fd:-0", "fd:-1", "fd:x", "usb:0", "unix:a\0b",
        ])
    func refuses(_ text: String) throws {
        let error = try #require(throws: TransportError.self) { try TransportAddress(parsing: text) }
        #expect(error.kind == .malformedAddress)
        #expect(error.description.contains("unix:PATH"))
        #expect(!error.description.contains("\n"))
    }
}

@Suite struct AdapterListTests {
    @Test("the kernel's adapters are told from what else stands there, and sorted by their numbers")
    func adapters() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("adapters-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(TransportAddress.adapters(in: folder.path).isEmpty)
        for name in ["hci10", "hci2", "hci2:64", "hci", "rfkill0"] {
            try FileManager.default.createDirectory(
                at: folder.appendingPathComponent(name), withIntermediateDirectories: true)
        }
        #expect(
            TransportAddress.adapters(in: folder.path) == [
                .userChannel(.number(2), takes: false), .userChannel(.number(10), takes: false),
            ])
    }

    @Test("an adapter is found by its port and by its address, whatever number it has now")
    func named() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("adapters-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        // As the kernel has it: a USB dongle behind a hub, one on a root port, and a UART's.
        let devices = [
            2: "../../../1-1.2:1.0", 10: "../../../2-1:1.0", 11: "../../../serial0-0",
        ]
        for (number, device) in devices {
            let adapter = folder.appendingPathComponent("hci\(number)")
            try FileManager.default.createDirectory(at: adapter, withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(
                atPath: adapter.appendingPathComponent("device").path, withDestinationPath: device)
        }
        let address = DeviceAddress(kind: .public, bits: 0x001A_7DDA_7113)
        let adapters = KernelAdapters(in: folder.path) { $0 == 11 ? address : nil }
        func number(_ text: String) -> UInt16? { AdapterName(Substring(text))?.number(among: adapters) }
        #expect(number("usb-1-1.2") == 2)
        #expect(number("usb-2-1") == 10)
        // A port whose name is the beginning of another's, or goes on behind it, is another port.
        #expect(number("usb-1-1") == nil && number("usb-1-1.20") == nil)
        #expect(number("usb-2-1.1") == nil)
        #expect(number("usb-0-0") == nil)
        #expect(number("00:1A:7D:DA:71:13") == 11)
        #expect(number("00:1A:7D:DA:71:14") == nil)
        // The kernel itself says whether there is one of a number.
        #expect(number("7") == 7)
    }
}
