import BluetoothCore
import BluetoothCrypto
import Testing

/// Octets of a vector; spaces are for the reader.
func hex(_ text: String) -> [UInt8] { HexText.decode(text.filter { $0 != " " }) ?? [] }
func number(_ text: String) -> UInt128 { hex(text).reduce(0) { $0 << 8 | UInt128($1) } }
func secret(_ text: String) -> Secret { Secret(hex(text)) }
