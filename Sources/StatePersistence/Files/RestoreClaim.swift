import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import CLinux
import Glibc

/// One process's claim to a restore identifier or to a whole identity, for as long as this lives; the kernel ends it with
/// the process. Without it two processes would restore one manager twice, or be on the air as one device.
package final class RestoreClaim {
    private let file: Descriptor

    /// Throws `claimed`, with the holder's process id, when another process has it.
    package convenience init(_ key: RestoreKey, beside database: String) throws(StoreError) {
        // An identifier may be any text, so the file is named by its digest. It is never removed: the next one to open
        // it must meet those who have it open.
        let digest = SHA256.digest(Array("\(key.role.rawValue)/\(key.identifier)".utf8))
        try self.init(
            path: "\(database).claim-\(HexText.encode(digest.prefix(8)))",
            note: "\(key.role.rawValue) \(key.identifier)"
        ) { .claimed(role: key.role.rawValue, identifier: key.identifier, pid: $0) }
    }

    /// The same for everything of the database's identity called `identity`, whatever restore identifiers come: throws
    /// `identityClaimed`.
    package convenience init(identity: String, beside database: String) throws(StoreError) {
        try self.init(path: "\(database).claim-\(identity)", note: identity) {
            .identityClaimed(path: database, pid: $0)
        }
    }

    private init(path: String, note: String, refusal: (_ holder: Int32) -> StoreError) throws(StoreError) {
        file = try StateFile.open(path, O_RDWR | O_CREAT)
        while flock(file.fd, LOCK_EX | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            guard errno == EWOULDBLOCK else { throw StateFile.error(path) }
            let text = String(decoding: try StateFile.read(file, path: path, limit: 16), as: UTF8.self)
            throw refusal(Int32(text.prefix { $0.isNumber }) ?? 0)
        }
        guard ftruncate(file.fd, 0) == 0 else { throw StateFile.error(path) }
        try StateFile.write(Array("\(getpid()) \(note)\n".utf8), to: file, path: path)
    }
}
