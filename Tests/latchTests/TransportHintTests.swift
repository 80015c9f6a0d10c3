import BluetoothHost
import CLinux
import Foundation
import Glibc
import HCI
import HCITransport
import TestSupport
import Testing

@testable import latch

@Suite("A controller on a UART that does not answer", .serialized)
struct TransportHintTests {
    @Test("What the way to a controller may lack is said of a UART, and of what a UART can cause")
    func hints() throws {
        let serial = try TransportAddress(parsing: "serial:/dev/ttyAMA0,921600,rtscts")
        for failure in [ControllerFailure.unresponsive(.none), .outOfStep(indicator: 0x99), .outOfStep(indicator: nil)]
        {
            let hint = try #require(serial.hint(for: failure))
            #expect(hint.contains("921600 baud with RTS") && hint.contains("btattach") && hint.contains("hci:N"))
        }
        for failure in [ControllerFailure.hardwareError(code: 1), .commandQueueFull] {
            #expect(serial.hint(for: failure) == nil)
        }
        for address in ["hci:0", "unix:/run/air", "tcp:127.0.0.1:1"] {
            #expect(try TransportAddress(parsing: address).hint(for: .outOfStep(indicator: nil)) == nil)
        }
    }

    @Test("A line on which nobody answers: the daemon's log says what to look at")
    func silentLine() throws {
        var (master, slave): (Int32, Int32) = (-1, -1)
        try #require(openpty(&master, &slave, nil, nil, nil) == 0)
        defer {
            close(master)
            close(slave)
        }
        let device = String(cString: try #require(ttyname(slave)))
        let bench = try Bench(withRadio: false)
        let journal = bench.path("journal")
        let lock = try Daemon(
            bench.arguments("peripheral", "lock", transport: "serial:\(device),115200") + ["--journal", journal])
        #expect(
            waits {
                let text = (try? String(contentsOfFile: journal, encoding: .utf8)) ?? ""
                return text.contains("\"controller_failed\"")
                    && text.contains("\"hint\":\"115200 baud without RTS and CTS")
            })
        #expect(lock.end() == 0)
    }
}
