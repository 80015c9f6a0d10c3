import CLinux
import Glibc

/// Which of a directory's files are backups, and which of them go. They are numbered and not dated: a machine's clock may be unset.
package struct BackupRotation: Equatable, Sendable {
    private static let beginning = "latch-"
    private static let ending = ".sqlite"
    private static let digits = 6

    /// The numbers of the backups that are there, ascending.
    private let numbers: [UInt64]

    /// Files of other names are nobody's to touch.
    package init(names: some Sequence<String>) { numbers = names.compactMap(Self.number(of:)).sorted() }

    private static func number(of name: String) -> UInt64? {
        guard name.hasPrefix(beginning), name.hasSuffix(ending) else { return nil }
        let digits = name.dropFirst(beginning.count).dropLast(ending.count)
        // As it is written, and in no other way: two names are never of one number.
        guard let number = UInt64(digits), Self.name(of: number) == name else { return nil }
        return number
    }

    private static func name(of number: UInt64) -> String {
        let text = String(number)
        return beginning + String(repeating: "0", count: max(0, digits - text.count)) + text + ending
    }

    /// nil when there are no more numbers.
    package var next: String? {
        let (number, overflow) = (numbers.last ?? 0).addingReportingOverflow(1)
        return overflow ? nil : Self.name(of: number)
    }

    /// The oldest ones, when so many are to stay; the newest one is never among them.
    package func expired(keeping count: Int) -> [String] {
        numbers.dropLast(max(1, count)).map(Self.name(of:))
    }

    /// Whether a file of this name is a backup.
    package static func isBackup(_ name: String) -> Bool { number(of: name) != nil }
}

/// A directory of backups, of which the newest ones are kept.
package enum BackupDirectory {
    package static let keptMaximum = 1_000

    package struct Outcome: Equatable, Sendable {
        /// The new one.
        package var path: String
        package var removed: [String]
    }

    /// Copies the database into a new file of the directory, checks what is there then, and only behind that removes what is more than `count`.
    /// What fails leaves the others as they were.
    ///
    /// - Throws: A ``StoreError``: the directory cannot be used, or why the copy failed, or is not sound.
    package static func add(
        _ path: String, to directory: String, keeping count: Int
    ) throws(StoreError) -> Outcome {
        try requireUsable(directory)
        guard let name = BackupRotation(names: try StateFile.names(in: directory)).next else {
            throw .backupExists(path: directory)
        }
        let target = "\(directory)/\(name)"
        try StateBackup.make(of: path, at: target)
        do throws(StoreError) {
            try DatabaseFile.requireSoundCopy(target)
        } catch {
            // Not to be found, and taken for a good one.
            try? StateFile.removeIfPresent(target)
            throw error
        }
        let names = try StateFile.names(in: directory)
        let removed = BackupRotation(names: names).expired(keeping: count).filter { $0 != name }
        for old in removed { try StateFile.removeIfPresent("\(directory)/\(old)") }
        // Of whoever has looked at one of them.
        for old in removed { try StateFile.removeIfPresent("\(directory)/\(old).lock") }
        try Draft.removeAll(in: directory, of: BackupRotation.isBackup)
        try StateFile.synchronizeDirectory(directory)
        return Outcome(path: target, removed: removed.map { "\(directory)/\($0)" })
    }

    private static func requireUsable(_ directory: String) throws(StoreError) {
        guard let found = try StateFile.directoryStatus(directory) else { throw .directoryMissing(path: directory) }
        // Who can write there can put an old copy in a new one's place.
        let mode = UInt32(found.st_mode) & 0o7777
        guard mode & 0o022 == 0 else { throw .tooOpen(path: directory, mode: mode, allowed: StateFile.directoryMode) }
    }
}
