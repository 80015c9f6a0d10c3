/// One thing that is fuzzed: octets in, and either nothing happens or it traps.
package struct FuzzTarget: Sendable {
    /// Names its seeds, its corpus and its failures: `Fuzz/Seeds/NAME`.
    package let name: String
    package let run: @Sendable ([UInt8]) -> Void

    init(_ name: String, _ run: @escaping @Sendable ([UInt8]) -> Void) {
        self.name = name
        self.run = run
    }

    /// What a peer, a controller, an operator or a damaged disk writes, read by itself.
    private static let parsers: [FuzzTarget] = [
        FuzzTarget("h4-deframer", fuzzH4Deframer),
        FuzzTarget("hci-event", fuzzHCIEvent),
        FuzzTarget("hci-command", fuzzHCICommand),
        FuzzTarget("l2cap-recombiner", fuzzRecombiner),
        FuzzTarget("l2cap-frame", fuzzL2CAPFrame),
        FuzzTarget("att-pdu", fuzzATTPDU),
        FuzzTarget("advertising-data", fuzzAdvertisingData),
        FuzzTarget("smp-pdu", fuzzSMPPDU),
        FuzzTarget("setup-code", fuzzSetupCode),
        FuzzTarget("lock-codec", fuzzLockCodec),
        FuzzTarget("schedule-text", fuzzScheduleText),
        FuzzTarget("control-line", fuzzControlLine),
        FuzzTarget("configuration", fuzzConfiguration),
        FuzzTarget("btsnoop", fuzzBTSnoop),
        FuzzTarget("stored-tree", fuzzStoredTree),
        FuzzTarget("bolt-journal", fuzzBoltJournal),
        FuzzTarget("virtual-radio", fuzzVirtualRadio),
        FuzzTarget("advertisement-assembler", fuzzAdvertisementAssembler),
        FuzzTarget("radio-control", fuzzRadioControl),
        FuzzTarget("transport-address", fuzzTransportAddress),
        FuzzTarget("h4-resynchroniser", fuzzH4Resynchroniser),
    ]

    /// The input is a sequence of events.
    private static let machines: [FuzzTarget] = [
        FuzzTarget("hci-stream", fuzzHCIStream),
        FuzzTarget("recovery", fuzzRecovery),
        FuzzTarget("bring-up", fuzzBringUp),
        FuzzTarget("gap-machines", fuzzGAPMachines),
        FuzzTarget("command-queue", fuzzCommandQueue),
        FuzzTarget("acl-send-queue", fuzzACLSendQueue),
        FuzzTarget("le-signalling", fuzzLESignalling),
        FuzzTarget("logical-link", fuzzLogicalLink),
        FuzzTarget("att-bearer", fuzzATTBearer),
        FuzzTarget("gatt-endpoint", fuzzGATTEndpoint),
        FuzzTarget("pairing", fuzzPairing),
        FuzzTarget("pairing-negotiated", fuzzNegotiatedPairing),
        FuzzTarget("lock-machine", fuzzLockMachine),
        FuzzTarget("lock-enrolment", fuzzLockEnrolment),
        FuzzTarget("key-machine", fuzzKeyMachine),
        FuzzTarget("key-enrolment", fuzzKeyEnrolment),
        FuzzTarget("host", fuzzHost),
        FuzzTarget("strike", fuzzStrike),
        FuzzTarget("bluez", fuzzBlueZ),
    ]

    package static let all = parsers + machines
}
