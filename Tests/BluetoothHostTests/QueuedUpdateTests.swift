import ATT
import BluetoothCore
import GATT
import SecurityManager
import Simulation
import Testing
import WorldSupport

@testable import BluetoothHost

/// Updates that have to wait, over the air.
@Suite(.capturesFailures) struct QueuedUpdateTests {
    private func octets(_ handle: AttributeHandle) -> [UInt8] {
        [UInt8(truncatingIfNeeded: handle.rawValue), UInt8(handle.rawValue >> 8)]
    }

    @Test("Indications that waited for room and left as notifications, as the central wants it now, are delivered once")
    func subscriptionChangedWhileWaiting() throws {
        let fortress = try Fortress()
        let app = try fortress.app()
        let characteristic = try #require(fortress.scene.published).characteristics[2]
        let ccc = try #require(characteristic.configuration)
        let owner = try fortress.impostor()
        #expect(owner.connect(to: try fortress.lockAddress()))
        owner.encrypt(fortress.bond.ltk)
        #expect(owner.request([0x12] + octets(ccc) + [2, 0]) == [0x13])
        owner.disconnect()
        // One more than the bearer takes: it waits for room.
        let values = (0...UInt8(ATTBound.indicationQueueCapacityCount + 1)).map { $0 }
        fortress.lock.call {
            for value in values {
                #expect($0.updateValue(app.manager, characteristic.value, [value], to: nil, keepForAbsent: true))
            }
        }
        #expect(owner.connect(to: try fortress.lockAddress()))
        owner.encrypt(fortress.bond.ltk)
        #expect(owner.run(1_000) { owner.att.last?.first == 0x1D })
        #expect(owner.request([0x12] + octets(ccc) + [1, 0]) == [0x13])
        var confirmed = 0
        while owner.run(1_000, until: { owner.att.count { $0.first == 0x1D } > confirmed }) {
            confirmed += 1
            owner.send([0x1E], on: RawPeer.attributeProtocol)
        }
        let told = owner.att.filter { [0x1B, 0x1D].contains($0.first) }
        #expect(told.compactMap(\.last).sorted() == values)
        #expect(told.count { $0.first == 0x1B } == 1)
        #expect(fortress.lock.store.load().restorations.values.flatMap(\.queuedUpdates) == [])
    }

    @Test("What is kept for a service that is removed goes with it: another may get its handles in a later life")
    func removedService() throws {
        let fortress = try Fortress()
        let app = try fortress.app()
        let service = try #require(fortress.scene.published)
        let characteristic = service.characteristics[2]
        let owner = try fortress.impostor()
        #expect(owner.connect(to: try fortress.lockAddress()))
        owner.encrypt(fortress.bond.ltk)
        #expect(owner.request([0x12] + octets(try #require(characteristic.configuration)) + [2, 0]) == [0x13])
        owner.disconnect()
        fortress.lock.call {
            #expect($0.updateValue(app.manager, characteristic.value, [1], to: nil, keepForAbsent: true))
        }
        func kept() -> [QueuedUpdate] { fortress.lock.store.load().restorations.values.flatMap(\.queuedUpdates) }
        #expect(kept().count == 1)
        fortress.lock.call { $0.unpublish(app.manager, service: service.declaration) }
        #expect(kept() == [])
    }

    enum Moment: CaseIterable { case afterAct, beforeCommit }

    /// The air is the judge: what a later life has left to do is in nobody's hands but the disk's.
    @Test(
        "Killed at every place: a committed update goes out, once in each life at most; one without its commit never does",
        arguments: [[1, 0], [2, 0]] as [[UInt8]], Moment.allCases)
    func killed(_ wanted: [UInt8], _ moment: Moment) throws {
        var place = 0
        var repeated = 0
        var isKilled = true
        while isKilled {
            let fortress = try Fortress()
            let app = try fortress.app()
            let characteristic = try #require(fortress.scene.published).characteristics[2]
            let owner = try fortress.impostor()
            func updates() -> [[UInt8]] { owner.att.filter { [0x1B, 0x1D].contains($0.first) } }
            func comeBack() throws {
                guard fortress.lock.host != nil, owner.connect(to: try fortress.lockAddress()) else { return }
                owner.encrypt(fortress.bond.ltk)
                guard owner.run(300, until: { [0x1B, 0x1D].contains(owner.att.last?.first) }) else { return }
                if owner.att.last?.first == 0x1D { owner.send([0x1E], on: RawPeer.attributeProtocol) }
                owner.run(200)
            }
            #expect(owner.connect(to: try fortress.lockAddress()))
            owner.encrypt(fortress.bond.ltk)
            #expect(owner.request([0x12] + octets(try #require(characteristic.configuration)) + wanted) == [0x13])
            owner.disconnect()
            switch moment {
            case .afterAct: fortress.lock.killAfterActs = fortress.lock.actCount + place
            case .beforeCommit: fortress.lock.killBeforeCommit = fortress.lock.commitCount + place + 1
            }
            var isTaken = false
            fortress.lock.call {
                isTaken = $0.updateValue(app.manager, characteristic.value, [0xA5], to: nil, keepForAbsent: true)
            }
            #expect(isTaken)
            let isCommitted = fortress.lock.host != nil || moment == .afterAct
            try comeBack()
            isKilled = fortress.lock.host == nil
            var told = updates()
            if isKilled {
                owner.disconnect()
                fortress.scene.launchLock()
                fortress.world.run(forMilliseconds: 500)
                try comeBack()
                told += updates()
            }
            #expect(told.allSatisfy { $0.last == 0xA5 })
            #expect(told.count >= (isCommitted ? 1 : 0), "\(moment) \(place)")
            #expect(told.count <= (isCommitted ? isKilled ? 2 : 1 : 0), "\(moment) \(place)")
            #expect(fortress.lock.store.load().restorations.values.flatMap(\.queuedUpdates) == [], "\(moment) \(place)")
            if told.count == 2 { repeated += 1 }
            place += 1
        }
        #expect(place > 3)
        // Between the controller's word that it was sent and the commit of that lies what makes it go out again.
        #expect((repeated > 0) == (moment == .beforeCommit), "the promise is at least once, and no stronger")
    }

    @Test("An app that waits for a link's room hears of the link's end first, and then that there is room")
    func endBeforeRoom() throws {
        let fortress = try Fortress()
        let app = try fortress.app()
        let characteristic = try #require(fortress.scene.published).characteristics[2]
        let ccc = try #require(characteristic.configuration)
        let peer = fortress.stranger()
        #expect(peer.connect(to: try fortress.lockAddress()))
        #expect(peer.request([0x12] + octets(ccc) + [2, 0]) == [0x13])
        var heard: [String] = []
        fortress.lock.call { host in
            var taken = 0
            while taken < 100, host.updateValue(app.manager, characteristic.value, [1], to: nil, keepForAbsent: false) {
                taken += 1
            }
            // Indications under way, which end with the link, and an app that was refused one more.
            #expect(taken == 1 + ATTBound.indicationQueueCapacityCount)
            host.transportClosed()
            for case .peripheral(app.manager, let news) in host.core.tellings {
                switch news {
                case .centralDisconnected: heard.append("end")
                case .readyToUpdate: heard.append("room")
                default: break
                }
            }
        }
        #expect(heard == ["end", "room"])
    }
}
