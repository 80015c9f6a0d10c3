import Glibc

/// What whoever has started this program has set for it.
enum Environment {
    /// nil for what is not set.
    static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}
