import CoreBluetooth
import Testing

/// What only the language mode 5 compiles: shared mutable state without a guard.
@Suite("Apps of Swift 5: one shared manager", .serialized)
struct ClassicExpectations {
    @Test("What is logged, and only when it is wanted")
    func log() {
        var lines: [String] = []
        BluetoothManager.logger = { lines.append($0) }
        BluetoothManager.log("silent")
        isVerbose = true
        BluetoothManager.log("found", heartRateServiceCBUUID, 3)
        Walkie().objectFound(heartRateMeasurementCharacteristicCBUUID)
        isVerbose = false
        BluetoothManager.logger = nil
        #expect(lines.first == "found 180D 3")
        #expect(lines.last == "found \(CBUUID(string: "2A37").hash) 2A37")
        #expect(BluetoothManager.shared.sorted().isEmpty && BluetoothManager.shared.current == nil)
    }

    @Test("What is to be sent is cut to what an update carries")
    func chunks() {
        let walkie = Walkie()
        walkie.dataToSend = Data(0..<30)
        #expect(walkie.nextChunk(20) == Data(0..<20))
        walkie.sendDataIndex = 20
        #expect(walkie.nextChunk(20) == Data(20..<30))
        walkie.sendDataIndex = 30
        #expect(walkie.nextChunk(20) == nil)
    }
}
