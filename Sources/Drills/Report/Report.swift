import CLinux
import Glibc

/// A drill as files: a page for people, the figures for programs, the verdicts for continuous integration, and the capture for
/// whoever wants to see for himself.
package struct Report {
    let page: String
    let json: String
    let junit: JUnit
    var packets: [(controller: Int, packet: CapturePacket)] = []

    package init(page: String, json: String, junit: JUnit) {
        self.page = page
        self.json = json
        self.junit = junit
    }

    package func write(to directory: String) throws {
        if mkdir(directory, 0o755) != 0, errno != EEXIST { throw DrillError.system("cannot make \(directory)") }
        try Self.write(Array(page.utf8), to: directory + "/index.html")
        try Self.write(Array(json.utf8), to: directory + "/result.json")
        try Self.write(Array(junit.text.utf8), to: directory + "/junit.xml")
        guard !packets.isEmpty else { return }
        let ordered = packets.enumerated().sorted {
            ($0.element.packet.unixMicroseconds, $0.offset) < ($1.element.packet.unixMicroseconds, $1.offset)
        }
        try Self.write(BTSnoopReader.monitorCapture(ordered.map(\.element)), to: directory + "/air.btsnoop")
    }

    private static func write(_ octets: [UInt8], to file: String) throws {
        // The capture holds keys.
        let descriptor = latch_open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw DrillError.system("cannot write \(file)") }
        defer { close(descriptor) }
        var rest = octets[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { throw DrillError.system("cannot write \(file)") }
            rest.removeFirst(count)
        }
    }
}
