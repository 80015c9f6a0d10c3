import BluetoothCore
import BluetoothCrypto
import Glibc

/// Names one state of the database among all that there ever were.
package struct StateName: Equatable, Sendable {
    package static let digestOctets = 16

    package var generation: UInt64
    /// Of the seal, which is different each time that it is made: two states of one generation have two names.
    package var digest: [UInt8]

    package init(generation: UInt64, digest: [UInt8]) {
        self.generation = generation
        self.digest = digest
    }
}

/// What is remembered outside of the database: which state is the present one, and which one it is about to become.
package struct AnchorRecord: Equatable, Sendable {
    /// nil before the first state is on disk.
    package var current: StateName?
    /// While a commit is under way: it may be on disk already.
    package var next: StateName?

    package init(current: StateName?, next: StateName? = nil) {
        self.current = current
        self.next = next
    }

    /// Whether the database may be in this state after a kill or a power cut.
    package func admits(_ state: StateName?) -> Bool {
        guard let state else { return current == nil }
        return state == current || state == next
    }

    package var generation: UInt64 { max(current?.generation ?? 0, next?.generation ?? 0) }
}

/// What was found in the anchor's place.
package enum AnchorReading: Equatable, Sendable {
    case nothing
    /// Neither a record nor one that this machine wrote.
    case damaged
    case record(AnchorRecord)
}

/// Where the present state's name is kept: apart from the database, so that an old copy of the database does not bring its
/// own name with it. A file does; a counter in a TPM would as well.
package protocol GenerationAnchor {
    /// For errors.
    var path: String { get }
    /// - Throws: ``StoreError/anchorUnusable(path:reason:)``, or ``StoreError/tooOpen(path:mode:allowed:)``.
    func read() throws(StoreError) -> AnchorReading
    /// On the medium when it returns.
    ///
    /// - Throws: ``StoreError/anchorUnusable(path:reason:)``.
    func write(_ record: AnchorRecord) throws(StoreError)
}

/// The anchor as a file of a few lines, with a MAC under a key that is derived from the machine key. It is replaced as a
/// whole: a kill or a power cut leaves the record before or the new one.
package struct FileAnchor: GenerationAnchor {
    private static let heading = "latch anchor 1"
    package static let octetsMaximum = 512

    package let path: String
    private let rows: RowAuthenticator

    package init(path: String, keys: KeyWrap) {
        self.path = path
        rows = keys.rows
    }

    /// Under a machine key that may be none of a database yet.
    package init(path: String, machineKey: MachineKey) {
        self.path = path
        rows = RowAuthenticator(machineKey)
    }

    /// Whether there is any.
    ///
    /// - Throws: ``StoreError/anchorUnusable(path:reason:)``.
    package static func exists(_ path: String) throws(StoreError) -> Bool {
        do throws(StoreError) { return try StateFile.status(path) != nil } catch { throw unusable(error, path) }
    }

    /// - Throws: ``StoreError/anchorUnusable(path:reason:)``, or ``StoreError/tooOpen(path:mode:allowed:)``.
    package func read() throws(StoreError) -> AnchorReading {
        let reading = try read(path)
        if case .record = reading { return reading }
        // One for another machine key, that has not come to its place (`MachineKeyRotation`).
        if case .record(let record) = try read(beside) { return .record(record) }
        return reading
    }

    private func read(_ path: String) throws(StoreError) -> AnchorReading {
        try Self.reading(path) { octets in
            guard let (record, text) = Self.parse(octets) else { return nil }
            return ConstantTime.equal(octets, text + macLine(text)) ? record : nil
        }
    }

    // MARK: Another machine key

    private var beside: String { path + ".new-key" }

    /// For a database that is about to have this one's machine key: the anchor in its place stays.
    ///
    /// - Throws: As ``write(_:)`` does.
    package func writeBeside(_ record: AnchorRecord) throws(StoreError) { try write(record, to: beside) }

    /// What was written beside is the anchor from now on. Where this key's is in its place already, a launch has been there, and it stays.
    ///
    /// - Throws: As ``write(_:)`` does.
    package func takePlace() throws(StoreError) {
        do throws(StoreError) {
            guard try StateFile.status(beside) != nil else { return }
            if case .record = try read(path) { return try StateFile.removeIfPresent(beside) }
            try StateFile.rename(beside, to: path)
        } catch {
            throw Self.unusable(error, path)
        }
    }

    /// What it says, to somebody without the machine key: nobody knows then who wrote it.
    ///
    /// - Throws: As ``read()`` does.
    package static func look(at path: String) throws(StoreError) -> AnchorReading {
        try reading(path) { parse($0)?.record }
    }

    private static func reading(_ path: String, _ decode: ([UInt8]) -> AnchorRecord?) throws(StoreError)
        -> AnchorReading
    {
        do throws(StoreError) {
            guard try StateFile.status(path) != nil else { return .nothing }
            try StateFile.check(path)
            let file = try StateFile.open(path, O_RDONLY)
            return decode(try StateFile.read(file, path: path, limit: octetsMaximum)).map { .record($0) } ?? .damaged
        } catch {
            throw unusable(error, path)
        }
    }

    /// On the medium when it returns.
    ///
    /// - Throws: ``StoreError/anchorUnusable(path:reason:)``.
    package func write(_ record: AnchorRecord) throws(StoreError) { try write(record, to: path) }

    private func write(_ record: AnchorRecord, to path: String) throws(StoreError) {
        let draft = path + ".new"
        do throws(StoreError) {
            try StateFile.removeIfPresent(draft)
            do throws(StoreError) {
                let file = try StateFile.open(draft, O_WRONLY | O_CREAT | O_EXCL)
                try StateFile.giveToOwner(of: StateFile.directory(of: path), file, path: draft)
                try StateFile.write(encode(record), to: file, path: draft)
                guard fsync(file.fd) == 0 else { throw StateFile.error(draft) }
            } catch {
                try? StateFile.removeIfPresent(draft)
                throw error
            }
            try StateFile.rename(draft, to: path)
        } catch {
            throw Self.unusable(error, path)
        }
    }

    private static func unusable(_ error: StoreError, _ path: String) -> StoreError {
        switch error {
        case .tooOpen: error
        case .unreadable(_, let reason), .io(_, let reason): .anchorUnusable(path: path, reason: reason)
        case .full: .anchorUnusable(path: path, reason: "the disk is full")
        case .readOnly: .anchorUnusable(path: path, reason: "the file system is read-only")
        default: .anchorUnusable(path: path, reason: "\(error)")
        }
    }

    private func encode(_ record: AnchorRecord) -> [UInt8] {
        let octets = Self.text(of: record)
        return octets + macLine(octets)
    }

    private func macLine(_ text: [UInt8]) -> [UInt8] { Array("mac \(HexText.encode(rows.anchorMAC(text)))\n".utf8) }

    /// What the MAC is over.
    private static func text(of record: AnchorRecord) -> [UInt8] {
        Array("\(heading)\n\(line("current", record.current))\(line("next", record.next))".utf8)
    }

    private static func line(_ name: String, _ state: StateName?) -> String {
        guard let state else { return "\(name) none\n" }
        return "\(name) \(state.generation) \(HexText.encode(state.digest))\n"
    }

    /// Only what ``encode(_:)`` writes, so that no second way of writing a record can mean anything else.
    private static func parse(_ octets: [UInt8]) -> (record: AnchorRecord, text: [UInt8])? {
        guard let text = String(validating: octets, as: UTF8.self) else { return nil }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count == 5, let current = state(lines[1], "current"), let next = state(lines[2], "next")
        else { return nil }
        let record = AnchorRecord(current: current, next: next)
        let signed = self.text(of: record)
        return octets.starts(with: signed) ? (record, signed) : nil
    }

    /// nil for what is no line of that name.
    private static func state(_ line: Substring, _ name: String) -> StateName?? {
        let words = line.split(separator: " ")
        guard words.first.map(String.init) == name else { return nil }
        if words.count == 2, words[1] == "none" { return .some(nil) }
        guard words.count == 3, let generation = UInt64(words[1]), let digest = HexText.decode(String(words[2])),
            digest.count == StateName.digestOctets
        else { return nil }
        return StateName(generation: generation, digest: digest)
    }
}
