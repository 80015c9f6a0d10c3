import CommandInterface
import Glibc

/// A new file of mode 0600, whole and on disk or not there; or standard output.
final class ExportFile {
    /// Octets that are gathered for one write.
    private static let gathered = 1 << 16

    /// nil for standard output.
    private let file: NewFile?
    private var octets: [UInt8] = []

    /// - Throws: ``Failure`` when it exists, or cannot be made.
    init(_ path: String) throws(Failure) { file = path == "-" ? nil : try NewFile(path) }

    /// - Throws: ``Failure`` when the disk, or whoever reads, takes no more.
    func line(_ text: String) throws(Failure) {
        octets += text.utf8
        octets.append(UInt8(ascii: "\n"))
        if octets.count >= Self.gathered { try flush() }
    }

    /// - Throws: ``Failure`` when it is not all on disk.
    func finish() throws(Failure) {
        try flush()
        try file?.keep()
    }

    private func flush() throws(Failure) {
        if let file {
            try file.write(octets)
        } else {
            try NewFile.write(octets, to: STDOUT_FILENO, named: "to standard output")
        }
        octets.removeAll(keepingCapacity: true)
    }
}
