import BluetoothCore

/// The functions of LE legacy pairing, which is off unless an app's pairing rules name it. The lock never has it.
///
/// Core 5.4, Vol 3, Part H, 2.2.3 (c1), 2.2.4 (s1)
package enum LegacyToolbox {
    /// The confirm value. `request` and `response` are the seven octets of the PDUs in transmission order.
    ///
    /// Core 5.4, Vol 3, Part H, 2.2.3 (c1)
    package static func c1(
        tk: AES128, random: UInt128, request: [UInt8], response: [UInt8], initiator: DeviceAddress,
        responder: DeviceAddress
    ) -> UInt128 {
        let p1 =
            number(response) << 72 | number(request) << 16 | UInt128(responder.kind.rawValue) << 8
            | UInt128(initiator.kind.rawValue)
        let p2 = UInt128(initiator.bits) << 48 | UInt128(responder.bits)
        return tk.encrypt(tk.encrypt(random ^ p1) ^ p2)
    }

    /// The short term key of the low halves of both random values.
    ///
    /// Core 5.4, Vol 3, Part H, 2.2.4 (s1)
    package static func s1(tk: AES128, r1: UInt128, r2: UInt128) -> Secret {
        Secret(tk.encrypt(r1 << 64 | r2 & 0xFFFF_FFFF_FFFF_FFFF))
    }

    private static func number(_ transmitted: [UInt8]) -> UInt128 {
        transmitted.prefix(7).reversed().reduce(0) { $0 << 8 | UInt128($1) }
    }
}
