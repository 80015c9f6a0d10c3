import ATT
import BlueZSupport
import BluetoothCore
import DBus
import GATT
import Testing

@testable import BlueZ

@Suite("Attributes beside bluetoothd")
struct BlueZOperationTests {
    private typealias Bench = BlueZBench
    private typealias Script = BlueZScript

    private static func bench() -> Bench { .linked(for: BlueZWishes(connections: [Script.lockAddress])) }

    private static func ask(
        _ bench: inout Bench, _ operation: GATTClientOperation, until: Instant? = nil
    ) -> [BlueZCentral.Output] {
        bench.handle(.operation(1, link: Script.lock, operation, until: until))
    }

    @Test("The tree is what bluetoothd shows: each handle from its path, each end from what comes next")
    func tree() {
        var bench = Self.bench()
        let service = BluetoothUUID(Script.lockService)!
        let challenge = RemoteCharacteristic(
            uuid: BluetoothUUID("fd510001-d1db-463d-86fd-15efb82160a8")!, properties: [.read, .notify],
            declaration: AttributeHandle(0x11), value: AttributeHandle(0x12), end: AttributeHandle(0x13),
            descriptors: [RemoteDescriptor(uuid: 0x2902, handle: AttributeHandle(0x13))])
        let command = RemoteCharacteristic(
            uuid: BluetoothUUID("fd510002-d1db-463d-86fd-15efb82160a8")!, properties: [.writeWithoutResponse],
            declaration: AttributeHandle(0x14), value: AttributeHandle(0x15), end: .last)
        let whole = RemoteService(
            uuid: service, declaration: AttributeHandle(0x10), end: .last, characteristics: [challenge, command])
        #expect(
            Self.ask(&bench, .discoverDatabase) == [
                .completed(1, .success(.database(RemoteDatabase(services: [whole]))))
            ])
        var bare = whole
        bare.characteristics = []
        #expect(Self.ask(&bench, .discoverPrimaryServices) == [.completed(1, .success(.services([bare])))])
        #expect(
            Self.ask(&bench, .discoverPrimaryServicesByUUID(0x180F)) == [.completed(1, .success(.services([])))])
        let range = ATTHandleRange(start: AttributeHandle(0x10), end: AttributeHandle(0x13))
        #expect(
            Self.ask(&bench, .discoverCharacteristics(range)) == [
                .completed(1, .success(.characteristics([challenge])))
            ])
        #expect(
            Self.ask(&bench, .discoverDescriptors(range)) == [
                .completed(1, .success(.descriptors(challenge.descriptors)))
            ])
        #expect(bench.members == [])
    }

    @Test("Values are read and written by their objects")
    func values() throws {
        var bench = Self.bench()
        #expect(Self.ask(&bench, .read(Script.challengeValue, offset: 3)) == [])
        let read = try #require(bench.calls.first?.call)
        #expect(read.member == "ReadValue" && read.path == Script.challenge)
        #expect(read.body == [.properties(["offset": .uint16(3)])])
        #expect(bench.answer("ReadValue", [.octets([1, 2])]) == [.completed(1, .success(.value([1, 2])))])

        #expect(Self.ask(&bench, .write(Script.commandValue, [5])) == [])
        let write = try #require(bench.calls.first?.call)
        #expect(
            write.path == Script.command && write.body == [.octets([5]), .properties(["type": .string("request")])])
        #expect(bench.answer("WriteValue") == [.completed(1, .success(.done))])

        let uuid = try #require(BluetoothUUID("fd510001-d1db-463d-86fd-15efb82160a8"))
        #expect(Self.ask(&bench, .readByUUID(uuid)) == [])
        let value = RemoteValue(handle: Script.challengeValue, value: [9])
        #expect(bench.answer("ReadValue", [.octets([9])]) == [.completed(1, .success(.values([value])))])
        #expect(
            Self.ask(&bench, .readByUUID(.databaseHash)) == [
                .completed(1, .failure(.refused(.attributeNotFound, handle: .first)))
            ])
        #expect(Self.ask(&bench, .read(AttributeHandle(0x99))).first.map { "\($0)" }?.contains("refused") == true)
    }

    @Test("A subscription is one of bluetoothd's, and ends there too")
    func subscription() {
        var bench = Self.bench()
        #expect(bench.notified([1]) == [])
        #expect(Self.ask(&bench, .configure(Script.challengeConfiguration, .notification)) == [])
        #expect(bench.answer("StartNotify") == [.completed(1, .success(.done))])
        #expect(bench.notified([2]) == [.updated(link: Script.lock, Script.challengeValue, [2])])
        #expect(Self.ask(&bench, .configure(Script.challengeConfiguration, [])) == [])
        #expect(bench.answer("StopNotify") == [.completed(1, .success(.done))])
        #expect(bench.notified([3]) == [])
        // One that is refused is none.
        #expect(Self.ask(&bench, .configure(Script.challengeConfiguration, .notification)) == [])
        bench.refuse("StartNotify", "org.bluez.Error.NotSupported")
        #expect(bench.notified([4]) == [])
    }

    @Test("What an app has asked to hear no more is not asked for again on that link, whatever is still wished for")
    func silenced() {
        var bench = Bench.linked()
        bench.answer("StartNotify")
        #expect(Self.ask(&bench, .configure(Script.challengeConfiguration, [])) == [])
        #expect(bench.answer("StopNotify") == [.completed(1, .success(.done))] && bench.members == [])
        bench.handle(.wished(Bench.wishes))
        #expect(bench.members == [] && bench.notified([3]) == [])
        bench.handle(.wished(BlueZWishes(connections: [Script.lockAddress])))
        #expect(Self.ask(&bench, .configure(Script.challengeConfiguration, .notification)) == [])
        #expect(bench.answer("StartNotify") == [.completed(1, .success(.done))])
        #expect(bench.notified([4]) == [.updated(link: Script.lock, Script.challengeValue, [4])])
        // Refused, it goes on.
        #expect(Self.ask(&bench, .configure(Script.challengeConfiguration, [])) == [])
        bench.refuse("StopNotify", "org.bluez.Error.Failed")
        #expect(bench.notified([5]) == [.updated(link: Script.lock, Script.challengeValue, [5])])
    }

    @Test("A value that is read is told as its read's alone; what comes by itself meanwhile is told as such")
    func readValue() {
        var bench = Bench.linked()
        bench.answer("StartNotify")
        func told(_ octets: [UInt8]) -> BlueZCentral.Output {
            .updated(link: Script.lock, Script.challengeValue, octets)
        }
        #expect(Self.ask(&bench, .read(Script.challengeValue)) == [])
        #expect(bench.notified([7]) == [])
        #expect(bench.answer("ReadValue", [.octets([7])]) == [.completed(1, .success(.value([7])))])
        #expect(bench.notified([8]) == [told([8])])

        _ = Self.ask(&bench, .read(Script.challengeValue))
        #expect(bench.notified([1]) == [] && bench.notified([2]) == [told([1])])
        #expect(bench.answer("ReadValue", [.octets([2])]) == [.completed(1, .success(.value([2])))])

        _ = Self.ask(&bench, .read(Script.challengeValue))
        #expect(bench.notified([3]) == [])
        #expect(bench.answer("ReadValue", [.octets([4])]) == [told([3]), .completed(1, .success(.value([4])))])

        _ = Self.ask(&bench, .read(Script.challengeValue))
        #expect(bench.notified([5]) == [])
        #expect(
            bench.changed(["Connected": .boolean(false)]) == [
                told([5]), .completed(1, .failure(.bearerClosed)), .disconnected(link: Script.lock),
            ])
    }

    @Test(
        "Writes to one attribute keep their order, also behind one that somebody else holds up; commands wait for them")
    func order() {
        var bench = Self.bench()
        func ask(_ token: UInt64, _ operation: GATTClientOperation) -> [BlueZCentral.Output] {
            bench.handle(.operation(token, link: Script.lock, operation))
        }
        func written() -> [UInt8]? { bench.calls.first?.call.body.first?.octets }
        for token: UInt64 in 1...3 { #expect(ask(token, .write(Script.commandValue, [UInt8(token)])) == []) }
        #expect(ask(4, .writeWithoutResponse(Script.commandValue, [4])) == [])
        #expect(ask(5, .writeWithoutResponse(Script.commandValue, [5])) == [])
        #expect(ask(6, .read(Script.challengeValue)) == [] && bench.members == ["WriteValue", "ReadValue"])
        bench.answer("ReadValue", [.octets([0])])
        bench.refuse("WriteValue", "org.bluez.Error.InProgress")
        #expect(bench.members == [])
        bench.pass(milliseconds: 50)
        for token: UInt64 in 1...3 {
            #expect(bench.members == ["WriteValue"] && written() == [UInt8(token)])
            #expect(bench.answer("WriteValue") == [.completed(token, .success(.done))])
        }
        #expect(bench.members == ["WriteValue", "WriteValue"])
        bench.refuse("WriteValue", "org.bluez.Error.InProgress")
        bench.answer("WriteValue")
        bench.pass(milliseconds: 50)
        #expect(
            bench.members == ["WriteValue"] && written() == [4], "a command that is refused as busy is not lost")
        #expect(bench.answer("WriteValue") == [.completed(4, .success(.done))] && bench.deadline == nil)
    }

    @Test(
        "A write without response is on its way when bluetoothd has it; one that has a time is at once, and leaves no later"
    )
    func command() throws {
        var bench = Self.bench()
        let until = bench.now.advanced(byMilliseconds: 100)
        #expect(
            Self.ask(&bench, .writeWithoutResponse(Script.commandValue, [5]), until: until) == [
                .completed(1, .success(.done))
            ])
        let taken = bench.takeCall("WriteValue")
        let late = try #require(taken)
        #expect(late.call.body == [.octets([5]), .properties(["type": .string("command")])])
        #expect(bench.handle(.lapsed(late.id)) == [.lapsed(1)])
        // Without a time it counts as one that has not left until bluetoothd has taken it.
        #expect(Self.ask(&bench, .writeWithoutResponse(Script.commandValue, [5])) == [])
        #expect(bench.answer("WriteValue") == [.completed(1, .success(.done))])
    }

    @Test(
        "What bluetoothd refuses with is ATT's error where it is one",
        arguments: [
            ("NotPermitted", "Read not permitted", .readNotPermitted),
            ("NotPermitted", "Not paired", .insufficientAuthentication), ("InvalidOffset", "", .invalidOffset),
            ("InvalidValueLength", "", .invalidAttributeValueLength), ("NotAuthorized", "", .insufficientAuthorization),
            ("NotSupported", "", .requestNotSupported), ("Failed", "Operation failed", .unlikelyError),
            ("Failed", "Operation failed with ATT error: 0x80", ATTErrorCode(rawValue: 0x80)),
            ("Failed", "Operation failed with ATT error: 0xzz", .unlikelyError),
        ] as [(String, String, ATTErrorCode)])
    func errors(name: String, text: String, code: ATTErrorCode) {
        var bench = Self.bench()
        _ = Self.ask(&bench, .read(Script.challengeValue))
        #expect(
            bench.refuse("ReadValue", "org.bluez.Error.\(name)", text) == [
                .completed(1, .failure(.refused(code, handle: Script.challengeValue)))
            ])
    }

    @Test("An attribute that somebody else is at is asked again, for as long as a peer may take")
    func busy() {
        var bench = Self.bench()
        _ = Self.ask(&bench, .read(Script.challengeValue))
        for _ in 0..<BlueZOperations.retriesMaximum {
            #expect(bench.refuse("ReadValue", "org.bluez.Error.InProgress") == [])
            #expect(bench.members == [] && bench.deadline == bench.now.advanced(byMilliseconds: 50))
            bench.pass(milliseconds: 50)
        }
        #expect(
            bench.refuse("ReadValue", "org.bluez.Error.InProgress") == [
                .completed(1, .failure(.refused(.procedureAlreadyInProgress, handle: Script.challengeValue)))
            ])
        #expect(bench.deadline == nil)
    }

    @Test("What has no answer when the link ends ends with it, and nothing is asked of a link that is not there")
    func ends() {
        var bench = Self.bench()
        _ = Self.ask(&bench, .read(Script.challengeValue))
        #expect(
            bench.changed(["Connected": .boolean(false)]) == [
                .completed(1, .failure(.bearerClosed)), .disconnected(link: Script.lock),
            ])
        #expect(bench.answer("ReadValue", [.octets([1])]) == [])
        #expect(Self.ask(&bench, .read(Script.challengeValue)) == [.completed(1, .failure(.bearerClosed))])
    }

    @Test("So many wait on one link, and no more")
    func bound() {
        var bench = Self.bench()
        for token in 0..<UInt64(BlueZOperations.perLinkMaximum) {
            #expect(bench.handle(.operation(token, link: Script.lock, .read(Script.challengeValue))) == [])
        }
        #expect(
            bench.handle(.operation(99, link: Script.lock, .read(Script.challengeValue))) == [
                .completed(99, .failure(.queueFull))
            ])
    }

    @Test(
        "Paths that are no attributes",
        arguments: [
            "", "/", Script.lock, Script.lock + "/service001", Script.lock + "/service00zz", Script.lock + "/char0000",
            "/org/bluez/hci0/service0010", Script.lock + "/service0010/player0",
        ])
    func paths(path: String) { #expect(BlueZAttributePath(path) == nil) }

    @Test("A path has its device and its last handle")
    func path() {
        let path = BlueZAttributePath(Script.challenge + "/desc0013")
        #expect(path?.device == Script.lock && path?.handle == AttributeHandle(0x13))
    }
}
