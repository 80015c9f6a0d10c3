import COpenSSL

/// openssl.cnf, which OpenSSL reads before its first algorithm and by which other programs' administrators choose providers
/// and algorithms.
package enum OpenSSLConfiguration {
    /// For a program's first step: what Bluetooth's cryptography is, no file says, and no launch waits for one. For programs
    /// only, never for a library: it holds for everything in the process that uses OpenSSL.
    package static func ignore() { required(success: latch_openssl_ignore_configuration()) }
}
