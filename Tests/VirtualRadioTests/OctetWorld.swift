import Simulation
import Testing
import WorldSupport

@testable import VirtualRadio

/// An air without a stack on it, and what the hosts there do and see, in hexadecimal.
struct OctetWorld {
    private let air: SharedAir
    private var wires: [ControllerID: Wire] = [:]

    init(
        _ pacing: AirConfiguration.Pacing = .paced, seed: UInt64 = 1, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        air = SharedAir(AirConfiguration(pacing: pacing, seed: seed), sourceLocation: sourceLocation)
    }

    var radio: VirtualRadio {
        get { air.radio }
        _modify { yield &air.radio }
    }

    mutating func addController(_ configuration: ControllerConfiguration = ControllerConfiguration()) -> ControllerID {
        let wire = air.plug(nil, configuration)
        wires[wire.controller] = wire
        return wire.controller
    }

    /// A controller whose host has reset it, has opened its event masks, and has set its static random address. By
    /// default it hears of LE what Core 4.1 has, and LE Data Length Change.
    mutating func host(
        _ address: UInt64, _ configuration: ControllerConfiguration = ControllerConfiguration(), leMask: UInt64 = 0x5F
    ) -> ControllerID {
        let controller = addController(configuration)
        bringUp(controller, address, leMask: leMask)
        return controller
    }

    mutating func bringUp(_ controller: ControllerID, _ address: UInt64, leMask: UInt64 = 0x5F) {
        _ = drainTimed(controller)
        for (opcode, parameters) in [
            (Opcode.reset, [UInt8]()), (Opcode.setEventMask, [UInt8](repeating: 0xFF, count: 8)),
            (Opcode.leSetEventMask, little(leMask, 8)),
            (Opcode.leSetRandomAddress, little(address, 6)),
        ] {
            #expect(command(opcode, parameters, controller) == [complete(opcode)])
        }
    }

    /// Sends one command and takes everything that the host has to read then.
    mutating func command(_ opcode: UInt16, _ parameters: [UInt8] = [], _ controller: ControllerID) -> [String] {
        send([1] + little(UInt64(opcode), 2) + [UInt8(parameters.count)] + parameters, from: controller)
        return read(controller)
    }

    /// As `command`, for one that is to succeed.
    mutating func succeed(
        _ opcode: UInt16, _ parameters: [UInt8] = [], _ controller: ControllerID,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let answer = command(opcode, parameters, controller).first ?? ""
        let succeeded = answer == status(opcode) || answer.hasPrefix("040E") && octets(answer).dropFirst(6).first == 0
        #expect(succeeded, "\(answer)", sourceLocation: sourceLocation)
    }

    mutating func send(_ packet: String, _ controller: ControllerID) { send(octets(packet), from: controller) }

    mutating func send(_ packet: [UInt8], from controller: ControllerID) { wires[controller]?.send(packet) }

    mutating func read(_ controller: ControllerID) -> [String] { drainTimed(controller).map { hex($0.octets) } }

    mutating func drainTimed(_ controller: ControllerID) -> [(instant: UInt64, octets: [UInt8])] {
        wires[controller]?.receiveTimed() ?? []
    }

    mutating func advance(milliseconds: UInt64) {
        radio.advance(toNanoseconds: radio.now + milliseconds * 1_000_000)
    }

    // MARK: Scenes

    mutating func advertise(
        _ controller: ControllerID, type: UInt8 = 0, interval: UInt16 = 0x20, filterPolicy: UInt8 = 0,
        peer: UInt64 = 0, ownType: UInt8 = 1, data: [UInt8] = [2, 1, 6]
    ) {
        succeed(
            Opcode.leSetAdvertisingParameters,
            advertisingParameters(
                type: type, interval: interval, filterPolicy: filterPolicy, peer: peer, ownType: ownType), controller)
        succeed(Opcode.leSetAdvertisingData, padded(data), controller)
        succeed(Opcode.leSetAdvertisingEnable, [1], controller)
    }

    /// Connects two hosts and takes their LE Connection Complete events; the handles of central and peripheral.
    mutating func connect(
        _ central: ControllerID, _ peripheral: ControllerID, to address: UInt64, interval: UInt16 = 6,
        latency: UInt16 = 0, timeout: UInt16 = 100
    ) -> (central: UInt16, peripheral: UInt16) {
        advertise(peripheral)
        succeed(
            Opcode.leCreateConnection,
            createConnection(address, interval: interval, latency: latency, timeout: timeout), central)
        advance(milliseconds: 60)
        return (handle(read(central)), handle(read(peripheral)))
    }

    private func handle(_ events: [String]) -> UInt16 {
        guard let event = events.first(where: { $0.hasPrefix("043E1301" + "00") }) else {
            Issue.record("no connection in \(events)")
            return 0xFFFF
        }
        let bytes = octets(event)
        return UInt16(bytes[5]) | UInt16(bytes[6]) << 8
    }
}

// MARK: Octets

func little(_ value: UInt64, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) }
}

func padded(_ data: [UInt8]) -> [UInt8] {
    [UInt8(data.count)] + data + [UInt8](repeating: 0, count: 31 - data.count)
}

func hex(_ octets: some Sequence<UInt8>) -> String {
    octets.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined()
}

func hex(_ value: UInt64, _ count: Int) -> String { hex(little(value, count)) }

/// Spaces are for the reader.
func octets(_ text: String) -> [UInt8] {
    let digits = text.utf8.filter { $0 != 0x20 }.compactMap { UInt8(String(UnicodeScalar($0)), radix: 16) }
    return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

func packed(_ text: String) -> String { hex(octets(text)) }

/// Num_HCI_Command_Packets, as controllers have it by default.
let credits: UInt8 = 4

func complete(_ opcode: UInt16, _ status: UInt8 = 0, _ returns: String = "") -> String {
    let rest = packed(returns)
    return "040E" + hex([UInt8(4 + rest.count / 2), credits]) + hex(UInt64(opcode), 2) + hex([status]) + rest
}

func status(_ opcode: UInt16, _ status: UInt8 = 0) -> String {
    "040F04" + hex([status, credits]) + hex(UInt64(opcode), 2)
}

func disconnected(_ handle: UInt16, _ reason: UInt8) -> String { "04050400" + hex(UInt64(handle), 2) + hex([reason]) }

func completed(_ handle: UInt16, _ count: UInt16) -> String {
    "04130501" + hex(UInt64(handle), 2) + hex(UInt64(count), 2)
}

func encryptionChange(_ handle: UInt16, status: UInt8 = 0, on: Bool = true) -> String {
    "040804" + hex([status]) + hex(UInt64(handle), 2) + hex([on ? 1 : 0])
}

/// ACL data as hosts send it (flags 0 or 1) and get it (flags 2 or 1).
func data(_ handle: UInt16, flags: UInt16, _ payload: [UInt8]) -> String {
    "02" + hex(UInt64(handle | flags << 12), 2) + hex(UInt64(payload.count), 2) + hex(payload)
}

// MARK: Parameters

func advertisingParameters(
    type: UInt8 = 0, interval: UInt16 = 0x20, filterPolicy: UInt8 = 0, peer: UInt64 = 0, ownType: UInt8 = 1
) -> [UInt8] {
    little(UInt64(interval), 2) + little(UInt64(interval), 2) + [type, ownType, 1] + little(peer, 6) + [
        7, filterPolicy,
    ]
}

func scanParameters(active: Bool, interval: UInt16 = 0x10, window: UInt16 = 0x10, filterPolicy: UInt8 = 0) -> [UInt8] {
    [active ? 1 : 0] + little(UInt64(interval), 2) + little(UInt64(window), 2) + [1, filterPolicy]
}

/// To a random address; nil for the accept list.
func createConnection(
    _ peer: UInt64?, interval: UInt16 = 6, latency: UInt16 = 0, timeout: UInt16 = 100, ownType: UInt8 = 1
) -> [UInt8] {
    little(0x10, 2) + little(0x10, 2) + [peer == nil ? 1 : 0, 1] + little(peer ?? 0, 6) + [ownType]
        + little(UInt64(interval), 2) + little(UInt64(interval), 2) + little(UInt64(latency), 2)
        + little(UInt64(timeout), 2) + little(0, 4)
}
