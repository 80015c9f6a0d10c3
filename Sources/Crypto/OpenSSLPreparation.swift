import COpenSSL

/// How OpenSSL starts in a program of this package: without openssl.cnf, which it reads before its first algorithm and by which
/// other programs' administrators choose providers and algorithms, and without tables that only its older interface looks into.
package enum OpenSSLPreparation {
    /// For a program's first step: what Bluetooth's cryptography is, no file says, and no launch waits for one. For programs
    /// only, never for a library: it holds for everything in the process that uses OpenSSL.
    package static func run() { required(success: latch_openssl_prepare()) }
}
