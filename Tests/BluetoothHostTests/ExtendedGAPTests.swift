import BluetoothCore
import BluetoothHost
import HCI
import Testing

private func address(_ number: UInt64) -> DeviceAddress {
    DeviceAddress(kind: .random, bits: 0xC000_0000_0000 + number)
}

@Suite("Core 5.4, Vol 6, Part B, 4.4.2.10: advertising sets and those who share them")
struct AdvertisingSetsTests {
    typealias Sets = AdvertisingSets<String>

    let short = Advertiser.Payload(data: [2, 1, 6])
    let other = Advertiser.Payload(data: [2, 1, 4])
    let long = Advertiser.Payload(pdus: .extended, data: [UInt8](repeating: 1, count: 40))

    private func drain(_ sets: inout Sets) -> [UInt8: [Advertiser.Action]] {
        var actions: [UInt8: [Advertiser.Action]] = [:]
        while let (set, action) = sets.next() {
            actions[set.rawValue, default: []].append(action)
            sets.completed(set, .success)
        }
        return actions
    }

    @Test("Everybody has a set of his own while there are enough, and all are on the air at once")
    func enough() {
        var sets = Sets(count: 2)
        sets.want([.init(owner: "lock", payload: short), .init(owner: "bell", payload: other)])
        #expect(drain(&sets).count == 2)
        #expect(sets.advertiser(of: "lock")?.isOnAir == true)
        #expect(sets.advertiser(of: "bell")?.isOnAir == true)
    }

    @Test("Each set has a command under way: none waits for another's")
    func sideBySide() {
        var sets = Sets(count: 2)
        sets.want([.init(owner: "lock", payload: short), .init(owner: "bell", payload: other)])
        #expect(sets.next()?.0 == LEAdvertisingHandle(rawValue: 0))
        #expect(sets.next()?.0 == LEAdvertisingHandle(rawValue: 1))
        #expect(sets.next() == nil)
    }

    @Test("One wish past the sets waits, and has its turn when one is free")
    func onePast() {
        var sets = Sets(count: 1)
        sets.want([.init(owner: "lock", payload: short), .init(owner: "bell", payload: other)])
        _ = drain(&sets)
        #expect(sets.advertiser(of: "bell") == nil)
        sets.want([.init(owner: "bell", payload: other)])
        _ = drain(&sets)
        #expect(sets.advertiser(of: "bell")?.isOnAir == true)
        #expect(sets.advertiser(of: "lock") == nil)
    }

    @Test("One set past those that this host uses is not used")
    func setsMaximum() {
        var sets = Sets(count: Sets.setsMaximum + 1)
        sets.want((0...Sets.setsMaximum).map { .init(owner: "\($0)", payload: short) })
        #expect(drain(&sets).count == Sets.setsMaximum)
    }

    @Test("Who keeps advertising keeps the set, whoever comes or goes before")
    func stable() {
        var sets = Sets(count: 2)
        sets.want([.init(owner: "lock", payload: short), .init(owner: "bell", payload: other)])
        _ = drain(&sets)
        sets.want([.init(owner: "bell", payload: other)])
        #expect(drain(&sets) == [0: [.disable]])
        sets.want([.init(owner: "lamp", payload: short), .init(owner: "bell", payload: other)])
        #expect(drain(&sets) == [0: [.enable]])
    }

    @Test("A long advertisement has a set besides the one that every scanner understands")
    func both() {
        var sets = Sets(count: 2)
        sets.want([.init(owner: "lock", payload: short), .init(owner: "lock", payload: long)])
        let actions = drain(&sets)
        #expect(actions[0]?.first == .setParameters(.legacy, .connectable))
        #expect(actions[1]?.first == .setParameters(.extended, .connectable))
        #expect(sets.advertiser(of: "lock")?.isOnAir == true)
    }

    @Test("A controller with no memory for a second set keeps the first one, and is not asked again")
    func noMemory() {
        var sets = Sets(count: 2)
        let wishes = [Sets.Wish(owner: "lock", payload: short), Sets.Wish(owner: "bell", payload: other)]
        sets.want(wishes)
        while let (set, _) = sets.next() { sets.completed(set, set.rawValue == 1 ? .memoryCapacityExceeded : .success) }
        #expect(sets.advertiser(of: "lock")?.isOnAir == true)
        #expect(sets.failure == nil)
        sets.want(wishes)
        sets.retry()
        #expect(drain(&sets).isEmpty)
        #expect(sets.advertiser(of: "bell") == nil, "it waits")
        sets.want([wishes[1]])
        _ = drain(&sets)
        #expect(sets.advertiser(of: "bell")?.isOnAir == true)
    }

    @Test("The set that a connection was made through is on the air again, and no other is touched")
    func stopped() {
        var sets = Sets(count: 2)
        sets.ownAddress = address(1)
        sets.want([.init(owner: "lock", payload: short), .init(owner: "bell", payload: other)])
        _ = drain(&sets)
        #expect(sets.onlyConnectable == nil)
        #expect(sets.stopped(LEAdvertisingHandle(rawValue: 1)) == address(1))
        #expect(sets.onlyConnectable == LEAdvertisingHandle(rawValue: 0))
        #expect(drain(&sets) == [1: [.enable]])
        #expect(sets.stopped(LEAdvertisingHandle(rawValue: 9)) == nil)
    }

    @Test("A connection was made through the one set that takes any, whatever else is on the air")
    func connectable() {
        var sets = Sets(count: 3)
        let beacon = Advertiser.Payload(mode: .nonConnectable, data: [2, 1, 4])
        sets.want([.init(owner: "lock", payload: short), .init(owner: "beacon", payload: beacon)])
        _ = drain(&sets)
        #expect(sets.onlyConnectable == LEAdvertisingHandle(rawValue: 0))
        sets.isFull = true
        #expect(drain(&sets) == [0: [.disable]])
        #expect(sets.onlyConnectable == nil)
        #expect(sets.advertiser(of: "beacon")?.isOnAir == true)
    }

    @Test("Another address is told to every set, each off the air for it")
    func addresses() {
        var sets = Sets(count: 2)
        sets.ownAddress = address(1)
        sets.want([.init(owner: "lock", payload: short), .init(owner: "bell", payload: other)])
        _ = drain(&sets)
        sets.ownAddress = address(2)
        let expected: [Advertiser.Action] = [.disable, .setAddress(address(2)), .enable]
        #expect(drain(&sets) == [0: expected, 1: expected])
    }

    @Test("A reset controller is told everything again, in as many sets as it has now")
    func reset() {
        var sets = Sets(count: 2)
        let wishes = [Sets.Wish(owner: "lock", payload: short), Sets.Wish(owner: "bell", payload: other)]
        sets.ownAddress = address(1)
        sets.want(wishes)
        _ = drain(&sets)
        sets.reset(count: 1)
        sets.want(wishes)
        #expect(drain(&sets)[0]?.contains(.setAddress(address(1))) == true)
        #expect(sets.advertiser(of: "bell") == nil)
    }
}

@Suite("Core 5.4, Vol 4, Part E, 7.8.4: the random address changes only while nothing uses it")
struct OwnAddressTests {
    @Test("Its users rest until the controller has been told, and it is told when they do")
    func change() {
        var own = OwnAddress(wanted: address(1))
        #expect(own.mustRest)
        #expect(own.next(isUnused: true) == address(1))
        #expect(own.next(isUnused: true) == nil, "one command is outstanding")
        own.completed(.success)
        #expect(!own.mustRest)
        own.wanted = address(2)
        #expect(own.mustRest)
        #expect(own.next(isUnused: false) == nil)
        #expect(own.next(isUnused: true) == address(2))
        own.completed(.success)
        #expect(own.told == address(2))
    }

    @Test("A wish that changes meanwhile is met next; what was refused is asked again, and a reset forgets")
    func races() {
        var own = OwnAddress(wanted: address(1))
        _ = own.next(isUnused: true)
        own.wanted = address(2)
        own.completed(.success)
        #expect(own.mustRest)
        #expect(own.next(isUnused: true) == address(2))
        own.completed(.commandDisallowed)
        #expect(own.failure == .commandDisallowed)
        #expect(own.next(isUnused: true) == nil)
        own.retry()
        #expect(own.next(isUnused: true) == address(2))
        own.completed(.success)
        own.reset()
        #expect(own.mustRest)
    }
}

@Suite("Core 5.4, Vol 4, Part E, 7.7.65.13: advertisements in pieces")
struct AdvertisementAssemblerTests {
    private func report(
        _ number: UInt64, _ type: LEExtendedAdvertisingReport.EventType, _ data: [UInt8], sid: UInt8? = 0
    ) -> LEExtendedAdvertisingReport {
        LEExtendedAdvertisingReport(
            eventType: type, address: LEPeerAddress(address(number)), advertisingSID: sid, rssi: -40, data: data)
    }

    @Test("What is whole is handed on; what comes in pieces is when the last one is there")
    func joins() {
        var assembler = AdvertisementAssembler()
        #expect(assembler.receive(report(1, [.connectable, .legacyPDU], [1]))?.data == [1])
        #expect(assembler.receive(report(1, [.connectable, .moreToCome], [1, 2])) == nil)
        #expect(assembler.receive(report(2, [.connectable, .moreToCome], [9])) == nil)
        #expect(assembler.receive(report(1, [.connectable, .moreToCome], [3])) == nil)
        #expect(
            assembler.receive(report(1, .connectable, [4]))
                == HeardAdvertisement(address: address(1), isConnectable: true, rssi: -40, data: [1, 2, 3, 4]))
        #expect(assembler.receive(report(3, [.scannable, .legacyPDU], []))?.isScanResponse == false)
        #expect(assembler.receive(report(3, [.scanResponse, .legacyPDU], []))?.isScanResponse == true)
        #expect(assembler.receive(report(2, .connectable, [8]))?.data == [9, 8])
        #expect(assembler.receive(report(1, .connectable, [5]))?.data == [5], "nothing is left over")
    }

    @Test("A truncated one is what there is of it; a set, a scan response and another set do not mix")
    func apart() {
        var assembler = AdvertisementAssembler()
        _ = assembler.receive(report(1, .moreToCome, [1]))
        _ = assembler.receive(report(1, [.moreToCome, .scanResponse], [2]))
        _ = assembler.receive(report(1, .moreToCome, [3], sid: 1))
        #expect(assembler.receive(report(1, .truncated, [7]))?.data == [1, 7])
        #expect(assembler.receive(report(1, [.truncated, .scanResponse], [7]))?.data == [2, 7])
        #expect(assembler.receive(report(1, .truncated, [7], sid: 1))?.data == [3, 7])
    }

    @Test("Attack: advertisements without end and without number are bounded, one past the bound")
    func bounds() {
        var assembler = AdvertisementAssembler()
        for _ in 0..<8 { _ = assembler.receive(report(1, .moreToCome, [UInt8](repeating: 1, count: 229))) }
        let most = AdvertisementAssembler.advertisementMaximumOctets
        #expect(assembler.receive(report(1, [], []))?.data.count == most)
        for number in 0...UInt64(AdvertisementAssembler.unfinishedMaximum) {
            _ = assembler.receive(report(number, .moreToCome, [1]))
        }
        #expect(assembler.receive(report(0, [], [2]))?.data == [2], "the oldest was given up")
        #expect(assembler.receive(report(1, [], [2]))?.data == [1, 2])
    }

    @Test("An anonymous advertisement is nobody's")
    func anonymous() {
        var assembler = AdvertisementAssembler()
        var nobody = report(1, .connectable, [1])
        nobody.address = LEPeerAddress(kind: .init(rawValue: 0xFF), bits: 0)
        #expect(assembler.receive(nobody) == nil)
    }
}

@Suite("Core 5.4, Vol 4, Part E, 3.1.1: a controller hears one family of commands")
struct GAPCommandsTests {
    static let legacyOnly: Set<UInt16> = [0x2006, 0x2007, 0x2008, 0x2009, 0x200A, 0x200B, 0x200C, 0x200D]
    static let extendedOnly = Set(UInt16(0x2035)...0x2045)
    static let set = LEAdvertisingHandle(rawValue: 5)

    private func commands(_ family: CommandFamily) -> [any HCICommand] {
        let commands = GAPCommands(
            family: family, advertisingInterval: 160, connectionInterval: 24, supervisionTimeout: 200)
        let piece = LEAdvertisingDataPiece.cut([1])[0]
        let advertising: [Advertiser.Action] = [
            .setParameters(.legacy, .connectable), .setAddress(address(1)), .setData(piece), .setScanResponse(piece),
            .enable,
            .disable, .remove,
        ]
        let scanning: [Scanner.Action] = [
            .setParameters(isActive: true), .enable(filterDuplicates: true), .enable(filterDuplicates: false), .disable,
        ]
        let connecting: [Initiator.Action] = [
            .addToAcceptList(address(1)), .removeFromAcceptList(address(1)), .connect(address(1)), .connectByAcceptList,
            .cancel,
        ]
        return advertising.compactMap { commands.command(for: $0, of: Self.set) }
            + scanning.map { commands.command(for: $0) } + connecting.map { commands.command(for: $0) }
    }

    @Test("No action of any machine leaves its family", arguments: [CommandFamily.legacy, .extended])
    func unmixed(family: CommandFamily) {
        let opcodes = Set(commands(family).map { type(of: $0).opcode.rawValue })
        switch family {
        case .legacy:
            #expect(opcodes.isDisjoint(with: Self.extendedOnly))
            #expect(opcodes.isSuperset(of: Self.legacyOnly.subtracting([0x2007])))
        case .extended:
            #expect(opcodes.isDisjoint(with: Self.legacyOnly))
            #expect(
                opcodes.isSuperset(of: [0x2035, 0x2036, 0x2037, 0x2038, 0x2039, 0x203C, 0x2041, 0x2042, 0x2043]))
        }
    }

    @Test("An extended set sends the PDUs that every phone understands, unless its data is longer")
    func pdus() throws {
        let commands = GAPCommands(
            family: .extended, advertisingInterval: 160, connectionInterval: 24, supervisionTimeout: 200)
        let legacy = try #require(
            commands.command(for: .setParameters(.legacy, .connectable), of: Self.set)
                as? HCILESetExtendedAdvertisingParameters)
        #expect(legacy.properties == [.connectable, .scannable, .legacyPDUs])
        let extended = try #require(
            commands.command(for: .setParameters(.extended, .connectable), of: Self.set)
                as? HCILESetExtendedAdvertisingParameters)
        #expect(extended.properties == .connectable)
        #expect(extended.advertisingHandle == Self.set)
    }

    @Test("Each mode of connection is its kind of PDU", arguments: ConnectableMode.allCases)
    func kinds(_ mode: ConnectableMode) throws {
        func parameters<Command>(_ family: CommandFamily, _ pdus: Advertiser.PDUs, interval: UInt16 = 160) -> Command? {
            let commands = GAPCommands(
                family: family, advertisingInterval: interval, connectionInterval: 24, supervisionTimeout: 200)
            return commands.command(for: .setParameters(pdus, mode), of: Self.set) as? Command
        }
        let type: LEAdvertisingType
        let properties: LEAdvertisingEventProperties
        switch mode {
        case .connectable: (type, properties) = (.connectableScannableUndirected, [.connectable, .scannable])
        case .scannable: (type, properties) = (.scannableUndirected, .scannable)
        case .nonConnectable: (type, properties) = (.nonconnectableUndirected, [])
        }
        let legacy: HCILESetAdvertisingParameters = try #require(parameters(.legacy, .legacy))
        #expect(legacy.advertisingType == type)
        let set: HCILESetExtendedAdvertisingParameters = try #require(parameters(.extended, .legacy))
        #expect(set.properties == properties.union(.legacyPDUs))
        let long: HCILESetExtendedAdvertisingParameters = try #require(parameters(.extended, .extended))
        #expect(long.properties == (mode == .connectable ? .connectable : []))
        // Old controllers take a short interval only for what can be connected to.
        let quick: HCILESetAdvertisingParameters = try #require(parameters(.legacy, .legacy, interval: 0x20))
        #expect(quick.intervalMin == (mode == .connectable ? 0x20 : 0xA0))
    }
}

@Suite("Core 5.4, Vol 3, Part C, 11: advertisements longer than a legacy PDU")
struct ExtendedPayloadTests {
    let long = AdvertisingRecord(
        localName: "Front door",
        services: (0..<3).map { BluetoothUUID(bits: 0xFD51_0000_D1DB_463D_86FD_15EF_B821_60A8 + $0) })

    @Test("What fits into the legacy ones has no other")
    func fits() {
        #expect(
            AdvertisingData.extendedPayload(for: AdvertisingRecord(localName: "A", services: [0x180A]), room: 1650)
                == nil)
    }

    @Test("What does not fit is there in full, where the controller has room for more than 31 octets")
    func whole() throws {
        let payload = try #require(AdvertisingData.extendedPayload(for: long, room: 1650))
        let read = AdvertisingData(parsing: payload.data)
        #expect(read.services == long.services)
        #expect(read.localName == long.localName)
        #expect(read.flags == AdvertisingFlags(.general))
        #expect(payload.scanResponse.isEmpty)
        #expect(AdvertisingData.extendedPayload(for: long, room: 31) == nil)
    }

    @Test("It never has more than the room, nor a structure longer than its length field counts", arguments: 32...300)
    func room(octets: Int) throws {
        let record = AdvertisingRecord(
            localName: String(repeating: "n", count: 400),
            services: (0..<40).map { BluetoothUUID(bits: UInt128($0) << 64) })
        let payload = try #require(AdvertisingData.extendedPayload(for: record, room: octets))
        #expect(payload.data.count <= octets)
        #expect(AdvertisingData(parsing: payload.data).flags != nil)
    }
}
