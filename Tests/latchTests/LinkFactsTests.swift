import BluetoothHost
import DaemonControl
import HCI
import Testing

@testable import latch

@Suite("What status says of a link")
struct LinkFactsTests {
    @Test("at first: what the connection began with, and nothing of the peer")
    func fresh() {
        let parameters = LELinkParameters(connectionInterval: 24, peripheralLatency: 3, supervisionTimeout: 200)
        let text = JSONValue.object(LinkFacts(parameters).json).text
        #expect(
            text == """
                {"interval_us":30000,"latency":3,"timeout_ms":2000,"tx_phy":"LE 1M","rx_phy":"LE 1M","tx_octets":27,\
                "rx_octets":27}
                """)
    }

    @Test("later: PHYs, data length and the peer's version")
    func learned() {
        var facts = LinkFacts()
        facts.txPHY = .le2M
        facts.rxPHY = .leCoded
        facts.txDataLength = DataLength(octets: 251, microseconds: 2120)
        facts.version = LinkFacts.Version(core: .v5_4, companyIdentifier: 0xFFFF, subversion: 7)
        let fields = facts.json
        #expect(fields["tx_phy"] == "LE 2M" && fields["rx_phy"] == "LE Coded")
        #expect(fields["tx_octets"] == 251 && fields["rx_octets"] == 27)
        #expect(fields["peer_core"] == "5.4" && fields["peer_company"] == 0xFFFF && fields["peer_subversion"] == 7)
        facts.version?.core = CoreVersion(rawValue: 0x7F)
        #expect(facts.json["peer_core"] == "version 127")
    }
}
