import DBus
import Testing

@Suite("Values of D-Bus")
struct DBusValueTests {
    @Test(
        "A value has its type's signature, also where nothing is in it",
        arguments: [
            (.byte(1), "y"), (.boolean(true), "b"), (.int16(-1), "n"), (.uint16(1), "q"), (.int32(-1), "i"),
            (.uint32(1), "u"), (.int64(-1), "x"), (.uint64(1), "t"), (.double(0.5), "d"), (.string(""), "s"),
            (.objectPath("/"), "o"), (.signature("a"), "g"), (.octets([]), "ay"), (.array(of: "s", []), "as"),
            (.structure([.byte(1), .octets([2])]), "(yay)"), (.entry(.string("a"), .variant(.byte(1))), "{sv}"),
            (.variant(.uint32(1)), "v"), (.properties([:]), "a{sv}"), (.strings(["a"]), "as"),
        ] as [(DBusValue, String)])
    func signatures(value: DBusValue, signature: String) { #expect(value.signature == signature) }

    @Test("Properties, interfaces and objects are read as they are written")
    func dictionaries() {
        let properties: [String: DBusValue] = [
            "Name": .string("Latch"), "Value": .octets([1, 2]), "RSSI": .int16(-60),
        ]
        let written = DBusValue.properties(properties)
        #expect(written.properties == properties)
        let interfaces = DBusValue.array(of: "{sa{sv}}", [.entry(.string("a.b"), written)])
        #expect(interfaces.interfaces == ["a.b": properties])
        let objects = DBusValue.array(of: "{oa{sa{sv}}}", [.entry(.objectPath("/a"), interfaces)])
        #expect(objects.objects == ["/a": ["a.b": properties]])
    }

    @Test("What has another type than is asked for is nothing")
    func others() {
        #expect(DBusValue.string("a").properties == nil && DBusValue.properties([:]).objects == nil)
        #expect(DBusValue.array(of: "{sv}", [.string("a"), .entry(.byte(1), .byte(2))]).properties == [:])
        #expect(DBusValue.byte(1).text == nil && DBusValue.byte(1).flag == nil && DBusValue.string("").octets == nil)
        #expect(DBusValue.strings(["a", "b"]).texts == ["a", "b"] && DBusValue.octets([1]).texts == nil)
        #expect(DBusValue.int16(-60).integer(Int8.self) == -60 && DBusValue.int16(300).integer(Int8.self) == nil)
        #expect(DBusValue.uint64(.max).integer(Int.self) == nil && DBusValue.boolean(true).integer(Int.self) == nil)
    }
}
