/// Cuts a stream into lines, of bounded length.
package struct LineFramer: Sendable {
    /// Octets of a request's line, its line feed not counted.
    package static let maximumLineOctets = 4096

    package struct LineTooLong: Error, Equatable, Sendable {}

    private var partial: [UInt8] = []
    private let bound: Int

    package init(maximumLineOctets bound: Int = maximumLineOctets) { self.bound = bound }

    /// Octets of a line whose end has not come yet.
    package var pendingOctets: Int { partial.count }

    /// The lines that these octets complete. Once a line is too long the stream has no meaning any more, and the caller
    /// closes it.
    ///
    /// - Throws: ``LineTooLong`` behind ``maximumLineOctets`` octets without a line feed.
    package mutating func receive(_ octets: some Sequence<UInt8>) throws(LineTooLong) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        for octet in octets {
            if octet == UInt8(ascii: "\n") {
                lines.append(partial)
                partial.removeAll(keepingCapacity: true)
            } else {
                guard partial.count < bound else { throw LineTooLong() }
                partial.append(octet)
            }
        }
        return lines
    }
}
