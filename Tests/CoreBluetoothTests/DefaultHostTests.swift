import BluetoothCore
import BluetoothHost
import CoreBluetooth
import Glibc
import HCITransport
import HostComposition
import StatePersistence
import Synchronization
import TestSupport
import Testing

@testable import CoreBluetooth

@Suite("The process's host")
struct DefaultHostTests {
    /// Hears the states of a manager, in order.
    final class Listener: CBCentralManagerDelegate, Sendable {
        let states: AsyncStream<CBManagerState>
        private let heard: AsyncStream<CBManagerState>.Continuation
        private let host: CBHost
        /// What was in the way as each state came. A test that looks later may find what came since: a controller that
        /// nobody answers for is given up after a while.
        let obstacles = Mutex<[String?]>([])

        init(_ host: CBHost) {
            self.host = host
            (states, heard) = AsyncStream.makeStream()
        }

        func centralManagerDidUpdateState(_ central: CBCentralManager) {
            obstacles.withLock { $0.append(host.obstacle) }
            heard.yield(central.state)
        }

        func first(_ count: Int) async -> [CBManagerState] {
            var heard: [CBManagerState] = []
            for await state in states.prefix(count) { heard.append(state) }
            return heard
        }
    }

    /// A store's file that cannot be written any more.
    final class FullDisk: TransactionCoordinator {
        func commit(_ participants: [any CommitParticipant]) throws { throw StoreError.full(path: "bluetooth.sqlite") }
    }

    private func manager(on host: CBHost) -> (CBCentralManager, Listener) {
        let listener = Listener(host)
        return (CBCentralManager(callbacks: listener, queue: DispatchQueue(label: "app"), host: host), listener)
    }

    private static func composition(
        _ controller: ControllerSource, _ coordinator: any TransactionCoordinator = MemoryTransactionCoordinator()
    ) throws -> DefaultHost.Composition {
        let runtime = try HostRuntime(
            HostConfiguration(deviceName: "app"), boot: BootID(bits: 1), store: MemoryHostStore(),
            coordinator: coordinator,
            air: .controller(controller), loop: EventLoop(signals: []), misuse: { _ in })
        return DefaultHost.Composition(runtime: runtime, claim: nil)
    }

    /// Two ends of a stream: the host's, and the controller's in the test.
    private static func makeLine() throws -> (host: Int32, controller: Int32) {
        let ends = try makeSocketPair()
        return (ends.0, ends.1)
    }

    @Test("A host that has ended is gone with its controller, also the one that has the process's signal")
    func gone() throws {
        weak var gone: HostRuntime?
        do {
            let runtime = try HostRuntime(
                HostConfiguration(deviceName: "gone"), boot: BootID(bits: 1), store: MemoryHostStore(),
                coordinator: MemoryTransactionCoordinator(),
                air: .controller(.none), loop: EventLoop(signals: []),
                misuse: { Issue.record("\($0)") })
            gone = runtime
            // No host of another test takes this one.
            let termination = try #require(try Termination(runtime, by: SIGUSR2))
            termination.end()
        }
        #expect(gone == nil)
    }

    @Test("a controller that may not be opened yet: the state says so, the obstacle why, and both end when it opens")
    func unauthorizedAtFirst() async throws {
        let line = try Self.makeLine()
        defer { close(line.controller) }
        // There to be opened once, and not yet.
        let allowed = Mutex<Int32?>(nil)
        let host = DefaultHost.start {
            let backOff = TransportRecovery.BackOff(firstMilliseconds: 1, maximumMilliseconds: 1)
            return try Self.composition(
                ControllerSource(name: "adapter", canReopen: true, backOff: backOff) { () throws(TransportError) in
                    guard let descriptor = allowed.withLock({ $0.take() }) else {
                        throw TransportError(.notPermitted, "adapter: not permitted")
                    }
                    return HCIStream(try Transport.open(.inherited(descriptor)))
                })
        }
        let (manager, listener) = manager(on: host)
        #expect(await listener.first(1) == [.unauthorized])
        allowed.withLock { $0 = line.host }
        #expect(await listener.first(1) == [.resetting])
        #expect(listener.obstacles.withLock { Array($0.prefix(2)) } == ["adapter: not permitted", nil])
        // HCI_Reset: the host begins with its controller.
        var octets = [UInt8](repeating: 0, count: 4)
        #expect(recv(line.controller, &octets, 4, Int32(MSG_WAITALL)) == 4)
        #expect(octets == [1, 3, 0x0C, 0])
        withExtendedLifetime(manager) {}
    }

    @Test("a commit that fails: nothing leaves, the adapter is let go, and managers hear that there is none")
    func commitFails() async throws {
        let line = try Self.makeLine()
        defer { close(line.controller) }
        let host = DefaultHost.start {
            try Self.composition(ControllerSource(.inherited(line.host)), FullDisk())
        }
        let (manager, listener) = manager(on: host)
        #expect(await listener.first(1) == [.unsupported])
        var octet: UInt8 = 0
        #expect(recv(line.controller, &octet, 1, 0) == 0, "the stream is closed, and empty")
        let (later, lateListener) = self.manager(on: host)
        #expect(await lateListener.first(1) == [.unsupported])
        #expect(host.obstacle == StoreError.full(path: "bluetooth.sqlite").description)
        withExtendedLifetime((manager, later)) {}
    }

    @Test(
        "what is in the way is told by Apple's states",
        arguments: [
            (TransportError.Kind.notPermitted, CBManagerState.unauthorized), (.busy, .poweredOff),
            (.notReady, .poweredOff), (.notFound, .unsupported), (.refused, .unsupported), (.timedOut, .unsupported),
            (.unsupported, .unsupported), (.malformedAddress, .unsupported), (.system(EIO), .unsupported),
        ])
    func states(kind: TransportError.Kind, expected: CBManagerState) async throws {
        let host = DefaultHost.start {
            try Self.composition(
                ControllerSource(name: "adapter", canReopen: true) { () throws(TransportError) in
                    throw TransportError(kind, "adapter: \(kind)")
                })
        }
        let (manager, listener) = manager(on: host)
        #expect(await listener.first(1) == [expected])
        #expect(host.obstacle == "adapter: \(kind)")
        withExtendedLifetime(manager) {}
    }
}
