import Simulation
import Testing
import VirtualRadio
import WorldSupport

/// Without a fault and with each of them.
@Suite("The wire between a host and its controller", .capturesFailures) struct WireTests {
    private let wire = SharedAir().plug("host")
    private let reset: [UInt8] = [0x01, 0x03, 0x0C, 0]
    /// Command Complete of HCI_Reset, without an error.
    private let complete: [UInt8] = [0x04, 0x0E, 4, 4, 0x03, 0x0C, 0]

    @Test("Without a fault everything passes, both ways")
    func whole() {
        #expect(wire.send(reset))
        #expect(wire.receive() == [complete])
        #expect(wire.receive() == [])
    }

    @Test("A packet that gets lost is not answered")
    func loses() {
        wire.loses = { $0.starts(with: [0x01]) }
        #expect(!wire.send(reset))
        #expect(wire.receive() == [])
    }

    @Test("A packet that is withheld never comes")
    func withholds() {
        wire.withholds = { $0.starts(with: [0x04, 0x0E]) }
        wire.send(reset)
        #expect(wire.receive() == [])
        wire.withholds = { _ in false }
        #expect(wire.receive() == [])
    }

    @Test("A packet that is delayed comes when the delay ends, and once")
    func delays() {
        wire.delays = { $0.starts(with: [0x04, 0x0E]) }
        wire.send(reset)
        #expect(wire.receive() == [])
        wire.delays = { _ in false }
        #expect(wire.receive() == [complete])
        #expect(wire.receive() == [])
    }

    @Test("Packets are rewritten, each way by its own rule")
    func rewrites() {
        // HCI_Read_BD_ADDR in place of HCI_Reset.
        wire.outgoing = { [reset] in $0 == reset ? [0x01, 0x09, 0x10, 0] : $0 }
        wire.rewrites = { Array($0.prefix(6)) }
        wire.send(reset)
        #expect(wire.receive() == [[0x04, 0x0E, 10, 4, 0x09, 0x10]])
    }

    @Test("Behind a wire that is plugged anew stands another controller of the same make")
    func replug() {
        let air = SharedAir()
        let wire = air.plug("host", ControllerConfiguration(commandCredits: 2))
        let first = wire.controller
        wire.replug()
        #expect(wire.controller != first)
        wire.send(reset)
        #expect(wire.receive().first?.dropFirst(3).first == 2)
    }
}
