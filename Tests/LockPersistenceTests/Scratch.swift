import Glibc
import LockPersistence
import StatePersistence

/// A directory of mode 0700 that goes away with its owner.
final class Scratch {
    let directory: String
    var path: String { directory + "/latch.db" }

    init() {
        var template = Array("/tmp/latch-lock-store-XXXXXX\0".utf8CString)
        guard mkdtemp(&template) != nil else { fatalError("mkdtemp") }
        directory = template.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
    }

    deinit {
        for suffix in ["", "-wal", "-shm", ".lock"] { unlink(path + suffix) }
        rmdir(directory)
    }

    func open() throws -> Database { try Database(path: path, components: [.lock, .key]) }
}

/// SplitMix64, so that a printed seed (LATCH_TEST_SEED) brings a run back.
struct SeededGenerator: RandomNumberGenerator {
    let seed: UInt64
    private var state: UInt64

    init(announcedBy test: String) {
        let given = getenv("LATCH_TEST_SEED").flatMap { UInt64(String(cString: $0)) }
        seed = given ?? UInt64.random(in: 0 ... .max)
        state = seed
        print("\(test): LATCH_TEST_SEED=\(seed)")
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    /// 0, the largest, or one of a few in between.
    mutating func edge<T: FixedWidthInteger>(_ type: T.Type = T.self) -> T {
        [0, 1, T.max - 1, T.max, T.max / 3][Int(next() % 5)]
    }

    mutating func oneOf<T>(_ values: [T]) -> T { values[Int(next() % UInt64(values.count))] }
    mutating func maybe<T>(_ value: T) -> T? { next().isMultiple(of: 3) ? nil : value }
}
