import Glibc
import TestSupport
import Testing

/// The rig that other tests stand on.
@Suite("The disk whose flush fails")
struct ThinDiskTests {
    @Test("A disk that goes ends whoever holds its files, and not another disk that was made while they were open")
    func neighbours() throws {
        var first: ThinDisk? = try ThinDisk()
        // As a library opens them that knows nothing of other threads' children.
        let held = open((first?.path ?? "") + "/held", O_RDWR | O_CREAT, 0o600)
        try #require(held >= 0)
        let second = try ThinDisk()
        close(held)
        first = nil
        try second.feed()
    }
}
