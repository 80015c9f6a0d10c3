/// What the medium under some files has, and what is only in the cache.
///
/// A flush brings what was written to its file before; until then any of it may be there or not, in any order, and the last
/// of it in parts.
package struct Medium {
    package enum Change: Sendable {
        case written(String, at: Int, [UInt8])
        case truncated(String, to: Int)
        case deleted(String)
        /// On the medium as soon as it is told: who renames flushes the directory before the file is used under its new name.
        case renamed(String, to: String)
        case synced(String)
        /// What was written to the file since its last flush never gets there.
        case lost(String)
        /// The script's own mark.
        case noted(Int)

        fileprivate var file: String? {
            switch self {
            case .written(let file, _, _), .truncated(let file, _), .deleted(let file), .synced(let file),
                .lost(let file), .renamed(let file, _):
                file
            case .noted: nil
            }
        }
    }

    /// The octets of each file.
    package typealias Files = [String: [UInt8]]

    /// What is there for sure.
    package private(set) var flushed: Files
    /// What may be there.
    private var unflushed: [Change] = []

    package init(_ files: Files) { flushed = files }

    package mutating func take(_ change: Change) {
        switch change {
        case .written, .truncated: unflushed.append(change)
        case .deleted(let file):
            unflushed.removeAll { $0.file == file }
            flushed[file] = nil
        case .renamed(let file, let name):
            unflushed.removeAll { $0.file == name }
            unflushed = unflushed.map { $0.file == file ? $0.renamed(name) : $0 }
            flushed[name] = flushed.removeValue(forKey: file) ?? []
        case .synced(let file):
            for change in unflushed where change.file == file { Self.apply(change, to: &flushed) }
            unflushed.removeAll { $0.file == file }
        case .lost(let file): unflushed.removeAll { $0.file == file }
        case .noted: break
        }
    }

    /// What reads show: all of it.
    package var cached: Files { files(with: unflushed) }

    /// How many of the newest changes are left out, or kept alone, one at a time.
    private static let singledOut = 6
    /// A sector of the smallest medium: the part of a write that it makes whole or not at all.
    private static let sectorOctets = 512

    /// What it may have when the power fails now: nothing of what was not flushed; all of it; the last of it torn; and of the
    /// newest changes each alone, and all but each.
    package var afterPowerCut: [Files] { survivors.map(files) }

    /// One of those, whichever number is given.
    package func afterPowerCut(choice: Int) -> Files {
        let survivors = survivors
        return files(with: survivors[choice % survivors.count])
    }

    /// Which of the changes that were not flushed may be there.
    private var survivors: [[Change]] {
        guard let last = unflushed.last else { return [[]] }
        var sets = [[], unflushed]
        let before = Array(unflushed.dropLast())
        if case .written(let file, let offset, let octets) = last {
            let half = max(Self.sectorOctets, octets.count / 2 / Self.sectorOctets * Self.sectorOctets)
            if half < octets.count {
                let head = Change.written(file, at: offset, Array(octets[..<half]))
                let tail = Change.written(file, at: offset + half, Array(octets[half...]))
                sets += [before + [head], before + [tail]]
            }
        }
        for place in unflushed.indices.suffix(Self.singledOut) where unflushed.count > 1 {
            sets.append([unflushed[place]])
            sets.append(unflushed.enumerated().filter { $0.offset != place }.map(\.element))
        }
        return sets
    }

    private func files(with changes: [Change]) -> Files {
        var files = flushed
        for change in changes { Self.apply(change, to: &files) }
        return files
    }

    /// In place: a whole file is a thousand times as large as what is written to it.
    private static func apply(_ change: Change, to files: inout Files) {
        switch change {
        case .written(let file, let offset, let octets):
            files[file, default: []].write(octets, at: offset)
        case .truncated(let file, let length): files[file, default: []].cut(to: length)
        case .deleted, .renamed, .synced, .lost, .noted: break
        }
    }
}

extension [UInt8] {
    /// What lies between its end and `offset` is zero.
    fileprivate mutating func write(_ octets: [UInt8], at offset: Int) {
        let end = offset + octets.count
        if count < end { cut(to: end) }
        replaceSubrange(offset..<end, with: octets)
    }

    fileprivate mutating func cut(to length: Int) {
        if length < count {
            removeSubrange(length...)
        } else {
            append(contentsOf: repeatElement(0, count: length - count))
        }
    }
}

extension Medium.Change {
    /// The same, of a file that has another name now.
    fileprivate func renamed(_ name: String) -> Self {
        switch self {
        case .written(_, let offset, let octets): .written(name, at: offset, octets)
        case .truncated(_, let length): .truncated(name, to: length)
        case .deleted, .renamed, .synced, .lost, .noted: self
        }
    }
}
