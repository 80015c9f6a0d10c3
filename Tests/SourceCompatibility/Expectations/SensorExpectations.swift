import CoreBluetooth
import Testing

/// What apps make of the values that they read. Runs in each language mode, with the apps of that mode.
@Suite("Apps: what sensors send")
struct SensorExpectations {
    @Test(
        "A pulse belt's measurement, by its flags",
        arguments: [
            ([0x00, 72], 72, nil, nil, []),
            ([0x01, 0x2C, 0x01], 300, nil, nil, []),
            ([0x06, 80], 80, true, nil, []),
            ([0x04, 80], 80, false, nil, []),
            ([0x08, 60, 0x10, 0x00], 60, nil, 16, []),
            ([0x10, 60, 0x00, 0x04, 0x00, 0x02], 60, nil, nil, [1, 0.5]),
        ] as [([UInt8], Int, Bool?, Int?, [Double])])
    func pulse(octets: [UInt8], beats: Int, contact: Bool?, energy: Int?, intervals: [Double]) throws {
        let measurement = try #require(HeartRateMeasurement(Data(octets)))
        #expect(measurement.beatsPerMinute == beats && measurement.hasContact == contact)
        #expect(measurement.energyKilojoules == energy && measurement.intervals == intervals)
        #expect(HeartRateMeasurement(Data(octets.prefix(1))) == nil)
    }

    @Test("A temperature in both units, with a date")
    func temperature() throws {
        let celsius = try #require(TemperatureMeasurement(data: Data([0x00, 0x6E, 0x01, 0x00, 0xFF])))
        #expect(abs(celsius.degrees - 36.6) < 0.001 && !celsius.isFahrenheit)
        let fahrenheit = Data([0x03, 0xD8, 0x03, 0x00, 0xFF, 0xE8, 0x07, 2, 29, 12, 30, 0])
        let other = try #require(TemperatureMeasurement(data: fahrenheit))
        #expect(abs(other.celsius - 36.888) < 0.001)
        #expect(other.components == DateComponents(year: 2024, month: 2, day: 29, hour: 12, minute: 30, second: 0))
        #expect(TemperatureMeasurement(data: Data([0x02, 0, 0, 0, 0])) == nil)
    }

    private func characteristic(_ uuid: CBUUID, _ octets: [UInt8]?) -> CBCharacteristic {
        CBMutableCharacteristic(
            type: uuid, properties: .read, value: octets.map { Data($0) }, permissions: .readable)
    }

    @Test("A characteristic's UUID says what its value is, in every spelling of the UUID")
    func readings() {
        #expect(SensorReading(characteristic(.batteryLevel, [99])) == .battery(percent: 99))
        #expect(SensorReading(characteristic(.batteryLevel, [200])) == .battery(percent: 100))
        #expect(SensorReading(characteristic(.bodySensorLocation, [1])) == .location(.chest))
        #expect(SensorReading(characteristic(.bodySensorLocation, [99])) == nil)
        #expect(SensorReading(characteristic(CBUUID(string: "0x2A37"), [0, 1])) != nil)
        let own = CBUUID(string: "D7A0B1C3-5E6F-4A3B-9C8D-7E6F5A4B3C2D")
        #expect(SensorReading(characteristic(own, [7])) == .unknown(own, Data([7])))
        #expect(SensorReading(characteristic(own, nil)) == nil)
        #expect(CBUUID(string: "00001805-0000-1000-8000-00805F9B34FB").assignedName == "Current Time")
        #expect(CBUUID.deviceInformation.isShort && !own.isShort)
    }

    @Test("A client takes what it reads, and tells it by closure and by notification")
    func client() throws {
        let client = SensorClient()
        var heard: [SensorReading] = []
        var log: [String] = []
        client.onReading = { heard.append($0) }
        client.onLog = { log.append($0) }
        client.take(characteristic(.batteryLevel, [50]))
        client.take(characteristic(.batteryLevel, []))
        #expect(heard == [.battery(percent: 50)] && client.readings == heard)
        #expect(log == ["2A19 has nothing to say"])
    }

    @Test("A descriptor's value has Apple's type for each of Apple's descriptors")
    func descriptors() throws {
        func made(_ uuid: String, _ value: Any?) -> CBDescriptor {
            CBMutableDescriptor(type: CBUUID(string: uuid), value: value)
        }
        #expect(describe(made(CBUUIDCharacteristicUserDescriptionString, "Pulse")) == "User Description: Pulse")
        let format = made(CBUUIDCharacteristicFormatString, Data([4, 0xFF, 0xAD, 0x27, 1, 0, 0]))
        #expect(describe(format) == "Format: 7 bytes")
        let presentation = try #require(PresentationFormat(format))
        #expect(presentation.format == 4 && presentation.exponent == -1 && presentation.unit == 0x27AD)
    }

    @Test("Hexadecimal text and little-endian numbers")
    func data() {
        #expect(Data(hexString: "00ff7F")?.hexString == "00ff7f")
        #expect(Data(hexString: "0") == nil && Data(hexString: "zz") == nil)
        #expect(Data([0, 1, 2]).dropFirst().littleEndian(UInt16.self, at: 0) == 0x0201)
        #expect(Data([1]).littleEndian(UInt16.self, at: 0) == nil)
    }
}
