import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import CLinux
import Glibc

/// One process's claim to a restore identifier, for as long as this lives; the kernel ends it with the process. Without
/// it two daemons would restore one manager twice.
package final class RestoreClaim {
    private let file: Descriptor

    /// Throws `claimed`, with the holder's process id, when another process has it.
    package init(_ key: RestoreKey, beside database: String) throws(StoreError) {
        // An identifier may be any text, so the file is named by its digest. It is never removed: the next one to open
        // it must meet those who have it open.
        let digest = SHA256.digest(Array("\(key.role.rawValue)/\(key.identifier)".utf8))
        let path = "\(database).claim-\(HexText.encode(digest.prefix(8)))"
        file = try StateFile.open(path, O_RDWR | O_CREAT)
        while flock(file.fd, LOCK_EX | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            guard errno == EWOULDBLOCK else { throw StateFile.error(path) }
            let text = String(decoding: try StateFile.read(file, path: path, limit: 16), as: UTF8.self)
            throw .claimed(
                role: key.role.rawValue, identifier: key.identifier, pid: Int32(text.prefix { $0.isNumber }) ?? 0)
        }
        guard ftruncate(file.fd, 0) == 0 else { throw StateFile.error(path) }
        try StateFile.write(Array("\(getpid()) \(key.role.rawValue) \(key.identifier)\n".utf8), to: file, path: path)
    }
}
