import CLinux
import CommandInterface
import DaemonControl
import Glibc

/// Reads small files whole, with errors for operators.
enum SmallFile {
    enum ReadError: Error {
        case system(Int32)
        case tooLarge
        case notUTF8
    }

    static func readText(_ path: String, maximumOctets: Int) throws(ReadError) -> String {
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

    static func readOctets(descriptor: Int32, maximumOctets: Int) throws(ReadError) -> [UInt8] {
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
    static func readLine(descriptor: Int32, maximumOctets: Int) throws(ReadError) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: maximumOctets + 1)
        let count = read(descriptor, &buffer, buffer.count)
        guard count >= 0 else { throw .system(errno) }
        guard count <= maximumOctets else { throw .tooLarge }
        return Array(buffer[..<count].prefix { $0 != UInt8(ascii: "\n") })
    }
}

extension ConfiguredSettings {
    /// Every default, and over them what the file says.
    static func load(_ path: String?) throws(Failure) -> Self {
        var settings = Self()
        guard let path else { return settings }
        do {
            let text = try SmallFile.readText(path, maximumOctets: ConfigurationText.maximumFileOctets)
            try settings.apply(ConfigurationText(text, file: path), file: path)
        } catch let error as ConfigurationError {
            throw Failure(.configuration, error.description)
        } catch SmallFile.ReadError.system(let number) {
            throw Failure(
                .configuration,
                "configuration file \(path) cannot be read: \(String(cString: strerror(number))): name another with "
                    + "--config, or leave it out for the defaults")
        } catch SmallFile.ReadError.tooLarge {
            throw Failure(
                .configuration,
                "configuration file \(path) is larger than \(ConfigurationText.maximumFileOctets) octets: it is none")
        } catch {
            throw Failure(.configuration, "configuration file \(path) is not UTF-8: save it as UTF-8")
        }
        return settings
    }
}
