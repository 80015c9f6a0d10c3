import Glibc

/// Where captures of failing tests go.
package struct CaptureDirectory: Sendable {
    static let variable = "LATCH_TEST_CAPTURE"

    package let path: String

    /// Of this run; nil when it wants no captures. It is made when it is not there.
    package static let requested: Result<CaptureDirectory, CaptureError>? =
        getenv(variable).map { path in
            Result { () throws(CaptureError) in try CaptureDirectory(path: String(cString: path)) }
        }

    /// Refuses what captures cannot be written to, before a test runs for nothing.
    package init(path: String) throws(CaptureError) {
        self.path = path
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw CaptureError(path, errno) }
        // A file is made rather than the mode asked for: root may write to a disk that is mounted for reading only.
        var template = Array((path + "/.writable-XXXXXX\0").utf8CString)
        let probe = mkstemp(&template)
        guard probe >= 0 else { throw CaptureError(path, errno) }
        close(probe)
        unlink(template)
    }
}
