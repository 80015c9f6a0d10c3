import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import CLinux
import Glibc
import SecurityManager
import StatePersistence

/// What it costs to find out that an address on the air belongs to nobody, among many bonds, beside one AES block for
/// each of them with the key set already; and whose it is when it was met before.
struct ResolveBenchmark {
    /// Of a known address, which is too quick for the clock: so many times for one figure.
    private static let repetitions = 1_000

    private let bonds: Int
    private let runs: Int

    init(_ options: Options) throws {
        bonds = try options.integer("bonds", default: 10_000)
        runs = try options.integer("runs", default: 201)
    }

    func run() throws {
        guard let own = IdentityAddress(DeviceAddress(kind: .random, bits: 0xC000_0000_0000)) else {
            throw BenchmarkError("no identity")
        }
        let identity = LocalIdentity(address: own, irk: SystemRandom.secret())
        let bonded = (0..<bonds).map(Self.bond)
        let book = BondBook(localIdentity: identity, bonds: bonded)
        let block = AES128(key: SystemRandom.secret())
        var floor: [Double] = []
        var unknown: [Double] = []
        var found = 0
        for run in 0..<runs {
            let begin = Clock.milliseconds
            var sum: UInt128 = 0
            for _ in 0..<bonds { sum ^= block.encrypt(sum) }
            floor.append(Clock.milliseconds - begin)
            // Resolvable, and of nobody here but for one in 2^24.
            let address = DeviceAddress(kind: .random, bits: 0x4000_0000_0000 | UInt64(run) << 24 | UInt64(sum & 0xFF))
            let start = Clock.milliseconds
            if book.resolve(address) != .unknown { found += 1 }
            unknown.append(Clock.milliseconds - start)
        }
        print("\(bonds) AES blocks, one key                   \(Sample(floor).row)")
        print("an unknown private address, \(bonds) bonds     \(Sample(unknown).row)")
        if found > 0 { print("\(found) addresses resolved by chance") }
        print("a known private address, \(bonds) bonds       \(try known(bonded, book).row)")
    }

    /// The last peer's address, from its second time on.
    private func known(_ bonded: [Bond], _ book: BondBook) throws -> Sample {
        guard let irk = bonded.last?.peerIRK else { throw BenchmarkError("no bond") }
        let address = Toolbox.resolvablePrivateAddress(irk: AES128(key: irk), random: 0x12_3456)
        guard case .bonded = book.resolve(address) else { throw BenchmarkError("a bonded peer's address is unknown") }
        let times = (0..<runs).map { _ in
            let begin = Clock.milliseconds
            for _ in 0..<Self.repetitions { _ = book.resolve(address) }
            return (Clock.milliseconds - begin) / Double(Self.repetitions)
        }
        return Sample(times, digits: 5)
    }

    private static func bond(_ index: Int) -> Bond {
        let address = DeviceAddress(kind: .random, bits: 0xC000_0000_0000 | UInt64(index + 1))
        return Bond(
            id: BondID(Int64(index + 1)), identity: IdentityAddress(address), peerIRK: SystemRandom.secret(),
            ltk: SystemRandom.secret(), localCSRK: SystemRandom.secret(), remoteCSRK: SystemRandom.secret(),
            model: .outOfBand, state: .confirmed)
    }
}

/// What a durable commit of one counter costs; its floor is one bare overwrite with fdatasync in the same directory.
struct CommitBenchmark {
    private let runs: Int

    init(_ options: Options) throws { runs = try options.integer("runs", default: 1001) }

    func run() throws {
        let directory = try TemporaryDirectory("commit")
        let flush = try BareFlush(directory.path + "/floor")
        let store = try StateStore(
            path: directory.path + "/latch.sqlite", machineKeyFile: directory.path + "/machine.key",
            credentialsDirectory: nil, components: [.host])
        let host = SQLiteHostStore(store, name: "lock")
        host.append(
            .bond(
                .upsert(
                    Bond(id: BondID(1), identity: nil, ltk: SystemRandom.secret(), model: .outOfBand, state: .confirmed)
                ))
        )
        try store.database.commit([host])
        var floor: [Double] = []
        var commits: [Double] = []
        for counter in 0..<UInt32(runs) {
            floor.append(try flush.milliseconds())
            let begin = Clock.milliseconds
            host.append(.bond(.remoteSignCounter(BondID(1), counter)))
            try store.database.commit([host])
            commits.append(Clock.milliseconds - begin)
            try store.database.checkpointIfNeeded()
        }
        print("pwrite and fdatasync, overwriting 4096 octets   \(Sample(floor, digits: 3).row)")
        print("commit of one sign counter                      \(Sample(commits, digits: 3).row)")
        let ratio = Sample(commits).percentile(50) / Sample(floor).percentile(50)
        print("ratio of the medians                            \(Sample.text(ratio, digits: 2))")
    }
}

/// A directory that goes with the value.
final class TemporaryDirectory {
    let path: String

    init(_ name: String) throws {
        var template = Array("/tmp/latch-\(name)-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw BenchmarkError(system: "a temporary directory") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { Self.remove(path) }

    private static func remove(_ path: String) {
        guard let directory = opendir(path) else { return }
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard name != ".", name != ".." else { continue }
            let child = path + "/" + name
            if unlink(child) != 0 { remove(child) }
        }
        closedir(directory)
        rmdir(path)
    }
}
