/// The part that a controller plays on a link, as LE Connection Complete writes it.
enum Role: UInt8, Hashable, Sendable {
    case central = 0
    case peripheral = 1

    var other: Self { self == .central ? .peripheral : .central }
}

/// Core 5.4, Vol 6, Part B, 4.5.1 (Connection events) and 4.5.2 (Supervision timeout)
struct ConnectionParameters: Hashable, Sendable {
    /// In units of 1.25 ms.
    var interval: UInt16
    /// Connection events that the peripheral may sleep through.
    var latency: UInt16
    /// In units of 10 ms.
    var supervisionTimeout: UInt16

    var intervalNanoseconds: UInt64 { UInt64(interval) * 1_250_000 }
    var supervisionNanoseconds: UInt64 { UInt64(supervisionTimeout) * 10_000_000 }

    /// What LE Create Connection and LE Connection Update share: Interval_Min, Interval_Max, Max_Latency,
    /// Supervision_Timeout, Min_CE_Length, Max_CE_Length. The shortest interval is granted.
    ///
    /// Core 5.4, Vol 4, Part E, 7.8.12 and 7.8.18: the timeout in milliseconds shall be larger than
    /// (1 + Max_Latency) x Interval_Max x 2.
    init(_ parameters: borrowing CommandParameters, at offset: Int) throws(Status) {
        let minimum = parameters.u16(offset)
        let maximum = parameters.u16(offset + 2)
        let latency = parameters.u16(offset + 4)
        let timeout = parameters.u16(offset + 6)
        let eventLengths = (parameters.u16(offset + 8), parameters.u16(offset + 10))
        let longest = (1 + UInt64(latency)) * UInt64(maximum) * 2 * 1_250_000
        guard (0x0006...0x0C80).contains(minimum), (0x0006...0x0C80).contains(maximum), minimum <= maximum,
            latency <= 0x01F3, (0x000A...0x0C80).contains(timeout), UInt64(timeout) * 10_000_000 > longest,
            eventLengths.0 <= eventLengths.1
        else { throw .invalidParameters }
        interval = minimum
        self.latency = latency
        supervisionTimeout = timeout
    }
}
