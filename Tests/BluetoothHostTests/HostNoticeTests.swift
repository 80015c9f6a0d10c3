import BluetoothCore
import BluetoothHost
import HCI
import SecurityManager
import Simulation
import Testing
import WorldSupport

/// What an operator can follow of a link, at both of its ends.
@Suite(.capturesFailures) struct HostNoticeTests {
    private final class Ear {
        var heard: [HostNotice] = []
        var words: [String] { heard.map(Self.word) }

        private static func word(_ notice: HostNotice) -> String {
            switch notice {
            case .connected(_, let isCentral, _, let bond):
                "connected as \(isCentral ? "central" : "peripheral")\(bond == nil ? "" : ", bonded")"
            case .rejected: "rejected"
            case .disconnected(_, let reason): "disconnected \(reason.rawValue)"
            case .encrypting: "encrypting"
            case .keyRequested(_, let isKnown): isKnown ? "key known" : "key unknown"
            case .encryption(_, let status, let isPairing):
                "encryption \(status.rawValue)\(isPairing ? ", pairing" : "")"
            case .pairingBegan: "pairing"
            case .paired: "paired"
            case .pairingFailed: "pairing failed"
            case .mtu(_, let octets): "mtu \(octets)"
            case .unproven: "unproven"
            case .advertisingRefused(let status): "advertising refused \(status.rawValue)"
            case .managerAtRest(let key): "\(key.identifier) rests"
            case .managerForgotten(let key): "\(key.identifier) forgotten"
            case .managerNotKept(let key): "\(key.identifier) not kept"
            case .controllerFault(let total): "fault \(total)"
            }
        }
    }

    private func listen(_ duo: Duo) -> [Duo.Side: Ear] {
        var ears: [Duo.Side: Ear] = [:]
        for side in Duo.Side.allCases {
            let ear = Ear()
            ears[side] = ear
            duo[side].node.call { $0.onNotice = { ear.heard.append($0) } }
        }
        return ears
    }

    @Test("A pairing, a bonded return, and a bond that one side lost can be followed step by step")
    func followed() throws {
        let duo = try Duo()
        let ears = listen(duo)
        let (central, peripheral) = (try #require(ears[.central]), try #require(ears[.peripheral]))
        try duo.bond()
        try duo.reconnect(for: [])
        _ = duo.answer(to: try duo.read(by: .central), of: .central)
        try duo.disconnect()
        #expect(
            central.words.filter { !$0.hasPrefix("mtu") } == [
                "pairing", "encryption 0, pairing", "paired", "disconnected 22", "connected as central, bonded",
                "encrypting", "encryption 0", "disconnected 22",
            ])
        #expect(
            peripheral.words.filter { !$0.hasPrefix("mtu") } == [
                "pairing", "key known", "encryption 0, pairing", "paired", "disconnected 19",
                "connected as peripheral, bonded", "key known", "encryption 0", "disconnected 19",
            ])
        #expect(central.words.contains("mtu 247"))
        #expect(
            central.words.firstIndex(of: "connected as central, bonded") ?? 9 < central.words.firstIndex(
                of: "encrypting") ?? 0)

        duo.lose(bondOf: .peripheral)
        (central.heard, peripheral.heard) = ([], [])
        try duo.connect(for: [])
        let link = try #require(duo[.central].client?.link)
        duo[.central].node.call { $0.encrypt(link.peer) }
        duo.world.run(forMilliseconds: 2_000)
        #expect(peripheral.words.contains("key unknown"))
        #expect(central.words.contains("encryption 6"))
        try duo.disconnect()
        #expect(central.words.contains("unproven"))
    }

    @Test("A controller's fault is told with their number, and told by no other name")
    func fault() throws {
        let duo = try Duo()
        let ear = try #require(listen(duo)[.central])
        let before = try #require(duo[.central].node.host).faults
        // Data Buffer Overflow: Core 5.4, Vol 4, Part E, 7.7.26.
        duo[.central].node.inject([[4, 0x1A, 1, 1], [4, 0x1A, 1, 1]])
        #expect(ear.words == ["fault \(before + 1)", "fault \(before + 2)"])
    }
}
