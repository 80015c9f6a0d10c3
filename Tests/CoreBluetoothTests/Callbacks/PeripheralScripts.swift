import CoreBluetooth
import Testing

@testable import CoreBluetooth
@testable import CoreBluetoothEssentials

/// What is done in the scenarios of docs/CALLBACKS.md in which the peripheral's app acts, and at both apps' launch.
enum PeripheralScripts {
    static let all: [String: CallbackScript] = [
        "Launch": { stage in
            try await stage.launchDoor()
            try await stage.launchVisitor()
        },
        "Launch without an adapter": { stage in
            try await stage.launchDoor()
            try await stage.launchVisitor()
            await stage.visitor.record.wait { !$0.isEmpty }
            await stage.door.record.wait { !$0.isEmpty }
            try await stage.air.plug()
        },
        "Add services": { stage in
            for service in stage.services { try stage.peripheral.add(service) }
        },
        "Add a service that cannot be": { stage in
            let service = CBMutableService(type: CallbackStage.service, primary: true)
            let writable = CBMutableCharacteristic(
                type: CallbackStage.text, properties: [.read, .write], value: Data([1]),
                permissions: [.readable, .writeable])
            service.characteristics = [writable]
            try stage.peripheral.add(service)
        },
        "Advertise": { stage in
            try stage.peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [CallbackStage.service]])
        },
        "Advertise a name": { stage in
            try stage.peripheral.startAdvertising([
                CBAdvertisementDataServiceUUIDsKey: [CallbackStage.service], CBAdvertisementDataLocalNameKey: "Door",
            ])
        },
        "Advertise twice": { stage in
            try stage.peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [CallbackStage.service]])
        },
        "Stop before it has begun": { stage in
            let manager = try stage.peripheral
            try await stage.doorHost.onLoop { _ in
                manager.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [CallbackStage.service]])
                manager.stopAdvertising()
            }
        },
        "Update the value": { try update($0) },
        "Update the value behind a restored central": { try update($0) },
        "Update the value until it is full": { stage in
            let (manager, chime) = (try stage.peripheral, try stage.chime)
            try await stage.doorHost.holdingLoop {
                var taken: UInt8 = 0
                while manager.updateValue(Data([taken]), for: chime, onSubscribedCentrals: nil) { taken += 1 }
                #expect(taken == 64)
            }
        },
        "A bonded central goes": { try $0.central.cancelPeripheralConnection($0.met) },
        "The central goes": { try $0.central.cancelPeripheralConnection($0.met) },
        "Publish a channel": { try $0.peripheral.publishL2CAPChannel(withEncryption: false) },
        "Unpublish a channel": { try $0.peripheral.unpublishL2CAPChannel($0.door.psm) },
        "Unpublish what is not published": { try $0.peripheral.unpublishL2CAPChannel(CallbackStage.unpublishedPSM) },
        "The peripheral's adapter resets": { stage in
            stage.door.answer = nil
            let text = try stage.discovered(CallbackStage.text)
            try await stage.door.record.hears("peripheralManager(_:didReceiveRead:)") {
                try stage.met.readValue(for: text)
            }
            try await stage.doorHost.replug()
        },
        "Subscribed, and all of it ends with the power": { stage in
            stage.endsWithPower = true
            try await stage.launchDoor()
            try await stage.launchVisitor()
            await stage.door.record.wait { !$0.isEmpty }
            for service in stage.services { try stage.peripheral.add(service) }
            try await stage.door.record.hears("peripheralManagerDidStartAdvertising(_:error:)") {
                try stage.peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [CallbackStage.service]])
            }
            await stage.visitor.record.wait { !$0.isEmpty }
            try await stage.subscribe()
        },
        "The peripheral's power ends": { try await $0.doorHost.replug() },
        "The central's power ends": { try await $0.visitorHost.replug() },
        "Services added anew": { stage in
            for service in stage.services { try stage.peripheral.add(service) }
            try stage.peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [CallbackStage.service]])
        },
        "Services added again": { stage in
            for service in stage.services { try stage.peripheral.add(service) }
            try stage.peripheral.startAdvertising([CBAdvertisementDataServiceUUIDsKey: [CallbackStage.service]])
        },
        "Publish a channel with encryption": { try $0.peripheral.publishL2CAPChannel(withEncryption: true) },
        "Restored peripheral on an adapter that is on": { stage in
            try await stage.launchDoor(kept: stage.killDoor(), whenOn: true)
        },
        "Restored peripheral": { try await $0.launchDoor(kept: $0.killDoor()) },
    ]

    private static func update(_ stage: CallbackStage) throws {
        let (manager, chime) = (try stage.peripheral, try stage.chime)
        for value in [1, 2, 3] as [UInt8] {
            #expect(manager.updateValue(Data([value]), for: chime, onSubscribedCentrals: nil))
        }
    }
}
