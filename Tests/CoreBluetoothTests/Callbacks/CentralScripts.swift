import BluetoothCore
import BluetoothHost
import CoreBluetooth
import GATT
import Testing

@testable import CoreBluetooth
@testable import CoreBluetoothEssentials

/// What is done in a scenario of docs/CALLBACKS.md, under its heading.
typealias CallbackScript = @Sendable (CallbackStage) async throws -> Void

enum CentralScripts {
    static let all = connections.merging(discoveries) { $1 }.merging(values) { $1 }.merging(ends) { $1 }

    private static let connections: [String: CallbackScript] = [
        "Scan": { try $0.central.scanForPeripherals(withServices: [CallbackStage.service]) },
        "Scan that goes on": { stage in
            stage.visitor.goesOnScanning = true
            try stage.central.scanForPeripherals(withServices: [CallbackStage.service])
        },
        "Connect": { try $0.central.connect($0.met) },
        "Connect once more": { try $0.central.connect($0.met) },
        "Connect again": { try $0.central.connect($0.met) },
        "Connect under another name": { try $0.central.connect($0.met) },
        "Cancel a pending connection": { stage in
            let stranger = try await stage.stranger()
            try stage.central.connect(stranger)
            try stage.central.cancelPeripheralConnection(stranger)
        },
        "Connect to nobody known": { stage in
            let core = try stage.central.core
            let nobody = try await stage.visitorHost.onLoop { _ in core.peripheral(PeerIdentifier(bits: 7)) }
            try stage.central.connect(nobody)
        },
        "Call without a connection": { try $0.met.readRSSI() },
        "Cancel a connection": { try $0.central.cancelPeripheralConnection($0.met) },
        "The peripheral ends the connection": { try await $0.dropVisitor() },
        "The connection is lost": { _ = try await $0.killDoor() },
        "Connect with reconnection": { stage in
            let options = [CBConnectPeripheralOptionEnableAutoReconnect: true]
            try stage.central.connect(stage.met, options: options)
        },
        "Reconnection": { try await $0.dropVisitor() },
        "Connection events": { stage in
            let options: [CBConnectionEventMatchingOption: Any] = [.peripheralUUIDs: [try stage.met.identifier]]
            try stage.central.registerForConnectionEvents(options: options)
            try stage.central.connect(stage.met)
        },
        "Connection events, the end": { try $0.central.cancelPeripheralConnection($0.met) },
    ]

    private static let discoveries: [String: CallbackScript] = [
        "Discover": { stage in
            let (record, met) = (stage.visitor.record, try stage.met)
            await record.hears("peripheral(_:didDiscoverServices:)") { met.discoverServices([CallbackStage.service]) }
            let service = try #require(met.services?.first)
            await record.hears("peripheral(_:didDiscoverIncludedServicesFor:error:)") {
                met.discoverIncludedServices(nil, for: service)
            }
            await record.hears("peripheral(_:didDiscoverCharacteristicsFor:error:)") {
                met.discoverCharacteristics(nil, for: service)
            }
            met.discoverDescriptors(for: try stage.discovered(CallbackStage.text))
        },
        "Services change": { stage in
            let last = try #require(stage.services.last)
            try stage.peripheral.remove(last)
        },
        "Call on what is gone": { stage in
            let (record, met) = (stage.visitor.record, try stage.met)
            let (text, chime) = (
                try stage.discovered(CallbackStage.text), try stage.discovered(CallbackStage.chime)
            )
            let last = try #require(stage.services.last)
            try await record.hears("peripheral(_:didModifyServices:)") { try stage.peripheral.remove(last) }
            met.readValue(for: text)
            met.setNotifyValue(true, for: chime)
        },
        "The name changes": { stage in
            let kept = try await stage.killDoor()
            try await stage.launchDoor(named: "Front door", kept: kept)
        },
    ]

    private static let values: [String: CallbackScript] = [
        "Read": { stage in
            let (record, met, text) = (stage.visitor.record, try stage.met, try stage.discovered(CallbackStage.text))
            await record.hears("peripheral(_:didUpdateValueFor:error:)") { met.readValue(for: text) }
            met.readValue(for: try #require(text.descriptors?.first))
        },
        "Read what is refused": { stage in
            stage.door.answer = .readNotPermitted
            try stage.met.readValue(for: stage.discovered(CallbackStage.text))
        },
        "Read what asks for encryption": { try $0.met.readValue(for: $0.discovered(CallbackStage.secret)) },
        "Write": { stage in
            let text = try stage.discovered(CallbackStage.text)
            try stage.met.writeValue(Data([1]), for: text, type: .withResponse)
        },
        "Write what is refused": { stage in
            stage.door.answer = .writeNotPermitted
            let (record, met, text) = (stage.visitor.record, try stage.met, try stage.discovered(CallbackStage.text))
            await record.hears("peripheral(_:didWriteValueFor:error:)") {
                met.writeValue(Data([1]), for: text, type: .withResponse)
            }
            met.writeValue(Data([1]), for: try #require(text.descriptors?.first))
        },
        "Write a long value": { stage in
            let text = try stage.discovered(CallbackStage.text)
            try stage.met.writeValue(Data(repeating: 1, count: 512), for: text, type: .withResponse)
        },
        "Write without response": { stage in
            let bell = try stage.discovered(CallbackStage.bell)
            try stage.met.writeValue(Data([1]), for: bell, type: .withoutResponse)
        },
        "Write without response until it is full": { stage in
            let (met, bell) = (try stage.met, try stage.discovered(CallbackStage.bell))
            try await stage.visitorHost.holdingLoop {
                var written: UInt8 = 0
                while met.canSendWriteWithoutResponse {
                    met.writeValue(Data([written]), for: bell, type: .withoutResponse)
                    written += 1
                }
                #expect(written == 32)
            }
        },
        "Several calls at once": { stage in
            let (met, text) = (try stage.met, try stage.discovered(CallbackStage.text))
            met.readValue(for: text)
            met.writeValue(Data([1]), for: text, type: .withResponse)
            met.setNotifyValue(true, for: try stage.discovered(CallbackStage.chime))
            met.readValue(for: text)
        },
        "Several calls that do not wait for each other": { stage in
            let (met, text) = (try stage.met, try stage.discovered(CallbackStage.text))
            met.readValue(for: text)
            met.readRSSI()
            met.openL2CAPChannel(CallbackStage.unpublishedPSM)
        },
        "Write several values in one": { stage in
            let writes = try [CallbackStage.text, CallbackStage.note].map { type in
                AttributeWrite(handle: try #require(try stage.discovered(type).valueHandle), value: [1])
            }
            let (core, peer) = (try stage.central.core, try stage.met.peer)
            try await stage.visitorHost.onLoop { host in
                if let manager = core.id { _ = host.perform(manager, peer, .reliableWrites(writes)) }
            }
        },
        "Subscribe": { try $0.met.setNotifyValue(true, for: $0.discovered(CallbackStage.chime)) },
        "Subscribe with a bond": { try $0.met.setNotifyValue(true, for: $0.discovered(CallbackStage.chime)) },
        "Subscribe to what notifies nobody": { stage in
            try stage.met.setNotifyValue(true, for: stage.discovered(CallbackStage.text))
        },
        "Unsubscribe": { try $0.met.setNotifyValue(false, for: $0.discovered(CallbackStage.chime)) },
        "Signal strength": { try $0.met.readRSSI() },
        "Open a channel": { try $0.met.openL2CAPChannel($0.door.psm) },
        "Open a channel that asks for encryption": { try $0.met.openL2CAPChannel($0.door.psm) },
        "Open a channel, and pairing is refused": { stage in
            try stage.setDoorUser(DoorUser(answers: true))
            try stage.met.openL2CAPChannel(stage.door.psm)
        },
        "Cancel during the pairing for a channel": { stage in
            try await openUnanswered(stage)
            try stage.central.cancelPeripheralConnection(stage.met)
        },
        "The connection is lost during the pairing for a channel": { stage in
            try await openUnanswered(stage)
            _ = try await stage.killDoor()
        },
        "Open a channel that nobody publishes": { try $0.met.openL2CAPChannel(CallbackStage.unpublishedPSM) },
    ]

    private static let ends: [String: CallbackScript] = [
        "Cancel with calls under way": { stage in
            let (central, met) = (try stage.central, try stage.met)
            try await beginCalls(stage)
            try await endCalls(stage) { _ in central.cancelPeripheralConnection(met) }
        },
        "The peripheral ends the connection with calls under way": { stage in
            try await beginCalls(stage)
            try await stage.dropVisitor()
        },
        "The central's adapter resets with calls under way": { stage in
            try await beginCalls(stage)
            try await endCalls(stage) { host in
                host.transportClosed()
                host.transportOpened()
            }
        },
        "Restored central on an adapter that is on": { stage in
            let stranger = try await stage.stranger()
            try stage.central.connect(stranger)
            try await stage.visitorHost.committed()
            try await stage.launchVisitor(kept: stage.killVisitor(), whenOn: true)
        },
        "Restored central": { try await $0.launchVisitor(kept: $0.killVisitor()) },
        "Restored central with a bond": { try await $0.launchVisitor(kept: $0.killVisitor()) },
    ]

    /// One call of each kind that a peer answers in turn. It does not answer the first. The host has all of them when this returns.
    private static func beginCalls(_ stage: CallbackStage) async throws {
        stage.door.answer = nil
        let (met, text) = (try stage.met, try stage.discovered(CallbackStage.text))
        let (chime, descriptor) = (try stage.discovered(CallbackStage.chime), try #require(text.descriptors?.first))
        await stage.door.record.hears("peripheralManager(_:didReceiveRead:)") { met.readValue(for: text) }
        try await stage.visitorHost.onLoop { _ in
            met.writeValue(Data([1]), for: text, type: .withResponse)
            met.readValue(for: descriptor)
            met.writeValue(Data([1]), for: descriptor)
            met.setNotifyValue(false, for: chime)
        }
    }

    /// A channel that waits for a pairing, which waits for the door's user.
    private static func openUnanswered(_ stage: CallbackStage) async throws {
        let user = DoorUser(answers: false)
        try stage.setDoorUser(user)
        try stage.met.openL2CAPChannel(stage.door.psm)
        await user.isAsked()
    }

    /// What the adapter, and the peer out of turn, answers at once: `end` comes before.
    private static func endCalls(
        _ stage: CallbackStage, _ end: @escaping @Sendable (BluetoothHost.Host) -> Void
    ) async throws {
        let met = try stage.met
        try await stage.visitorHost.onLoop { host in
            met.readRSSI()
            met.openL2CAPChannel(CallbackStage.unpublishedPSM)
            end(host)
        }
    }
}
