import CLinux
import DaemonControl
import Glibc

/// Reads small files whole, with errors for operators.
package enum SmallFile {
    package enum ReadError: Error {
        case system(Int32)
        case tooLarge
        case notUTF8
    }

    package static func readText(_ path: String, maximumOctets: Int) throws(ReadError) -> String {
        let octets = try readOctets(path, maximumOctets: maximumOctets)
        guard let text = String(validating: octets, as: UTF8.self) else { throw .notUTF8 }
        return text
    }

    private static func readOctets(_ path: String, maximumOctets: Int) throws(ReadError) -> [UInt8] {
        let file = latch_open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY, 0)
        guard file >= 0 else { throw .system(errno) }
        defer { close(file) }
        return try readOctets(descriptor: file, maximumOctets: maximumOctets)
    }

    package static func readOctets(descriptor: Int32, maximumOctets: Int) throws(ReadError) -> [UInt8] {
        var octets: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count == 0 { return octets }
            if count < 0 {
                guard errno == EINTR else { throw .system(errno) }
                continue
            }
            octets += buffer[..<count]
            guard octets.count <= maximumOctets else { throw .tooLarge }
        }
    }

    /// Up to a line feed, which is left out; a terminal gives no more at once.
    package static func readLine(descriptor: Int32, maximumOctets: Int) throws(ReadError) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: maximumOctets + 1)
        let count = read(descriptor, &buffer, buffer.count)
        guard count >= 0 else { throw .system(errno) }
        guard count <= maximumOctets else { throw .tooLarge }
        return Array(buffer[..<count].prefix { $0 != UInt8(ascii: "\n") })
    }
}

extension ConfiguredSettings {
    /// Every default, and over them what the file says.
    ///
    /// - Throws: A ``Failure`` with the first fault.
    package static func load(_ path: String?) throws(Failure) -> Self {
        guard let path else { return Self() }
        let (settings, faults) = try read(path)
        if let first = faults.first { throw Failure(.configuration, first.description) }
        return settings
    }

    /// Every default, over them what the file says as far as that can be taken, and all that is wrong with it, line by line.
    ///
    /// - Throws: A ``Failure`` when there is no such text.
    package static func read(_ path: String) throws(Failure) -> (settings: Self, faults: [ConfigurationError]) {
        let text: String
        do throws(SmallFile.ReadError) {
            text = try SmallFile.readText(path, maximumOctets: ConfigurationText.maximumFileOctets)
        } catch {
            throw Failure(
                error.isOfFile ? .configuration : unreadable, "configuration file \(path) " + error.configurationProblem
            )
        }
        var settings = Self()
        var faults: [ConfigurationError] = []
        let parsed = ConfigurationText(text, file: path, faults: &faults)
        settings.apply(parsed, file: path, faults: &faults)
        return (
            settings, faults.sorted { ($0.position.line, $0.position.column) < ($1.position.line, $1.position.column) }
        )
    }
}

extension SmallFile.ReadError {
    /// Somebody has to write another file, or another name. Otherwise the system could not read it at present.
    package var isOfFile: Bool {
        switch self {
        case .system(ENOENT), .system(ENOTDIR), .system(EACCES), .system(EISDIR), .system(ELOOP), .system(ENAMETOOLONG):
            true
        case .system: false
        case .tooLarge, .notUTF8: true
        }
    }

    fileprivate var configurationProblem: String {
        switch self {
        case .system(let number):
            "cannot be read: \(String(cString: strerror(number))): name another with --config, or leave it out for the "
                + "defaults"
        case .tooLarge: "is larger than \(ConfigurationText.maximumFileOctets) octets: it is none"
        case .notUTF8: "is not UTF-8: save it as UTF-8"
        }
    }
}
