import Glibc

/// Directories in memory that go with their owner.
package final class ScratchSpace {
    package let path: String

    /// - Throws: ``SimulationFailure/noScratch(path:errorNumber:)``.
    package init() throws {
        var template = Array("/dev/shm/latch-simulation-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw SimulationFailure.noScratch(path: "/dev/shm", errorNumber: errno)
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    func makeDirectory(_ name: String) throws -> String {
        let directory = path + "/" + name
        guard mkdir(directory, 0o700) == 0 else {
            throw SimulationFailure.noScratch(path: directory, errorNumber: errno)
        }
        return directory
    }

    deinit { Self.remove(path) }

    private static func remove(_ path: String) {
        guard let directory = opendir(path) else { return }
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard name != ".", name != ".." else { continue }
            if unlink(path + "/" + name) != 0 { remove(path + "/" + name) }
        }
        closedir(directory)
        rmdir(path)
    }
}

/// Why nothing could be simulated.
package enum SimulationFailure: Error, Equatable, CustomStringConvertible {
    case noScratch(path: String, errorNumber: Int32)
    case notFurnished(String)
    case cannotPlant(String)

    package var description: String {
        switch self {
        case .noScratch(let path, let number): "\(path) cannot be made: \(String(cString: strerror(number)))"
        case .cannotPlant(let reason): reason
        case .notFurnished(let reason): "the house cannot be furnished: \(reason)"
        }
    }
}
