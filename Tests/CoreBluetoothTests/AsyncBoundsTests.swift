import BluetoothCore
import BluetoothHost
import CoreBluetooth
import Synchronization
import Testing

@testable import CoreBluetooth
@testable import CoreBluetoothEssentials

/// Nobody iterates: what others cause does not pile up without end. A host is not there, and the delegates are called as their
/// managers do.
@Suite("What waits for an iteration is bounded", .serialized)
struct AsyncBoundsTests {
    /// No host is behind it.
    private final class NoLoop: HostExecutor {
        let isOnLoop = false
        func execute(_ body: @escaping @Sendable (BluetoothHost.Host) -> Void) {}
        func join() -> BluetoothHost.Host? { nil }
    }

    private let handle = CBHost(NoLoop())

    /// Every element that waits, and no more: who comes with a cancelled task waits for nothing.
    private func drain<Element>(_ sequence: SessionSequence<Element>) async -> [Element] {
        let draining = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            var elements: [Element] = []
            for await element in sequence { elements.append(element) }
            return elements
        }
        return await draining.value
    }

    private func central(_ bits: UInt64) -> CBCentral {
        CBCentral(PeerIdentifier(bits: UInt128(bits)), backlog: Backlog())
    }

    @Test("a central's events: the restoration and the newest states")
    func centralEvents() async {
        let (router, session) = (CentralRouter(), CentralSession(host: handle))
        router.centralManager(session.manager, willRestoreState: [:])
        for _ in 0..<CentralSession.eventsMaximum { router.centralManagerDidUpdateState(session.manager) }
        let events = await drain(SessionSequence(inbox: router.events, session: session))
        #expect(events.count == CentralSession.eventsMaximum)
        guard case .restored = events.first else {
            Issue.record("the restoration is gone")
            return
        }
    }

    @Test("a peripheral's events: the restoration and the newest states")
    func peripheralEvents() async {
        let (router, session) = (PeripheralRouter(), PeripheralSession(host: handle))
        let manager = CBPeripheralManager(callbacks: router, delivery: .inline, host: handle)
        router.peripheralManager(manager, willRestoreState: [:])
        for _ in 0..<PeripheralSession.eventsMaximum { router.peripheralManagerDidUpdateState(manager) }
        let events = await drain(SessionSequence(inbox: router.events, session: session))
        #expect(events.count == PeripheralSession.eventsMaximum)
        guard case .restored = events.first else {
            Issue.record("the restoration is gone")
            return
        }
    }

    @Test("discoveries: the newest")
    func discoveries() async {
        let session = CentralSession(host: handle)
        let stream = session.discoveries()
        // No adapter has taken the scan.
        session.manager.core.peripherals.withLock { $0.isScanning = true }
        let peripheral = CBPeripheral(PeerIdentifier(bits: 1), name: nil, core: session.manager.core)
        for strength in 0...CentralSession.discoveriesMaximum {
            session.router.centralManager(
                session.manager, didDiscover: peripheral, advertisementData: [:], rssi: -strength)
        }
        session.stopScanning()
        var heard: [Int] = []
        for await discovery in stream { heard.append(-discovery.rssi) }
        #expect(heard == Array(1...CentralSession.discoveriesMaximum))
    }

    @Test("requests: one more is refused")
    func requests() async {
        let (router, session) = (PeripheralRouter(), PeripheralSession(host: handle))
        let manager = CBPeripheralManager(callbacks: router, delivery: .inline, host: handle)
        let characteristic = CBMutableCharacteristic(
            type: CBUUID(string: "FFF1"), properties: .read, value: nil, permissions: .readable)
        let asked = (0...PeripheralSession.requestsMaximum).map { number in
            CBATTRequest(
                central: central(1), characteristic: characteristic, offset: 0, value: nil, path: nil,
                answer: CBATTRequest.Answer(ServerRequestID(link: LinkID(rawValue: 1), number: UInt64(number))))
        }
        for request in asked { router.peripheralManager(manager, didReceiveRead: request) }
        // One that is answered already gives no answer any more.
        #expect(asked.last?.answer.take {} == nil)
        #expect(asked.first?.answer.take {} != nil)
        let waiting = await drain(SessionSequence(inbox: router.requests, session: session))
        #expect(waiting.count == PeripheralSession.requestsMaximum)
    }

    @Test("subscriptions: the first and the newest")
    func subscriptions() async {
        let (router, session) = (PeripheralRouter(), PeripheralSession(host: handle))
        let manager = CBPeripheralManager(callbacks: router, delivery: .inline, host: handle)
        let characteristic = CBMutableCharacteristic(
            type: CBUUID(string: "FFF2"), properties: .notify, value: nil, permissions: [])
        let centrals = (0...PeripheralSession.subscriptionsMaximum).map { central(UInt64($0)) }
        for central in centrals {
            router.peripheralManager(manager, central: central, didSubscribeTo: characteristic)
        }
        let heard = await drain(SessionSequence(inbox: router.subscriptions, session: session))
        #expect(heard.map(\.central) == [centrals[0]] + centrals[2...])
    }

    @Test("channels: one more is closed")
    func channels() async {
        let (router, session) = (PeripheralRouter(), PeripheralSession(host: handle))
        let manager = CBPeripheralManager(callbacks: router, delivery: .inline, host: handle)
        let pipes = (0...PeripheralSession.channelsMaximum).map { number in
            ChannelPipe(
                HostChannelID(link: LinkID(rawValue: 1), number: UInt64(number)), sduOctetsMaximum: 100,
                handle: handle, delivery: .inline, host: nil)
        }
        for pipe in pipes {
            let channel = CBL2CAPChannel(peer: central(1), psm: 0x80, pipe: pipe)
            router.peripheralManager(manager, didOpen: channel, error: nil)
        }
        let isHeld = pipes.map { pipe in pipe.state.withLock { $0.channel != nil } }
        #expect(isHeld == pipes.indices.map { $0 < PeripheralSession.channelsMaximum })
        let waiting = await drain(SessionSequence(inbox: router.channels, session: session))
        #expect(waiting.count == PeripheralSession.channelsMaximum)
        #expect(waiting.map(\.isOpen) == waiting.map { _ in true })
    }
}
