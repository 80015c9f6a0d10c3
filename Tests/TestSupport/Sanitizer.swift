import Glibc

/// What is built by `scripts/sanitize`, and so are the programs that its tests start.
package enum Sanitizer {
    /// Of threads, or of addresses. It answers for the kernel where memory is to be locked: the terabytes that it has reserved would be too.
    package static let isThere = ["__tsan_init", "__asan_init"].contains { (name: String) in dlsym(nil, name) != nil }
}
