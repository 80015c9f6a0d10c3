import Glibc

/// Standard input and output.
enum Descriptor {
    struct Closed: Error {}

    private static let readOctets = 65_536

    /// What is there now; empty at the end, nil when it is broken.
    static func read(_ descriptor: Int32) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: readOctets)
        let count = Glibc.read(descriptor, &buffer, buffer.count)
        return count < 0 ? nil : Array(buffer.prefix(count))
    }

    /// All of it, however long the reader takes.
    static func write(_ text: String, to descriptor: Int32) throws(Closed) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else { throw Closed() }
            rest = rest.dropFirst(max(count, 0))
        }
    }
}
