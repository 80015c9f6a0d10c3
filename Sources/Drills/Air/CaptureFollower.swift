import CLinux
import Glibc

/// Follows the radio's captures while they grow, one file for each controller.
final class CaptureFollower {
    private struct File {
        var offset: off_t = 0
        var snoop = BTSnoopReader()
    }

    private let directory: String
    private var files: [File] = []
    /// What could not be read, in words.
    private(set) var damage: [String] = []

    init(directory: String) { self.directory = directory }

    /// The number of the newest controller; the first is 1.
    var lastOrdinal: Int { files.count }

    /// What has been added since, controller by controller.
    func poll() -> [(controller: Int, packet: CapturePacket)] {
        while access(path(files.count + 1), R_OK) == 0 { files.append(File()) }
        return files.indices.flatMap(readMore)
    }

    private func path(_ ordinal: Int) -> String { "\(directory)/controller-\(ordinal).btsnoop" }

    private func readMore(_ index: Int) -> [(controller: Int, packet: CapturePacket)] {
        let file = latch_open(path(index + 1), O_RDONLY | O_CLOEXEC, 0)
        guard file >= 0 else { return [] }
        defer { close(file) }
        var packets: [(controller: Int, packet: CapturePacket)] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = pread(file, &buffer, buffer.count, files[index].offset)
            guard count > 0 else { return packets }
            files[index].offset += off_t(count)
            do throws(BTSnoopReader.Malformed) {
                packets += try files[index].snoop.read(buffer[..<count]).map { (index + 1, $0) }
            } catch {
                damage.append("the capture of controller \(index + 1) is malformed")
            }
        }
    }
}
