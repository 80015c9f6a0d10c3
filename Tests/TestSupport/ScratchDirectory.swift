import CLinux
import Glibc

/// A directory of mode 0700 that goes away with its owner, and what it holds.
package final class ScratchDirectory {
    package let path: String

    package init(in parent: String = "/tmp") {
        var template = Array((parent + "/latch-scratch-XXXXXX\0").utf8CString)
        guard mkdtemp(&template) != nil else { fatalError("mkdtemp") }
        path = template.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
    }

    deinit {
        for name in files {
            let path = path + "/" + name
            if unlink(path) != 0 { rmdir(path) }
        }
        rmdir(path)
    }

    /// The names of its entries, sorted.
    package var files: [String] {
        guard let listing = opendir(path) else { return [] }
        defer { closedir(listing) }
        var names: [String] = []
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names.sorted()
    }
}
