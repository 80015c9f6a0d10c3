import CoreBluetooth
import Testing

@Suite("Apps: what they make of errors")
struct ErrorExpectations {
    private static let timeout = NSError(domain: CBErrorDomain, code: 6)

    @Test(
        "Casts, patterns, numbers and catches find the same error, whether it is Apple's structure or an NSError",
        arguments: [
            (CBError(.connectionTimeout), .retry), (NSError(domain: CBErrorDomain, code: 6), .retry),
            (CBError(.peerRemovedPairingInformation), .forget),
            (CBATTError(.insufficientEncryption), .pair),
            (NSError(domain: CBATTErrorDomain, code: 5), .pair),
            (CBError(.invalidHandle), .giveUp), (NSError(domain: "Other", code: 6), .giveUp),
        ] as [(any Error, Advice)])
    func fourWays(error: any Error, expected: Advice) {
        #expect(advice(for: error) == expected)
        #expect(adviceByPattern(for: error) == expected)
        #expect(adviceByNumber(for: error as NSError) == expected)
        #expect(adviceByCatching { throw error } == expected)
    }

    @Test("What one way alone looks at")
    func particular() {
        #expect(advice(for: nil) == .nothing && adviceByCatching {} == .nothing)
        #expect(advice(for: CBError(.connectionLimitReached)) == .wait)
        #expect(advice(for: CBATTError(.prepareQueueFull)) == .wait)
        #expect(adviceByPattern(for: CBError(.operationCancelled)) == .nothing)
        #expect(adviceByPattern(for: CBATTError(.insufficientResources)) == .wait)
        #expect(adviceByCatching { throw CBError(.outOfSpace) } == .wait)
        #expect(adviceByCatching { throw CBATTError(.invalidOffset) } == .wait)
    }

    @Test("What users read")
    func alerts() {
        let lost = Alert(CBError(.peripheralDisconnected))
        #expect(
            lost == Alert(NSError(domain: CBErrorDomain, code: 7, userInfo: [NSLocalizedDescriptionKey: lost.message])))
        #expect(lost.title == "Connection" && lost.code == 7 && lost.message == "The device has disconnected from us.")
        let own = CBATTError(.procedureInProgress, userInfo: [NSLocalizedDescriptionKey: "Busy."])
        #expect(Alert(own).title == "Device" && Alert(own).code == 0x80 && Alert(own).message == "Busy.")
    }

    @Test("An app's own error around Apple's has its own number, and Apple's words")
    func wrapped() {
        let error = LinkError(CBError(.connectionFailed))
        #expect(error.number == 1010)
        #expect(error.localizedDescription == CBError(.connectionFailed).localizedDescription)
        #expect(LinkError(CBATTError(.invalidOffset)).number == 2007)
        #expect(LinkError(nil).number == 0)
    }

    @Test("Former names are the same errors")
    func former() {
        #expect(isUnknownDevice(CBError(.unknownDevice)) && !isUnknownDevice(CBError(.unknown)))
        #expect(FormerPeripheral().mayAdvertise)
        #expect(FormerCentral().lastRSSI == nil)
    }
}
