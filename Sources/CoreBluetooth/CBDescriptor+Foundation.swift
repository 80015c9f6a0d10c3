import CoreBluetoothEssentials
import Foundation

extension CBDescriptor {
    /// The value as last read or set: a `String` for User Description; an `NSNumber` for Extended Properties, Client and Server
    /// Configuration; `Data` for every other type.
    public var value: Any? {
        switch content {
        case let number as UInt16: NSNumber(value: number)
        case let other: other
        }
    }
}
