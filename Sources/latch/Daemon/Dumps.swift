import CLinux
import CommandInterface

/// What is in memory stays there: core dumps, traces by others and reports of a crash would show keys.
enum Dumps {
    /// Before a key is read, for the rest of the process.
    static func forbid() throws(Failure) {
        guard latch_forbid_dumps() == 0 else {
            throw Failure(.state, "dumps of a crash cannot be forbidden, and keys would be in them: check the limits")
        }
    }
}
