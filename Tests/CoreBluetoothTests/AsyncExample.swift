import CoreBluetooth

enum Thermometer {
    static let service = CBUUID(string: "1809")
    static let temperature = CBUUID(string: "2A1C")
}

/// A peripheral that sends what it measures.
func measure(_ session: PeripheralSession, _ measurements: AsyncStream<Data>) async throws {
    let temperature = CBMutableCharacteristic(
        type: Thermometer.temperature, properties: .notify, value: nil, permissions: [])
    let service = CBMutableService(type: Thermometer.service, primary: true)
    service.characteristics = [temperature]
    try await session.waitUntilPoweredOn()
    try await session.add(service)
    try await session.startAdvertising(name: "Thermometer", services: [Thermometer.service])
    for await measured in measurements { try await session.update(measured, for: temperature) }
}

/// A central that listens until its task is cancelled. It connects again when the connection is lost.
func listen(_ session: CentralSession, _ report: @Sendable (Data) -> Void) async throws {
    let discoveries = session.discoveries(withServices: [Thermometer.service])
    guard let found = await discoveries.first(where: { _ in true }) else { return }
    while !Task.isCancelled {
        do {
            try await session.waitUntilPoweredOn()
            let connection = try await session.connect(found.peripheral)
            defer { connection.disconnect() }
            let services = try await connection.discoverServices([Thermometer.service], timeout: .seconds(30))
            guard let service = services.first else { return }
            let characteristics = try await connection.discoverCharacteristics(for: service)
            guard let temperature = characteristics.first(where: { $0.uuid == Thermometer.temperature }) else { return }
            for try await value in connection.values(of: temperature) { report(value) }
        } catch let error where error is CBError || error is BluetoothSessionError {
            print("lost: \(error.localizedDescription)")
        }
    }
}
