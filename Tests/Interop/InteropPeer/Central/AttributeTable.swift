import CoreBluetoothEssentials

/// The numbers by which a script speaks of a peer's attributes. An object keeps its number, so that a script sees
/// whether it is the same object.
struct AttributeTable {
    private var numbers: [CBAttribute: Int64] = [:]
    private var attributes: [Int64: CBAttribute] = [:]

    mutating func number(_ attribute: CBAttribute) -> Int64 {
        if let known = numbers[attribute] { return known }
        let number = Int64(numbers.count + 1)
        numbers[attribute] = number
        attributes[number] = attribute
        return number
    }

    func attribute<Attribute: CBAttribute>(
        _ arguments: Arguments, as kind: Attribute.Type = Attribute.self
    ) throws(Refusal) -> Attribute {
        guard let found = attributes[try arguments.number("attribute")] as? Attribute else {
            throw Refusal("`attribute` names no \(Attribute.self)")
        }
        return found
    }
}
