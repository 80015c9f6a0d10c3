import Glibc

/// One call to write may take a part of what it is given, or be interrupted: all octets go out by as many calls as that takes.
package enum WholeWrite {
    /// False, and `errno`, when whoever is behind the descriptor takes no more. A part may be there then.
    package static func write(_ octets: [UInt8], to descriptor: Int32) -> Bool {
        var rest = octets[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
