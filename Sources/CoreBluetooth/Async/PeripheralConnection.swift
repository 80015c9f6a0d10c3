import CoreBluetoothEssentials
import Foundation

/// A connection to a peripheral: ``CentralSession/connect(_:timeout:)`` makes it, and it ends once. A later one is
/// another object.
///
/// Every call ends exactly once. When the connection is lost, what the peripheral was asked ends in
/// `CBError.notConnected`, as a delegate hears it, or in the reason of the loss. When this side asked for the end, it
/// ends in `CBError.notConnected` or `CBError.operationCancelled`, and in `BluetoothSessionError.unavailable` when the
/// adapter went. A call on a connection that has ended throws `CBError.notConnected`. Cancellation and timeouts end the
/// wait, and not what the peripheral was asked: a write may still take effect.
public final class PeripheralConnection: Sendable {
    private let link: ConnectedLink
    private let session: CentralSession

    init(link: ConnectedLink, session: CentralSession) {
        self.link = link
        self.session = session
    }

    /// Whose connection this is.
    public var peripheral: CBPeripheral { link.peripheral }

    // MARK: Its end

    /// Ends the connection. ``waitUntilEnded()`` says when it has.
    public func disconnect() { session.router.disconnect(peripheral, link, session.manager) }

    /// Waits for the connection's end, and returns why it ended: nil when this side asked for it.
    ///
    /// - Throws: `CancellationError`.
    public func waitUntilEnded() async throws -> (any Error)? { try await link.ended().error }

    // MARK: Discovery

    /// Discovers the services of these types, or all, and returns every service that is known then.
    ///
    /// - Throws: `CBError`, `CBATTError`, `BluetoothSessionError`, or `CancellationError`.
    @discardableResult
    public func discoverServices(_ types: [CBUUID]? = nil, timeout: Duration? = nil) async throws -> [CBService] {
        _ = try await link.perform(.services, within: timeout) { $0.discoverServices(types) }
        return peripheral.services ?? []
    }

    /// Discovers the services of these types, or all, that `service` includes, and returns all that are known then.
    ///
    /// - Throws: `CBError`, `CBATTError`, `BluetoothSessionError`, or `CancellationError`.
    @discardableResult
    public func discoverIncludedServices(
        _ types: [CBUUID]? = nil, for service: CBService, timeout: Duration? = nil
    ) async throws -> [CBService] {
        _ = try await link.perform(.includedServices(service), within: timeout) {
            $0.discoverIncludedServices(types, for: service)
        }
        return service.includedServices ?? []
    }

    /// Discovers the characteristics of these types, or all, of `service`, and returns all that are known then.
    ///
    /// - Throws: `CBError`, `CBATTError`, `BluetoothSessionError`, or `CancellationError`.
    @discardableResult
    public func discoverCharacteristics(
        _ types: [CBUUID]? = nil, for service: CBService, timeout: Duration? = nil
    ) async throws -> [CBCharacteristic] {
        _ = try await link.perform(.characteristics(service), within: timeout) {
            $0.discoverCharacteristics(types, for: service)
        }
        return service.characteristics ?? []
    }

    /// Discovers the descriptors of `characteristic`, and returns them.
    ///
    /// - Throws: `CBError`, `CBATTError`, `BluetoothSessionError`, or `CancellationError`.
    @discardableResult
    public func discoverDescriptors(
        for characteristic: CBCharacteristic, timeout: Duration? = nil
    ) async throws -> [CBDescriptor] {
        _ = try await link.perform(.descriptors(characteristic), within: timeout) {
            $0.discoverDescriptors(for: characteristic)
        }
        return characteristic.descriptors ?? []
    }

    // MARK: Values

    /// Reads a value, long ones whole.
    ///
    /// - Throws: `CBError`, `CBATTError`, `BluetoothSessionError`, or `CancellationError`.
    public func readValue(for characteristic: CBCharacteristic, timeout: Duration? = nil) async throws -> Data {
        let answer = try await link.perform(.read(characteristic), within: timeout) {
            $0.readValue(for: characteristic)
        }
        guard case .value(let value) = answer else { throw CBError(.unknown) }
        return value
    }

    /// Reads a descriptor's value, which is in its `value` then.
    ///
    /// - Throws: `CBError`, `CBATTError`, `BluetoothSessionError`, or `CancellationError`.
    public func readValue(for descriptor: CBDescriptor, timeout: Duration? = nil) async throws {
        _ = try await link.perform(.readDescriptor(descriptor), within: timeout) { $0.readValue(for: descriptor) }
    }

    /// Writes a value, and waits for the peripheral's response. With an error the write may still have taken effect.
    ///
    /// - Throws: `CBError`, `CBATTError`, `BluetoothSessionError`, or `CancellationError`.
    public func writeValue(
        _ value: Data, for characteristic: CBCharacteristic, timeout: Duration? = nil
    ) async throws {
        _ = try await link.perform(.write(characteristic), within: timeout) {
            $0.writeValue(value, for: characteristic, type: .withResponse)
        }
    }

    /// Writes a descriptor's value.
    ///
    /// - Throws: `CBError`, `CBATTError`, `BluetoothSessionError`, or `CancellationError`.
    public func writeValue(_ value: Data, for descriptor: CBDescriptor, timeout: Duration? = nil) async throws {
        _ = try await link.perform(.writeDescriptor(descriptor), within: timeout) {
            $0.writeValue(value, for: descriptor)
        }
    }

    /// Writes a value without a response as soon as there is room for it. Nothing says what became of it.
    ///
    /// - Throws: `CBError`, `BluetoothSessionError`, or `CancellationError`.
    public func writeValueWithoutResponse(
        _ value: Data, for characteristic: CBCharacteristic, timeout: Duration? = nil
    ) async throws { try await link.command(value, characteristic, within: timeout) }

    /// The values that the peripheral sends from now on, in notifications or indications. The first of several
    /// listeners to one characteristic subscribes, and the last one unsubscribes. A listener has ended when it iterates
    /// no more and holds the sequence no more, or when its task is cancelled. 256 values wait for it; past that its
    /// oldest are dropped.
    ///
    /// The sequence throws what ends the connection, `CBError.invalidHandle` when the peripheral takes the service
    /// away, and the error of a subscription that fails. It ends without an error when this side ends the connection.
    /// That unsubscribes nobody: a bonded peripheral goes on with what it was last asked for.
    public func values(of characteristic: CBCharacteristic) -> AsyncThrowingStream<Data, any Error> {
        link.values(of: characteristic, session)
    }

    // MARK: The link

    /// Reads the link's signal strength, in dBm.
    ///
    /// - Throws: `CBError`, `BluetoothSessionError`, or `CancellationError`.
    public func readRSSI(timeout: Duration? = nil) async throws -> Int {
        let answer = try await link.perform(.strength, within: timeout) { $0.readRSSI() }
        guard case .strength(let strength) = answer else { throw CBError(.unknown) }
        return strength
    }

    /// Opens a channel to one of the peripheral's services. Hold it: one that nobody holds is closed.
    ///
    /// - Throws: `CBError`, `CBATTError`, `BluetoothSessionError`, or `CancellationError`.
    public func openL2CAPChannel(_ psm: CBL2CAPPSM, timeout: Duration? = nil) async throws -> CBL2CAPChannel {
        let answer = try await link.perform(.channel, within: timeout) { $0.openL2CAPChannel(psm) }
        guard case .channel(let channel) = answer else { throw CBError(.unknown) }
        return channel
    }
}
