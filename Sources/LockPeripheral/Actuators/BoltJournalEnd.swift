import BluetoothCore

/// What the end of a bolt's journal says: what a launch reads of a file that may be long.
///
/// A line that cannot be read is left out, with those behind it that were there before. It costs what was said on it: where it
/// is the last one nobody knows where the bolt is, and where it is behind the last movement that an intent ordered nobody knows
/// whether another was.
package struct BoltJournalEnd: Equatable, Sendable {
    /// Those that can be read, in order.
    package private(set) var lines: [BoltJournal.Line] = []
    package private(set) var damagedLineCount = 0
    /// The last one can be read, or there was never any.
    package private(set) var isLastKnown = true
    /// Whether ``lastIntended`` is the last movement that an intent ordered.
    package private(set) var isLastIntendedKnown: Bool
    /// Without a line that has no end: a movement that had not begun when the power went. Where the last line is damaged it
    /// has none that counts.
    package private(set) var wholeOctets: Int

    /// `octets` are the last ones of a file, or all, which `isWhole` says.
    package init(_ octets: [UInt8], isWhole: Bool) {
        let newline = UInt8(ascii: "\n")
        isLastIntendedKnown = isWhole
        wholeOctets = octets.lastIndex(of: newline).map { $0 + 1 } ?? 0
        var texts = octets[..<wholeOctets].split(separator: newline, omittingEmptySubsequences: false).dropLast()
        // Of a file's end the first line is a part of one.
        if !isWhole { texts = texts.dropFirst() }
        for text in texts { take(text) }
        guard octets.count - wholeOctets > BoltJournal.lineMaximumOctets || !isWhole && texts.isEmpty else { return }
        wholeOctets = octets.count
        lose()
    }

    package var last: BoltJournal.Line? { isLastKnown ? lines.last : nil }
    package var lastIntended: BoltJournal.Line? { lines.last(where: \.isIntended) }

    private mutating func take(_ text: ArraySlice<UInt8>) {
        guard text.count <= BoltJournal.lineMaximumOctets,
            let line = BoltJournal.Line(String(decoding: text, as: UTF8.self)),
            line.sequence > lines.last?.sequence ?? 0
        else { return lose() }
        lines.append(line)
        isLastKnown = true
        if line.isIntended { isLastIntendedKnown = true }
    }

    private mutating func lose() {
        damagedLineCount += 1
        isLastKnown = false
        isLastIntendedKnown = false
    }
}
