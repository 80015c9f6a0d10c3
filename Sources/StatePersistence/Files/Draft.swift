import CLinux
import Glibc

/// Files that are not whole yet: beside the file that each is to be, under its name and the number of the thread that writes it. A kill
/// leaves one, and who makes the same file later removes it.
enum Draft {
    private static let ending = ".new-"

    /// This thread's.
    static func path(of target: String) -> String { target + ending + "\(latch_thread_id())" }

    /// Removes the file's drafts that nobody writes any more. Somebody else may be making the same file.
    static func removeAbandoned(of target: String) throws(StoreError) {
        let name = StateFile.name(of: target)
        try remove(in: StateFile.directory(of: target)) { $0 == name && kill($1, 0) != 0 && errno == ESRCH }
    }

    /// Removes the directory's drafts of the files whose names `isTheirs` takes: for who is alone in making these.
    static func removeAll(in directory: String, of isTheirs: (String) -> Bool) throws(StoreError) {
        try remove(in: directory) { name, _ in isTheirs(name) }
    }

    private static func remove(
        in directory: String, where isToGo: (_ target: String, _ writer: pid_t) -> Bool
    ) throws(StoreError) {
        for name in try StateFile.names(in: directory) {
            guard let (target, writer) = parts(of: name), isToGo(target, writer) else { continue }
            try StateFile.removeIfPresent(directory + "/" + name)
        }
    }

    /// SQLite may have files of its own beside one, of a longer name.
    private static func parts(of name: String) -> (target: String, writer: pid_t)? {
        let text = name.utf8
        var start = text.endIndex
        while start > text.startIndex {
            start = text.index(before: start)
            guard text[start...].starts(with: ending.utf8) else { continue }
            let digits = name[start...].dropFirst(ending.count).prefix { $0.isASCII && $0.isNumber }
            return pid_t(digits).flatMap { $0 > 0 ? (String(name[..<start]), $0) : nil }
        }
        return nil
    }
}
