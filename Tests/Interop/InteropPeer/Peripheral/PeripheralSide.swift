import BluetoothHost
import CoreBluetoothEssentials
import DaemonControl
import FoundationEssentials

/// A peripheral manager, what it publishes and who reads and writes it.
final class PeripheralSide: Side {
    let voice: Voice
    let channels: ChannelSide
    let host: Host
    private(set) var manager: CBPeripheralManager?
    var tree = LocalTree()
    private var centrals: [String: CBCentral] = [:]
    /// Requests that wait for the script.
    private var waiting: [Int64: [CBATTRequest]] = [:]
    private var nextRequest: Int64 = 1

    init(_ bluetooth: CBHost, _ host: Host, _ voice: Voice, _ channels: ChannelSide, restoreIdentifier: String?) {
        self.voice = voice
        self.channels = channels
        self.host = host
        manager = CBPeripheralManager(
            callbacks: self, delivery: .inline,
            options: restoreIdentifier.map { [CBPeripheralManagerOptionRestoreIdentifierKey: $0] }, host: bluetooth)
    }

    var commands: [String: Command] {
        let all = [publishingCommands, valueCommands, linkCommands]
        return all.reduce(into: [:]) { merged, some in merged.merge(some) { first, _ in first } }
    }

    @discardableResult
    func meet(_ central: CBCentral) -> JSONValue {
        centrals[central.identifier.uuidString] = central
        return JSONValue(central)
    }

    func central(_ identifier: String) throws(Refusal) -> CBCentral {
        guard let central = centrals[identifier] else { throw Refusal("no central \(identifier) is known") }
        return central
    }

    /// Keeps requests that belong together until the script answers; their number.
    func wait(_ requests: [CBATTRequest]) -> Int64 {
        defer { nextRequest += 1 }
        waiting[nextRequest] = requests
        return nextRequest
    }

    func takeRequests(_ number: Int64) throws(Refusal) -> [CBATTRequest] {
        guard let requests = waiting.removeValue(forKey: number) else { throw Refusal("no request \(number) waits") }
        return requests
    }
}
