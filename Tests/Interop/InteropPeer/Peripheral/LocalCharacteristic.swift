import CoreBluetoothEssentials

/// A published characteristic and how its value is read and written when the app is asked.
struct LocalCharacteristic {
    enum Answers {
        /// From `value`, at once.
        case store
        /// By a `respond` command for each request.
        case script
    }

    let name: String
    let characteristic: CBMutableCharacteristic
    var answers = Answers.store
    var value: [UInt8] = []
    /// What a write may make of the value.
    var maximumOctets = 512

    /// The value from `offset` on; nil past its end.
    func read(from offset: Int) -> [UInt8]? { offset <= value.count ? Array(value.dropFirst(offset)) : nil }

    /// What a write at `offset` comes to.
    func writing(_ octets: [UInt8], at offset: Int) -> Result<[UInt8], CBATTError> {
        guard offset <= value.count else { return .failure(CBATTError(.invalidOffset)) }
        guard offset + octets.count <= maximumOctets else {
            return .failure(CBATTError(.invalidAttributeValueLength))
        }
        return .success(value.prefix(offset) + octets)
    }
}
