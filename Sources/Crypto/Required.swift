/// Unwraps what OpenSSL cannot refuse for any input of the right size. If it does, there is no memory, or a library without
/// the algorithm: no peer can cause it, and nothing secure can go on without it.
func required<T>(_ value: T?) -> T {
    guard let value else { fatalError("OpenSSL cannot provide what Bluetooth needs of it") }
    return value
}

/// The same for a function that answers 1 for success.
func required(success status: Int32) {
    _ = required(status == 1 ? status : nil)
}
