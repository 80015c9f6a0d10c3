import Foundation
import Glibc
import Testing

@testable import GPIO

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

    private struct Labelled: LabelledChip, Equatable {
        let path: String
        let label: String
    }

    /// Looks for the door's chip where these are; an errno stands for a chip that cannot be opened.
    private static func search(_ chips: [(path: String, label: String?, code: Int32)]) throws -> Labelled {
        try GPIOChip.find("door", among: chips.map(\.path)) { path throws(GPIOFailure) in
            let chip = chips.first { $0.path == path }
            guard let label = chip?.label else { throw GPIOFailure("chip \(path)", chip?.code ?? ENOENT) }
            return Labelled(path: path, label: label)
        }
    }

    @Test("A chip is found by its label, whatever its number is, and whatever else there is")
    func labels() throws {
        #expect(try Self.search([("0", "door", 0)]) == Labelled(path: "0", label: "door"))
        #expect(try Self.search([("0", "board", 0), ("1", "door", 0), ("2", "doors", 0)]).path == "1")
        // Plugged in again.
        #expect(try Self.search([("0", "board", 0), ("2", "doors", 0), ("4", "door", 0)]).path == "4")
        for code in [EACCES, EPERM, ENODEV, ENOENT] {
            #expect(try Self.search([("0", nil, code), ("1", "door", 0), ("2", nil, code)]).path == "1")
        }
    }

    @Test("Two chips of one label are refused, wherever they stand, and none of them is taken")
    func twins() {
        for chips: [(String, String?, Int32)] in [
            [("0", "door", 0), ("1", "door", 0)], [("0", "door", 0), ("1", "board", 0), ("2", "door", 0)],
            [("0", "door", 0), ("1", nil, EACCES), ("2", "door", 0)],
        ] {
            let failure = Self.failure { _ = try Self.search(chips) }
            #expect(failure == GPIOFailure("several chips are labelled \"door\"", ENOTUNIQ))
        }
    }

    @Test("Where none has the label it is said that one may not be opened, for that may be the one")
    func refused() {
        for code in [EACCES, EPERM] {
            let failure = Self.failure { _ = try Self.search([("0", "board", 0), ("1", nil, code)]) }
            #expect(failure == GPIOFailure("chip 1", code))
        }
        for code in [ENODEV, ENOENT, EBUSY] {
            let failure = Self.failure { _ = try Self.search([("0", "board", 0), ("1", nil, code)]) }
            #expect(failure == GPIOFailure("chip \"door\"", ENODEV))
        }
    }

    @Test("Chips are the directory's `gpiochip` entries, and nothing else there is opened")
    func paths() throws {
        let directory = NSTemporaryDirectory() + "gpio-" + UUID().uuidString.prefix(8)
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        for name in ["gpiochip2", "gpio", "tty", "gpiochip0"] {
            try Data().write(to: URL(fileURLWithPath: directory + "/" + name))
        }
        #expect(GPIOChip.paths(in: directory) == ["gpiochip0", "gpiochip2"].map { directory + "/" + $0 })
        #expect(GPIOChip.paths(in: directory + "/none").isEmpty)
    }

    @Test("Digits are a line's number, and anything else is its name")
    func names() {
        #expect(LineName("7") == .number(7) && LineName("STRIKE") == .name("STRIKE"))
        #expect(LineName("7a") == .name("7a") && LineName("-1") == .name("-1"))
        #expect(LineName("+7") == .name("+7") && LineName("-0") == .name("-0"))
        #expect("\(LineName("7"))" == "line 7" && "\(LineName("STRIKE"))" == "line \"STRIKE\"")
    }
}
