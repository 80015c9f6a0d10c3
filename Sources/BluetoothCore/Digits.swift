extension FixedWidthInteger {
    /// Reads a number as operators write it: ASCII digits of this radix, leading zeros among them, and nothing else. nil for a sign, which
    /// `Int("+7")` and `UInt32("-0")` take, and for a number that does not fit.
    package init?(digits text: some StringProtocol, radix: Int = 10) {
        switch text.utf8.first {
        case nil, UInt8(ascii: "+"), UInt8(ascii: "-"): return nil
        default: self.init(text, radix: radix)
        }
    }
}
