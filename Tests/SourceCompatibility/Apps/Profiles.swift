// swift-format-ignore-file: NeverForceUnwrap, NeverUseImplicitlyUnwrappedOptionals

import CoreBluetooth
import Foundation

// What sensors send, taken apart as apps do it.

extension CBUUID {
    static var heartRateService: CBUUID { return CBUUID(string: "0x180D") }
    static var heartRateMeasurement: CBUUID { return CBUUID(string: "2A37") }
    static var bodySensorLocation: CBUUID { return CBUUID(string: "2A38") }
    static var heartRateControlPoint: CBUUID { return CBUUID(string: "2A39") }
    static var batteryService: CBUUID { return CBUUID(string: "180F") }
    static var batteryLevel: CBUUID { return CBUUID(string: "2A19") }
    static var healthThermometer: CBUUID { return CBUUID(string: "1809") }
    static var temperatureMeasurement: CBUUID { return CBUUID(string: "2A1C") }
    static var deviceInformation: CBUUID { return CBUUID(data: Data([0x18, 0x0A])) }
    static var currentTime: CBUUID { return CBUUID(string: "00001805-0000-1000-8000-00805F9B34FB") }

    /// The name in the assigned numbers, or the number.
    var assignedName: String {
        let names: [CBUUID: String] = [
            .heartRateService: "Heart Rate", .batteryService: "Battery", .healthThermometer: "Health Thermometer",
            .deviceInformation: "Device Information", .currentTime: "Current Time",
        ]
        return names[self] ?? uuidString
    }

    var isShort: Bool { return data.count < 16 }
}

extension Data {
    /// Little-endian numbers, which Bluetooth has throughout.
    func littleEndian<T: FixedWidthInteger>(_ type: T.Type = T.self, at offset: Int) -> T? {
        let size = MemoryLayout<T>.size
        guard offset >= 0, count >= offset + size else { return nil }
        var value: T = 0
        for index in (0..<size).reversed() {
            value = value << 8 | T(truncatingIfNeeded: self[startIndex + offset + index])
        }
        return value
    }

    var hexString: String { return map { String(format: "%02hhx", $0) }.joined() }

    init?(hexString: String) {
        guard hexString.count.isMultiple(of: 2) else { return nil }
        var bytes = [UInt8]()
        var index = hexString.startIndex
        while index < hexString.endIndex {
            let next = hexString.index(index, offsetBy: 2)
            guard let byte = UInt8(hexString[index..<next], radix: 16) else { return nil }
            bytes.append(byte)
            index = next
        }
        self.init(bytes)
    }
}

struct HeartRateMeasurement: Equatable {
    struct Flags: OptionSet {
        let rawValue: UInt8
        static let is16Bits = Flags(rawValue: 1 << 0)
        static let contactDetected = Flags(rawValue: 1 << 1)
        static let contactSupported = Flags(rawValue: 1 << 2)
        static let hasEnergy = Flags(rawValue: 1 << 3)
        static let hasIntervals = Flags(rawValue: 1 << 4)
    }

    var beatsPerMinute: Int
    var hasContact: Bool?
    var energyKilojoules: Int?
    /// Seconds.
    var intervals: [Double] = []

    init?(_ data: Data?) {
        guard let data = data, let first = data.first else { return nil }
        let flags = Flags(rawValue: first)
        var offset = 1
        if flags.contains(.is16Bits) {
            guard let value = data.littleEndian(UInt16.self, at: offset) else { return nil }
            beatsPerMinute = Int(value)
            offset += 2
        } else {
            guard let value = data.littleEndian(UInt8.self, at: offset) else { return nil }
            beatsPerMinute = Int(value)
            offset += 1
        }
        if flags.contains(.contactSupported) { hasContact = flags.contains(.contactDetected) }
        if flags.contains(.hasEnergy) {
            guard let value: UInt16 = data.littleEndian(at: offset) else { return nil }
            energyKilojoules = Int(value)
            offset += 2
        }
        if !flags.isDisjoint(with: [.hasIntervals]) {
            while let value: UInt16 = data.littleEndian(at: offset) {
                intervals.append(Double(value) / 1024)
                offset += 2
            }
        }
    }
}

enum BodySensorLocation: UInt8, CustomStringConvertible {
    case other, chest, wrist, finger, hand, earLobe, foot

    var description: String {
        switch self {
        case .other: return "Other"
        case .chest: return "Chest"
        case .wrist: return "Wrist"
        case .finger: return "Finger"
        case .hand: return "Hand"
        case .earLobe: return "Ear lobe"
        case .foot: return "Foot"
        }
    }
}

struct TemperatureMeasurement: Equatable {
    var degrees: Double
    var isFahrenheit: Bool
    var components: DateComponents?

    var celsius: Double { return isFahrenheit ? (degrees - 32) * 5 / 9 : degrees }

    init?(data: Data) {
        guard data.count >= 5, let raw: UInt32 = data.littleEndian(at: 1) else { return nil }
        isFahrenheit = data[data.startIndex] & 0x01 != 0
        // IEEE 11073: a mantissa of 24 bits and an exponent of 8.
        let mantissa = Int32(bitPattern: raw << 8) >> 8
        let exponent = Int8(truncatingIfNeeded: Int32(bitPattern: raw) >> 24)
        degrees = Double(mantissa) * pow(10, Double(exponent))
        if data[data.startIndex] & 0x02 != 0 {
            guard data.count >= 12, let year: UInt16 = data.littleEndian(at: 5) else { return nil }
            let rest = data.dropFirst(7).prefix(5).map(Int.init)
            components = DateComponents(
                year: Int(year), month: rest[0], day: rest[1], hour: rest[2], minute: rest[3], second: rest[4])
        }
    }
}

/// What a sensor says, whichever it is.
enum SensorReading: Equatable {
    case pulse(HeartRateMeasurement)
    case location(BodySensorLocation)
    case battery(percent: Int)
    case temperature(TemperatureMeasurement)
    case unknown(CBUUID, Data)

    init?(_ characteristic: CBCharacteristic) {
        guard let value = characteristic.value, !value.isEmpty else { return nil }
        switch characteristic.uuid {
        case CBUUID.heartRateMeasurement:
            guard let measurement = HeartRateMeasurement(value) else { return nil }
            self = .pulse(measurement)
        case .bodySensorLocation:
            guard let location = BodySensorLocation(rawValue: value[0]) else { return nil }
            self = .location(location)
        case CBUUID(string: "2A19"):
            self = .battery(percent: min(100, Int(value.first!)))
        case .temperatureMeasurement:
            guard let measurement = TemperatureMeasurement(data: value) else { return nil }
            self = .temperature(measurement)
        default:
            self = .unknown(characteristic.uuid, value)
        }
    }
}

/// The Characteristic Presentation Format, of which apps make units.
struct PresentationFormat {
    let format: UInt8
    let exponent: Int8
    let unit: UInt16

    init?(_ descriptor: CBDescriptor) {
        guard descriptor.uuid == CBUUID(string: CBUUIDCharacteristicFormatString),
            let data = descriptor.value as? Data, data.count == 7,
            let unit: UInt16 = data.littleEndian(at: 2)
        else { return nil }
        format = data[0]
        exponent = Int8(bitPattern: data[1])
        self.unit = unit
    }
}

/// What a descriptor says, in words.
func describe(_ descriptor: CBDescriptor) -> String {
    switch descriptor.uuid.uuidString {
    case CBUUIDCharacteristicExtendedPropertiesString:
        guard let properties = descriptor.value as? NSNumber else { return "Extended Properties: none" }
        return "Extended Properties: \(properties)"
    case CBUUIDCharacteristicUserDescriptionString:
        guard let text = descriptor.value as? NSString else { return "User Description: none" }
        return "User Description: \(text)"
    case CBUUIDClientCharacteristicConfigurationString:
        return "Client Configuration: \((descriptor.value as? NSNumber)?.intValue ?? 0)"
    case CBUUIDCharacteristicFormatString:
        guard let data = descriptor.value as? NSData else { return "Format: none" }
        return "Format: \(data.length) bytes"
    default:
        return "\(descriptor.uuid): \(String(describing: descriptor.value))"
    }
}
