import BluetoothCore
import HCI
import Testing

@testable import BluetoothHost

@Suite("Core 5.4, Vol 6, Part D, 2.1: from Reset to an adapter that can be used")
struct BringUpTests {
    /// A controller that has what it says it has, and refuses everything else.
    struct Paper {
        var commands: Set<SupportedCommands.Position> = []
        var features: LEFeatures = []
        var refused: Set<UInt16> = []
        var aclPackets: UInt8 = 8

        func answer(_ command: any HCICommand) -> (HCIErrorCode, [UInt8]) {
            if refused.contains(type(of: command).opcode.rawValue) { return (.unknownHCICommand, []) }
            return (.success, parameters(of: command))
        }

        private func parameters(of command: any HCICommand) -> [UInt8] {
            switch command {
            case is HCIReadLocalVersionInformation: [0x0D, 0, 0, 0x0D, 0, 0, 0, 0]
            case is HCIReadLocalSupportedCommands: SupportedCommands(commands).encoded
            case is HCIReadLocalSupportedFeatures: [0, 0, 0, 0, 0x60, 0, 0, 0]
            case is HCIReadBDADDR: [1, 2, 3, 4, 5, 6]
            case is HCILEReadLocalSupportedFeatures: features.encoded
            case is HCILEReadBufferSize: [251, 0, aclPackets]
            case is HCIReadBufferSize: [0xFF, 3, 0, 8, 0, 0, 0]
            case is HCILEReadMaximumDataLength: [100, 0, 0xD0, 3, 100, 0, 0xD0, 3]
            case is HCILEReadNumberOfSupportedAdvertisingSets: [5]
            case is HCILEReadMaximumAdvertisingDataLength: [0x72, 0x06]
            case is HCILEReadResolvingListSize: [6]
            case is HCILEReadFilterAcceptListSize: [4]
            default: []
            }
        }
    }

    private func run(_ controller: Paper) -> (commands: [any HCICommand], outcome: BringUp.Outcome?) {
        var bringUp = BringUp()
        var commands: [any HCICommand] = []
        while commands.count < 100 {
            commands.append(bringUp.command)
            let (status, parameters) = controller.answer(bringUp.command)
            let outcome = bringUp.completed(status, parameters)
            guard case .next = outcome else { return (commands, outcome) }
        }
        return (commands, nil)
    }

    private func opcodes(_ controller: Paper) -> Set<UInt16> {
        Set(run(controller).commands.map { type(of: $0).opcode.rawValue })
    }

    static let extended: Set<SupportedCommands.Position> = [
        .leSetAdvertisingSetRandomAddress, .leSetExtendedAdvertisingParameters, .leSetExtendedAdvertisingData,
        .leSetExtendedScanResponseData, .leSetExtendedAdvertisingEnable, .leRemoveAdvertisingSet,
        .leSetExtendedScanParameters, .leSetExtendedScanEnable, .leExtendedCreateConnection,
        .leReadNumberOfSupportedAdvertisingSets, .leReadMaximumAdvertisingDataLength,
    ]

    @Test("A controller of Core 4.0 is asked for nothing that came later")
    func old() {
        let opcodes = opcodes(Paper())
        #expect(
            opcodes == [0x0C03, 0x1001, 0x1002, 0x1003, 0x1009, 0x0C01, 0x2001, 0x2002, 0x2003, 0x200F, 0x2010])
    }

    private static let optional: [(SupportedCommands.Position, LEFeatures, UInt16)] = [
        (.leReadMaximumDataLength, [], 0x202F), (.leWriteSuggestedDefaultDataLength, [], 0x2024),
        (.leSetDefaultPHY, .le2MPHY, 0x2031), (.leReadResolvingListSize, .privacy, 0x202A),
    ]

    @Test("Each optional command is sent exactly when the controller has it", arguments: optional)
    func gated(command: SupportedCommands.Position, features: LEFeatures, opcode: UInt16) {
        #expect(opcodes(Paper(commands: [command], features: features)).contains(opcode))
        #expect(!opcodes(Paper(commands: [], features: features)).contains(opcode))
        let others = Set(Self.optional.map(\.0)).subtracting([command])
        #expect(!opcodes(Paper(commands: others, features: features)).contains(opcode))
    }

    @Test("An optional command that is refused all the same leaves an adapter", arguments: optional)
    func refused(command: SupportedCommands.Position, features: LEFeatures, opcode: UInt16) {
        let outcome = run(Paper(commands: [command], features: features, refused: [opcode])).outcome
        guard case .ready = outcome else { return #expect(Bool(false), "\(String(describing: outcome))") }
    }

    @Test(
        "A command that LE cannot do without, refused, leaves none",
        arguments: [0x0C03, 0x1001, 0x1002, 0x1003, 0x1009, 0x0C01, 0x2001, 0x2002, 0x2003, 0x200F, 0x2010] as [UInt16])
    func unsupported(opcode: UInt16) {
        guard case .unsupported = run(Paper(refused: [opcode])).outcome else { return #expect(Bool(false)) }
    }

    @Test("3.1.1: extended commands are used when every one of them is there, and none when one is missing")
    func family() throws {
        func facts(_ commands: Set<SupportedCommands.Position>, _ features: LEFeatures) throws -> ControllerFacts {
            guard case .ready(let facts) = run(Paper(commands: commands, features: features)).outcome else {
                throw HCICommandFailure.noAnswer
            }
            return facts
        }
        let all = try facts(Self.extended, .extendedAdvertising)
        #expect(all.commandFamily == .extended)
        #expect(all.advertisingSetCount == 5)
        #expect(all.advertisingDataOctets == 1650)
        #expect(all.leEventMask.isSuperset(of: [.extendedAdvertisingReport, .advertisingSetTerminated]))
        #expect(try facts(Self.extended, []).commandFamily == .legacy)
        let reading: Set<SupportedCommands.Position> = [
            .leReadNumberOfSupportedAdvertisingSets, .leReadMaximumAdvertisingDataLength,
        ]
        for missing in Self.extended.subtracting(reading) {
            let facts = try facts(Self.extended.subtracting([missing]), .extendedAdvertising)
            #expect(facts.commandFamily == .legacy, "\(missing)")
            #expect(facts.advertisingSetCount == 1)
            #expect(facts.leEventMask.isDisjoint(with: [.extendedAdvertisingReport, .advertisingSetTerminated]))
        }
    }

    @Test("The default data length is the most that the controller sends")
    func dataLength() throws {
        let controller = Paper(commands: [.leReadMaximumDataLength, .leWriteSuggestedDefaultDataLength])
        let command = run(controller).commands.compactMap { $0 as? HCILEWriteSuggestedDefaultDataLength }.first
        #expect(command == HCILEWriteSuggestedDefaultDataLength(maxTxOctets: 100, maxTxTime: 976))
    }

    @Test("7.8.2: a controller without buffers for LE shares those of BR/EDR, and no other is asked for them")
    func buffers() throws {
        #expect(opcodes(Paper(aclPackets: 0)).contains(0x1005))
        #expect(!opcodes(Paper(aclPackets: 1)).contains(0x1005))
    }

    @Test("7.8.1: events of features that the controller lacks are not asked for")
    func eventMask() {
        var facts = ControllerFacts()
        let least = facts.leEventMask
        #expect(least.isDisjoint(with: [.enhancedConnectionComplete, .phyUpdateComplete, .channelSelectionAlgorithm]))
        for (feature, event) in [
            (LEFeatures.privacy, LEEventMask.enhancedConnectionComplete), (.le2MPHY, .phyUpdateComplete),
            (.leCodedPHY, .phyUpdateComplete), (.channelSelectionAlgorithm2, .channelSelectionAlgorithm),
        ] {
            facts.features = feature
            #expect(facts.leEventMask == least.union(event))
        }
    }
}
