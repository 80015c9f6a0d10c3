import BluetoothCore

/// What a peripheral asks of its link.
///
/// Core 5.4, Vol 3, Part A, 4.20 (L2CAP_CONNECTION_PARAMETER_UPDATE_REQ)
package struct ConnectionParameters: WireCodable, Hashable {
    /// Units of 1.25 ms.
    package var intervalMin: UInt16
    /// Units of 1.25 ms.
    package var intervalMax: UInt16
    /// Connection events that the peripheral may skip.
    package var latency: UInt16
    /// Units of 10 ms.
    package var timeout: UInt16

    package static let intervalRange: ClosedRange<UInt16> = 6...3200
    package static let latencyRange: ClosedRange<UInt16> = 0...499
    package static let timeoutRange: ClosedRange<UInt16> = 10...3200

    package init(intervalMin: UInt16, intervalMax: UInt16, latency: UInt16, timeout: UInt16) {
        self.intervalMin = intervalMin
        self.intervalMax = intervalMax
        self.latency = latency
        self.timeout = timeout
    }

    /// Whether every field is in its range, and the link would outlive two intervals in which the peripheral sleeps.
    ///
    /// Core 5.4, Vol 6, Part B, 4.5.2 (Supervision timeout)
    package var isValid: Bool {
        Self.intervalRange.contains(intervalMin) && Self.intervalRange.contains(intervalMax)
            && intervalMin <= intervalMax && Self.latencyRange.contains(latency)
            && Self.timeoutRange.contains(timeout)
            // timeout × 10 ms > (1 + latency) × interval × 1.25 ms × 2
            && UInt32(timeout) * 4 > (1 + UInt32(latency)) * UInt32(intervalMax)
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        intervalMin = try reader.readUInt16()
        intervalMax = try reader.readUInt16()
        latency = try reader.readUInt16()
        timeout = try reader.readUInt16()
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(intervalMin)
        writer.write(intervalMax)
        writer.write(latency)
        writer.write(timeout)
    }
}
