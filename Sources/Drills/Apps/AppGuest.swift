import CLinux
import Glibc

/// A program that somebody else wrote, with its arguments: found before anything is started.
struct AppGuest: Equatable, Sendable {
    let path: String
    let arguments: [String]

    var name: String { String(path.suffix(from: path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)) }

    /// A name with a slash is a path; one without is looked for in `folders`, and then in PATH.
    init(_ words: [String], folders: [String] = [], for purpose: String) throws(DrillError) {
        guard let name = words.first, !name.isEmpty else {
            throw DrillError(.environment, "\(purpose) needs the name of a program")
        }
        let search = getenv("PATH").map { String(cString: $0) } ?? ""
        let places =
            name.contains("/")
            ? [name] : (folders + search.split(separator: ":").map(String.init)).map { $0 + "/" + name }
        guard let found = places.first(where: Programs.isProgram), let resolved = realpath(found, nil) else {
            throw DrillError(
                .environment,
                name.contains("/")
                    ? "\(purpose): \(name) is no program that can be run: build it, or name another"
                    : "\(purpose): there is no program \(name) in \((folders + ["PATH"]).joined(separator: ", ")): build it "
                        + "there, or write its path")
        }
        defer { free(resolved) }
        path = String(cString: resolved)
        arguments = Array(words.dropFirst())
    }

    /// Where it lies.
    var folder: String { String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex)) }
}

/// The lines that a process prints into a file, as they come.
struct LineFollower {
    private let file: String
    private var offset: off_t = 0
    private var rest: [UInt8] = []

    /// A line that never ends is given in pieces.
    static let maximumLineOctets = 65_536

    init(file: String) { self.file = file }

    /// What is whole by now; with `isOver` the rest as well.
    mutating func poll(isOver: Bool = false) -> [String] {
        let descriptor = latch_open(file, O_RDONLY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 16_384)
        var lines: [String] = []
        while true {
            let count = pread(descriptor, &buffer, buffer.count, offset)
            guard count > 0 else { break }
            offset += off_t(count)
            for octet in buffer[..<count] {
                if octet == UInt8(ascii: "\n") || rest.count == Self.maximumLineOctets {
                    lines.append(take())
                }
                if octet != UInt8(ascii: "\n") { rest.append(octet) }
            }
        }
        if isOver, !rest.isEmpty { lines.append(take()) }
        return lines
    }

    private mutating func take() -> String {
        defer { rest = [] }
        if rest.last == UInt8(ascii: "\r") { rest.removeLast() }
        return String(decoding: rest, as: UTF8.self)
    }
}
