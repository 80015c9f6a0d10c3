import BluetoothCore
import Testing

@Suite("A number as operators write it") struct DigitsTests {
    @Test("Digits are a number, leading zeros among them", arguments: [("0", 0), ("7", 7), ("007", 7), ("255", 255)])
    func numbers(text: String, number: UInt8) {
        #expect(UInt8(digits: text) == number)
        #expect(UInt8(digits: ("x" + text).dropFirst()) == number)
    }

    @Test(
        "A sign, an empty text, another script's digits and what does not fit are no number",
        arguments: [
            "", "+", "-", "+7", "-7", "-0", "+0", "--7", " 7", "7 ", "7\n", "1_000", "0x7", "7a", "٧", "７", "256",
        ])
    func refused(text: String) {
        #expect(UInt8(digits: text) == nil)
    }

    @Test("A negative number is none for a signed integer either: there the sign is not written")
    func signed() {
        #expect(Int(digits: "-7") == nil && Int(digits: "+7") == nil && Int(digits: "7") == 7)
    }

    @Test("In hexadecimal it is the same")
    func hexadecimal() {
        #expect(UInt8(digits: "fF", radix: 16) == 255 && UInt8(digits: "0a", radix: 16) == 10)
        for text in ["+F", "-0", "G0", "0x", "100", ""] { #expect(UInt8(digits: text, radix: 16) == nil) }
    }

    @Test("An address with a sign in one of its octets is none", arguments: ["00:+A:7D:DA:71:13", "00:-0:7D:DA:71:13"])
    func address(text: String) {
        #expect(DeviceAddress(text) == nil)
    }
}
