import ATT
import BluetoothCore

/// The answer to Read Multiple and Read Multiple Variable as it grows, value by value, up to the MTU.
///
/// Core 5.4, Vol 3, Part F, 3.4.4.8 (Read Multiple Response), 3.4.4.12 (Read Multiple Variable Response)
struct MultipleAnswer: Sendable {
    let isVariable: Bool
    private let mtu: Int
    private(set) var pdu: [UInt8]

    init(isVariable: Bool, mtu: Int) {
        self.isVariable = isVariable
        self.mtu = mtu
        let opcode = isVariable ? ATTReadMultipleVariableResponse.opcode : ATTReadMultipleResponse.opcode
        pdu = [opcode.rawValue]
    }

    var request: ATTOpcode { isVariable ? .readMultipleVariableRequest : .readMultipleRequest }

    mutating func append(_ value: [UInt8]) {
        if isVariable {
            // A length that does not fit ends the list: the client asks for what is missing.
            guard pdu.count + 2 <= mtu else { return }
            pdu.append(UInt8(truncatingIfNeeded: value.count))
            pdu.append(UInt8(truncatingIfNeeded: value.count >> 8))
        }
        pdu.append(contentsOf: value.prefix(mtu - pdu.count))
    }
}
