import CoreBluetooth
import Testing

@Suite("Apps: scanners, peripherals and their doubles")
struct RoleExpectations {
    @Test("An advertisement's dictionary, with the types that a host puts there")
    func advertisement() {
        let summary = AdvertisementSummary([
            CBAdvertisementDataLocalNameKey: "Belt", CBAdvertisementDataIsConnectable: true,
            CBAdvertisementDataTxPowerLevelKey: -4, CBAdvertisementDataServiceUUIDsKey: [CBUUID(string: "180D")],
            CBAdvertisementDataSolicitedServiceUUIDsKey: [CBUUID(string: "1805")],
            CBAdvertisementDataServiceDataKey: [CBUUID(string: "180F"): Data([99])],
            CBAdvertisementDataManufacturerDataKey: Data([0x4C, 0x00, 1]),
        ])
        #expect(summary.name == "Belt" && summary.isConnectable && summary.txPower == -4 && summary.company == 0x4C)
        #expect(summary.services == ["180D"] && summary.solicited == ["1805"] && summary.overflow.isEmpty)
        #expect(summary.serviceData == ["180F": Data([99])])
        #expect(summary.description == "Belt | 180D | company 004C | -4.0 dBm")
    }

    @Test("Each state has an explanation")
    func states() {
        let states = (0...5).compactMap(CBManagerState.init(rawValue:))
        #expect(states.count == 6 && Set(states.map(Scanner_.explanation)).count == 6)
        #expect(Set(states.map(\.name)).count == 6)
        #expect(CBPeripheralState.disconnecting.isOnItsWay && !CBPeripheralState.connected.isOnItsWay)
        #expect(!CBManager.authorization.mayAsk)
    }

    @Test("Screens show what scanners and services tell")
    func screens() throws {
        let scanner = Scanner_()
        let list = DeviceListViewModel(scanner: scanner)
        var banners: [String?] = []
        list.$banner.observe { banners.append($0) }
        list.scanner(scanner, didChange: false, reason: "Bluetooth is off")
        list.scanner(scanner, didChange: true, reason: "Ready")
        #expect(banners == [nil, "Bluetooth is off", nil] && list.rows.isEmpty && scanner.devices.isEmpty)
        list.showOnlyNear(true)
        #expect(list.isFiltering && scanner.minimumRSSI == -60)
        let row = DeviceListViewModel.Row(title: "Belt", rssi: -60, services: [.heartRateService, .batteryService])
        #expect(row.subtitle == "Battery, Heart Rate" && row.bars == 3)

        let device = DeviceViewModel(central: nil, peripheral: nil)
        device.show(SimulatedBelt().makeServices())
        #expect(device.title.value == "Nothing" && device.sections.value.count == 3)
        let item = try #require(device.sections.value[1].items.last)
        #expect(item.value == "Chest" && !item.canWrite && !device.write("00", to: item))
    }

    @Test("A simulated belt's services, advertisement and answers")
    func belt() throws {
        let belt = SimulatedBelt(settings: .init(name: "Bench", extraServices: [CBUUID(string: "1816"), nil]))
        let services = belt.makeServices()
        #expect(services.map(\.isPrimary) == [false, true, true])
        #expect(
            services[1].outline() == [
                "primary 180D", "  secondary 180F", "    2A19 (read, notify)", "      2901", "      2904",
                "  2A37 (notify)", "  2A38 (read)",
            ])
        #expect(belt.battery.service === services[0] && belt.light.owner == nil)
        let advertised = belt.advertisement[CBAdvertisementDataServiceUUIDsKey] as? [CBUUID]
        #expect(advertised?.strings == ["180D", SimulatedBelt.lightService.uuidString, "1816"])
        #expect(belt.answer(to: belt.battery, offset: 0) == .success(Data([100])))
        #expect(belt.answer(to: belt.battery, offset: 2) == .failure(CBATTError(.invalidOffset)))
        #expect(belt.answer(to: belt.measurement, offset: 0) == .failure(CBATTError(.attributeNotFound)))
        #expect(belt.take(Data([1]), for: belt.light, offset: 0) == .success && belt.isLightOn)
        #expect(belt.take(Data([2]), for: belt.light, offset: 0).rawValue == 0x80)
        #expect(belt.take(Data([1]), for: belt.battery, offset: 0) == .writeNotPermitted)
        #expect(belt.take(nil, for: belt.light, offset: 0) == .invalidAttributeValueLength)
    }

    @Test("A coordinator scans through whatever manages")
    func coordinator() {
        let central = MockCentral()
        let coordinator = ScanCoordinator(manager: central, services: [.heartRateService])
        coordinator.toggle()
        #expect(central.calls.isEmpty, "the radio is not on")
        central.state = .poweredOn
        coordinator.stateChanged()
        coordinator.toggle()
        #expect(central.calls == [.scan([CBUUID(string: "180D")], allowsDuplicates: true), .stopScan])
    }

    @Test("Factories make what is described")
    func factories() throws {
        let options = try #require(CentralFactory(restoreIdentifier: "pocket").options)
        #expect(options[CBCentralManagerOptionRestoreIdentifierKey] as? String == "pocket")
        #expect(options[CBCentralManagerOptionShowPowerAlertKey] as? NSNumber == false)
        let service = ServiceFactory.service(
            "FFF0",
            [
                .init(uuid: "FFF1", properties: [.read, .write], fixed: nil, title: "Switch"),
                .init(uuid: "FFF2", properties: .notify, fixed: nil, title: nil),
            ])
        let first = try #require(service[CBUUID(string: "FFF1")] as? CBMutableCharacteristic)
        #expect(first.permissions == [.readable, .writeable] && first.descriptors?.first?.value as? String == "Switch")
        #expect(AttributeKey(first)?.service == CBUUID(string: "FFF0"))
        #expect(service.characteristics?.only([CBUUID(string: "FFF2")]).count == 1)
    }

    @Test("A double stands where a peripheral does")
    func double() {
        let double = MockPeripheral(name: "Belt", services: SimulatedBelt().makeServices())
        let peripheral: any PeripheralProtocol = double
        let battery = CBMutableCharacteristic(
            type: .batteryLevel, properties: [.write], value: nil, permissions: .writeable)
        peripheral.writeValue(Data([1]), for: battery, type: .withResponse)
        peripheral.setNotifyValue(true, for: battery)
        #expect(double.written.first?.1 == .batteryLevel && double.subscriptions == [.batteryLevel])
        #expect(peripheral.isEqual(double) && peripheral.maximumWriteValueLength(for: .withoutResponse) == 20)
    }

    @Test("Distances by signal, and a log that can be exported")
    func proximity() throws {
        let logger = ProximityLogger(limit: 2, now: { Date(timeIntervalSince1970: 0) })
        let identifier = UUID()
        #expect(logger.zone(of: identifier) == .unknown)
        for rssi in [-59, -59, 127, -59] { logger.record(identifier, name: nil, rssi: NSNumber(value: rssi)) }
        #expect(logger.zone(of: identifier) == .near && logger.log.count == 2)
        let text = String(decoding: try logger.export(), as: UTF8.self)
        #expect(text.hasPrefix(#"[{"date":0,"identifier":"\#(identifier.uuidString)","rssi":127}"#))
        var estimate = ProximityEstimate()
        estimate.add(-40)
        #expect(estimate.zone == .immediate && ProximityEstimate.zone(of: 50) == .far)
    }

    @Test("Properties and permissions are sets")
    func sets() {
        let properties: CBCharacteristicProperties = [.read, .writeWithoutResponse, .indicate]
        #expect(properties.names == ["read", "write without response", "indicate"])
        #expect(properties.writeType == .withoutResponse && properties.isSubscribable)
        #expect(properties.subtracting(.read).symmetricDifference([.indicate]) == [.writeWithoutResponse])
        #expect(CBAttributePermissions.sealed.rawValue == 12)
        #expect([CBUUID](strings: ["180D", "180F"]).strings == ["180D", "180F"])
    }

    @Test("Identifiers survive in an app's defaults")
    func knownDevices() throws {
        let suite = "latch-\(UUID().uuidString)"
        let defaults = try #require(UserDefaults(suiteName: suite))
        defer { defaults.removePersistentDomain(forName: suite) }
        let (door, belt) = (UUID(), UUID())
        let known = KnownDevices(defaults: defaults)
        for identifier in [door, belt, door] { known.remember(identifier) }
        #expect(KnownDevices(defaults: defaults).identifiers == [door, belt])
        known.forget(door)
        #expect(known.identifiers == [belt])
    }
}
