import BluetoothCore

/// Starting and Ending Handle of a request, as they came: whether they make a range is the server's to answer.
package struct ATTHandleRange: WireCodable, Hashable {
    package var start: AttributeHandle
    package var end: AttributeHandle

    package init(start: AttributeHandle = .first, end: AttributeHandle = .last) {
        self.start = start
        self.end = end
    }

    package init(_ range: ClosedRange<AttributeHandle>) {
        self.init(start: range.lowerBound, end: range.upperBound)
    }

    package init(decoding reader: inout ByteReader) throws(DecodingError) {
        start = AttributeHandle(try reader.readUInt16())
        end = AttributeHandle(try reader.readUInt16())
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(start.rawValue)
        writer.write(end.rawValue)
    }

    /// nil when the start is 0 or behind the end.
    ///
    /// Core 5.4, Vol 3, Part F, 3.4.3.1 (Find Information Request)
    package var closed: ClosedRange<AttributeHandle>? { start >= .first && start <= end ? start...end : nil }
}
