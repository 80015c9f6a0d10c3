import Foundation
import GPIO
import Glibc
import Testing

/// What can be seen without a chip; `scripts/drill-gpio` has one.
@Suite("Chips that are none")
struct GPIOChipTests {
    private static func failure(_ body: () throws -> Void) -> GPIOFailure? {
        do {
            try body()
            return nil
        } catch {
            return error as? GPIOFailure
        }
    }

    @Test("A label that no chip has is no device, and a file that is none is not asked for its lines")
    func none() throws {
        let directory = NSTemporaryDirectory() + "gpio-" + UUID().uuidString.prefix(8)
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        for name in ["gpiochip0", "tty"] {
            try Data("not a chip".utf8).write(to: URL(fileURLWithPath: directory + "/" + name))
        }
        let missing = Self.failure { _ = try GPIOChip.find("door", in: directory) }
        #expect(missing == GPIOFailure("chip \"door\"", ENODEV))
        #expect(missing?.description == "chip \"door\": No such device")
        #expect(Self.failure { _ = try GPIOChip.find("door", in: directory + "/none") }?.code == ENODEV)
        #expect(Self.failure { _ = try GPIOChip.find(directory + "/gpiochip0") }?.code == ENOTTY)
        #expect(Self.failure { _ = try GPIOChip.find(directory + "/gpiochip1") }?.code == ENOENT)
    }

    @Test("Digits are a line's number, and anything else is its name")
    func names() {
        #expect(LineName("7") == .number(7) && LineName("STRIKE") == .name("STRIKE"))
        #expect(LineName("7a") == .name("7a") && LineName("-1") == .name("-1"))
        #expect("\(LineName("7"))" == "line 7" && "\(LineName("STRIKE"))" == "line \"STRIKE\"")
    }
}
