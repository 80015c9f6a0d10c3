import CLinux
import CommandInterface
import Glibc

/// A file of a setup code's picture, for as long as the window is open: a new one, where nobody else can put another in its place. It goes
/// with the window, whose code is worth nothing then.
final class SetupPicture {
    private static let kind = "the setup code's picture "

    private let file: NewFile

    /// Makes an empty file, before anybody opens a window for it.
    ///
    /// - Throws: ``Failure`` when it exists, cannot be made, or lies where others may write.
    init(_ path: String) throws(Failure) {
        let directory = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        var status = stat()
        guard stat(directory, &status) == 0 else {
            throw NewFile.failure(Self.kind + path, String(cString: strerror(errno)))
        }
        let others = status.st_mode & 0o022 != 0
        guard !others || status.st_mode & 0o1000 != 0 else {
            throw NewFile.failure(
                Self.kind + path,
                "other users can write to \(directory) and put a code of theirs in its place: name a file elsewhere")
        }
        file = try NewFile(path, kind: Self.kind)
    }

    /// - Throws: ``Failure`` when the disk takes no more.
    func write(_ text: String) throws(Failure) { try file.write(Array(text.utf8)) }
}
