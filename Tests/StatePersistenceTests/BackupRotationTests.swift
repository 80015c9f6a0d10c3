import Testing

@testable import StatePersistence

@Suite("Backups in a directory: which go")
struct BackupRotationTests {
    private static func rotation(_ numbers: [UInt64], _ others: [String] = []) -> BackupRotation {
        BackupRotation(
            names: numbers.map { "latch-\(String(repeating: "0", count: 6 - "\($0)".count))\($0).sqlite" } + others)
    }

    @Test("The next number is one more than the greatest, whatever gaps there are")
    func next() {
        #expect(Self.rotation([]).next == "latch-000001.sqlite")
        #expect(Self.rotation([7, 3]).next == "latch-000008.sqlite")
        #expect(BackupRotation(names: ["latch-999999.sqlite"]).next == "latch-1000000.sqlite")
        #expect(BackupRotation(names: ["latch-\(UInt64.max).sqlite"]).next == nil)
    }

    @Test("The oldest go beyond those that stay, and the newest never does")
    func expired() {
        #expect(Self.rotation([9, 2, 4]).expired(keeping: 2) == ["latch-000002.sqlite"])
        #expect(Self.rotation([9, 2, 4]).expired(keeping: 3).isEmpty)
        #expect(Self.rotation([9, 2, 4]).expired(keeping: 0) == ["latch-000002.sqlite", "latch-000004.sqlite"])
        #expect(
            BackupRotation(names: ["latch-999999.sqlite", "latch-1000000.sqlite"]).expired(keeping: 1) == [
                "latch-999999.sqlite"
            ])
    }

    @Test("Files of other names are neither counted nor removed")
    func others() {
        let names = [
            "latch.sqlite", "latch-.sqlite", "latch-1.sqlite", "latch-000x01.sqlite", "latch-000005.sqlite.new-77",
            "latch-000006.sqlite-wal", "xlatch-000007.sqlite", "latch-+00008.sqlite",
            "latch-18446744073709551616.sqlite",
        ]
        #expect(BackupRotation(names: names) == BackupRotation(names: [String]()))
        #expect(!names.contains(where: BackupRotation.isBackup) && BackupRotation.isBackup("latch-000005.sqlite"))
    }
}
