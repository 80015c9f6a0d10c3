import Testing

@testable import VirtualRadio

/// Parameters of a command, and how they are answered.
struct Case: Sendable {
    let parameters: [UInt8]
    let status: UInt8

    init(_ parameters: [UInt8], _ status: UInt8) {
        self.parameters = parameters
        self.status = status
    }
}

/// Parameters of the extended commands, for tests.
struct ExtendedAdvertising {
    var handle: UInt8 = 0
    var properties: UInt16 = 0x0013
    var interval: UInt32 = 0x20
    var ownType: UInt8 = 1
    var peerType: UInt8 = 1
    var peer: UInt64 = 0
    var filterPolicy: UInt8 = 0
    var txPower: UInt8 = 0x7F
    var primaryPHY: UInt8 = 1
    var secondaryPHY: UInt8 = 1
    var identifier: UInt8 = 0
    var notifies: UInt8 = 0

    var octets: [UInt8] {
        [handle] + little(UInt64(properties), 2) + little(UInt64(interval), 3) + little(UInt64(interval), 3)
            + [7, ownType, peerType] + little(peer, 6)
            + [filterPolicy, txPower, primaryPHY, 0, secondaryPHY, identifier, notifies]
    }
}

/// LE Set Extended Advertising Data and LE Set Extended Scan Response Data.
func extendedData(_ handle: UInt8, _ operation: UInt8, _ data: [UInt8]) -> [UInt8] {
    [handle, operation, 1, UInt8(data.count)] + data
}

/// As above, whole.
func extendedData(_ handle: UInt8, _ data: [UInt8]) -> [UInt8] { extendedData(handle, 3, data) }

/// LE Set Extended Advertising Enable.
func extendedEnable(_ enable: Bool, _ sets: [(handle: UInt8, duration: UInt16, events: UInt8)]) -> [UInt8] {
    [enable ? 1 : 0, UInt8(sets.count)]
        + sets.flatMap { [$0.handle] + little(UInt64($0.duration), 2) + [$0.events] }
}

func extendedScanParameters(active: Bool, interval: UInt16 = 0x10, window: UInt16 = 0x10, filterPolicy: UInt8 = 0)
    -> [UInt8]
{ [1, filterPolicy, 1, active ? 1 : 0] + little(UInt64(interval), 2) + little(UInt64(window), 2) }

func extendedScanEnable(_ enable: Bool, duplicates: UInt8 = 0, duration: UInt16 = 0, period: UInt16 = 0) -> [UInt8] {
    [enable ? 1 : 0, duplicates] + little(UInt64(duration), 2) + little(UInt64(period), 2)
}

/// To a random address; nil for the accept list. One connection interval for each PHY.
func extendedCreateConnection(_ peer: UInt64?, phys: UInt8 = 1, intervals: [UInt16] = [6], ownType: UInt8 = 1)
    -> [UInt8]
{
    [peer == nil ? 1 : 0, ownType, 1] + little(peer ?? 0, 6) + [phys]
        + intervals.flatMap { interval -> [UInt8] in
            little(0x10, 2) + little(0x10, 2) + little(UInt64(interval), 2) + little(UInt64(interval), 2)
                + little(0, 2) + little(100, 2) + little(0, 4)
        }
}

/// LE Extended Advertising Report at 1 m, from a random address.
func extendedReport(
    _ eventType: UInt16, _ address: UInt64, _ data: [UInt8], secondaryPHY: UInt8 = 0, identifier: UInt8 = 0xFF,
    txPower: UInt8 = 0x7F, target: UInt64? = nil
) -> String {
    "043E" + hex([UInt8(26 + data.count), 0x0D, 1]) + hex(UInt64(eventType), 2) + "01" + hex(address, 6)
        + hex([1, secondaryPHY, identifier, txPower, UInt8(bitPattern: -50), 0, 0])
        + (target.map { "01" + hex($0, 6) } ?? "00000000000000") + hex([UInt8(data.count)] + data)
}

/// LE Advertising Set Terminated.
func advertisingSetTerminated(_ status: UInt8, _ handle: UInt8, connection: UInt16 = 0, events: UInt8) -> String {
    "043E0612" + hex([status, handle]) + hex(UInt64(connection), 2) + hex([events])
}

extension OctetWorld {
    static let everything: UInt64 = .max

    /// A host that hears everything.
    mutating func extendedHost(
        _ address: UInt64, _ configuration: ControllerConfiguration = ControllerConfiguration()
    ) -> ControllerID { host(address, configuration, leMask: Self.everything) }

    /// Makes an advertising set with the random address given and enables it.
    mutating func advertise(
        _ controller: ControllerID, _ address: UInt64, _ parameters: ExtendedAdvertising, data: [UInt8]? = [2, 1, 6],
        scanResponse: [UInt8]? = nil, duration: UInt16 = 0, events: UInt8 = 0
    ) {
        succeed(Opcode.leSetExtendedAdvertisingParameters, parameters.octets, controller)
        succeed(Opcode.leSetAdvertisingSetRandomAddress, [parameters.handle] + little(address, 6), controller)
        if let data { succeed(Opcode.leSetExtendedAdvertisingData, extendedData(parameters.handle, data), controller) }
        if let scanResponse {
            succeed(
                Opcode.leSetExtendedScanResponseData, extendedData(parameters.handle, scanResponse), controller)
        }
        succeed(
            Opcode.leSetExtendedAdvertisingEnable, extendedEnable(true, [(parameters.handle, duration, events)]),
            controller)
    }

    mutating func extendedScan(
        _ controller: ControllerID, active: Bool = false, duplicates: UInt8 = 1, filterPolicy: UInt8 = 0
    ) {
        succeed(
            Opcode.leSetExtendedScanParameters, extendedScanParameters(active: active, filterPolicy: filterPolicy),
            controller)
        succeed(Opcode.leSetExtendedScanEnable, extendedScanEnable(true, duplicates: duplicates), controller)
    }
}
