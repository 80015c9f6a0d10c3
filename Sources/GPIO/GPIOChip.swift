import BluetoothCore
import CGPIO
import CLinux
import Glibc

/// How an operator names a line: by its number on the chip, or by the name that the board gives it.
package enum LineName: Hashable, Sendable, CustomStringConvertible {
    case number(UInt32)
    case name(String)

    /// Digits are a number. Anything else is a name, a number with a sign too.
    package init(_ text: String) { self = UInt32(digits: text).map(Self.number) ?? .name(text) }

    package var description: String {
        switch self {
        case .number(let number): "line \(number)"
        case .name(let name): "line \"\(name)\""
        }
    }
}

/// A chip as ``GPIOChip/find(_:in:)`` sees it. Tests have chips of their own.
protocol LabelledChip {
    /// As the kernel or the chip's driver says it. Several chips may have the same.
    var label: String { get }
}

/// A chip of the kernel's GPIO character device, uAPI v2: opened by its label, since its number changes when it is plugged in again.
package final class GPIOChip: LabelledChip {
    /// Where the system has its chips.
    package static let directory = "/dev"

    package let path: String
    package let label: String
    package let lineCount: UInt32
    private let descriptor: Int32

    /// - Throws: ``GPIOFailure`` for what is no chip, or may not be opened.
    package init(path: String) throws(GPIOFailure) {
        descriptor = latch_open(path, O_RDWR | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw GPIOFailure("chip \(path)", errno) }
        var name = [CChar](repeating: 0, count: latch_gpio_name_octets + 1)
        var lines: UInt32 = 0
        guard latch_gpio_chip(descriptor, &name, &lines) == 0 else {
            let code = errno
            close(descriptor)
            throw GPIOFailure("chip \(path)", code)
        }
        self.path = path
        label = Self.text(name)
        lineCount = lines
    }

    deinit { close(descriptor) }

    /// The one chip with this label. A text that begins with `/` is the path of a chip.
    ///
    /// - Throws: ``GPIOFailure``: ENODEV where there is none, ENOTUNIQ where several have the label, else why none could be opened.
    package static func find(_ label: String, in directory: String = GPIOChip.directory) throws(GPIOFailure) -> GPIOChip
    {
        if label.hasPrefix("/") { return try GPIOChip(path: label) }
        return try find(label, among: paths(in: directory)) { path throws(GPIOFailure) in try GPIOChip(path: path) }
    }

    /// `open`: makes the chip of a path.
    static func find<Chip: LabelledChip>(
        _ label: String, among paths: [String], open: (String) throws(GPIOFailure) -> Chip
    ) throws(GPIOFailure) -> Chip {
        var found: Chip?
        var refusal: GPIOFailure?
        for path in paths {
            let chip: Chip
            do throws(GPIOFailure) {
                chip = try open(path)
            } catch {
                refusal = error
                continue
            }
            guard chip.label == label else { continue }
            guard found == nil else { throw GPIOFailure("several chips are labelled \"\(label)\"", ENOTUNIQ) }
            found = chip
        }
        if let found { return found }
        if let refusal, refusal.code == EACCES || refusal.code == EPERM { throw refusal }
        throw GPIOFailure("chip \"\(label)\"", ENODEV)
    }

    static func paths(in directory: String) -> [String] {
        guard let listing = opendir(directory) else { return [] }
        defer { closedir(listing) }
        var paths: [String] = []
        while let entry = readdir(listing) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { String(cString: $0) }
            }
            if name.hasPrefix("gpiochip") { paths.append("\(directory)/\(name)") }
        }
        return paths.sorted()
    }

    /// - Throws: ``GPIOFailure``: ENOENT where the chip has no such line.
    package func offset(of line: LineName) throws(GPIOFailure) -> UInt32 {
        switch line {
        case .number(let number):
            guard number < lineCount else { throw GPIOFailure("\(line) of chip \"\(label)\"", ENOENT) }
            return number
        case .name(let name):
            var octets = [CChar](repeating: 0, count: latch_gpio_name_octets + 1)
            for offset in 0..<lineCount {
                guard latch_gpio_line_name(descriptor, offset, &octets) == 0 else {
                    throw GPIOFailure("line \(offset) of chip \"\(label)\"", errno)
                }
                if Self.text(octets) == name { return offset }
            }
            throw GPIOFailure("\(line) of chip \"\(label)\"", ENOENT)
        }
    }

    /// Requests a line. An output has its level when this returns.
    ///
    /// - Throws: ``GPIOFailure``: EBUSY where somebody else has the line, EINVAL for what the driver cannot do.
    package func request(_ setting: LineSetting, consumer: String) throws(GPIOFailure) -> GPIOLine {
        let value: Int32 = setting.use == .output(isActive: true) ? 1 : 0
        let name = "\(setting.line) of chip \"\(label)\""
        let request = latch_gpio_request(descriptor, try offset(of: setting.line), setting.flags, value, consumer)
        guard request >= 0 else { throw GPIOFailure(name, errno) }
        return GPIOLine(request, name)
    }

    private static func text(_ octets: [CChar]) -> String {
        String(decoding: octets.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
