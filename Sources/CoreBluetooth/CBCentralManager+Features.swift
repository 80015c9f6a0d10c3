import BluetoothHost
import CoreBluetoothEssentials

extension CBCentralManager {
    /// What a controller can do beyond what every one can.
    public struct Feature: OptionSet, Sendable {
        /// Apple's bits.
        public let rawValue: UInt
        /// The features with these bits.
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// Advertisements of the extended kind are heard, and connected to (Core 5.4, Vol 6, Part B, 4.4.2.1).
        public static let extendedScanAndConnect = Self(rawValue: 1 << 0)
    }

    /// Whether the controller of ``CBHost/default`` can do all of this. False before that is known, which it is when a manager hears of
    /// `poweredOn`.
    public class func supports(_ features: Feature) -> Bool {
        Feature(rawValue: CBHost.default.controllerFeatures.rawValue).isSuperset(of: features)
    }
}
