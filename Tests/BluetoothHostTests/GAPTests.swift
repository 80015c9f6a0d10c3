import BluetoothCore
import BluetoothCrypto
import HCI
import SecurityManager
import Simulation
import Testing
import WorldSupport

@testable import BluetoothHost

/// GAP as a value: nothing but it, a controller that answers, and a clock that the test turns.
@Suite struct GAPTests {
    let identity = DeviceAddress(kind: .random, bits: 0xC000_0000_00FF)
    let alice = DeviceAddress(kind: .random, bits: 0xC000_0000_0001)
    let bob = DeviceAddress(kind: .random, bits: 0xC000_0000_0002)
    /// What a player of recorded advertisements uses, or alice herself under a private address.
    let elsewhere = DeviceAddress(kind: .random, bits: 0x4000_0000_0003)

    /// The value and its surroundings, and what the controller was told, in order.
    struct Bench {
        var gap: GAP
        var wishes = GAP.Wishes()
        var now = Instant(nanoseconds: 1_000_000_000)
        var random: any RandomSource = SeededRandom(seed: 7)
        var told: [String] = []
        var started: [(ManagerID, Int)] = []
        var refused: [HCIErrorCode] = []
        /// Commands that wait for their answer.
        var open: [GAP.Machine] = []
        /// What the next answers say.
        var status = HCIErrorCode.success

        mutating func happens(_ event: GAP.Event) {
            var outputs: [GAP.Output] = []
            gap.handle(event, now: now, into: &outputs)
            take(outputs)
        }

        mutating func settle() {
            var outputs: [GAP.Output] = []
            gap.settle(wishes, now: now, random: &random, into: &outputs)
            take(outputs)
        }

        /// Answers and settles until nothing is left to do.
        mutating func rest() {
            settle()
            var rounds = 0
            while !open.isEmpty, rounds < 200 {
                rounds += 1
                happens(.answered(open.removeFirst(), status))
                settle()
            }
        }

        private mutating func take(_ outputs: [GAP.Output]) {
            for output in outputs {
                switch output {
                case .command(let command, let machine):
                    told.append(String(describing: type(of: command)))
                    open.append(machine)
                case .advertisingAnswered, .controllerStuck: break
                case .advertisingStarted(let manager, let times): started.append((manager, times))
                case .advertisingRefused(let status): refused.append(status)
                }
            }
        }
    }

    func bench(ready: Bool = true) throws -> Bench {
        let address = try #require(IdentityAddress(identity))
        var irk = [UInt8](repeating: 0x5A, count: 16)
        let gap = GAP(
            HostConfiguration(deviceName: "door"),
            identity: LocalIdentity(address: address, irk: Secret(wiping: &irk)))
        var bench = Bench(gap: gap)
        bench.wishes.identity = identity
        guard ready else { return bench }
        var facts = ControllerFacts()
        facts.acceptListCapacity = 4
        bench.happens(.controllerReady(facts))
        return bench
    }

    func connection(_ address: DeviceAddress, link: GAP.Wishes.Connection.Link = .none) -> GAP.Wishes.Connection {
        GAP.Wishes.Connection(address: address, isPrivate: false, resolving: nil, link: link)
    }

    func owner() -> RestorationLedger.Owner {
        var ledger = RestorationLedger([:])
        return ledger.register(role: .peripheral, identifier: nil).owner
    }

    @Test("Without a controller nothing is sent, whatever is wanted; with one, all of it is, the address first")
    func controller() throws {
        var bench = try bench(ready: false)
        bench.wishes.connections = [connection(alice)]
        bench.wishes.scans = [ScanRecord(services: [], allowDuplicates: false)]
        bench.happens(.wishesChanged)
        bench.rest()
        #expect(bench.told == [])
        #expect(!bench.gap.isUnsettled, "what cannot be done now is not asked for again and again")

        bench.happens(.controllerReady(ControllerFacts()))
        bench.rest()
        #expect(
            bench.told == [
                "HCILESetRandomAddress", "HCILESetScanParameters", "HCILECreateConnection", "HCILESetScanEnable",
            ])
        #expect(bench.gap.ownAddress.told == identity)

        bench.happens(.controllerLost)
        bench.told = []
        bench.happens(.controllerReady(ControllerFacts()))
        bench.rest()
        #expect(bench.told.count == 4, "a controller that was reset is told everything again")
    }

    @Test(
        "The accept list is filled without a comparison for each of its places, unless something else has changed meanwhile"
    )
    func acceptList() throws {
        let fill = "HCILEAddDeviceToFilterAcceptList"
        var bench = try bench()
        bench.wishes.connections = [alice, bob, elsewhere].map { connection($0) }
        bench.settle()
        bench.happens(.answered(.ownAddress, .success))
        bench.settle()
        #expect(bench.told.suffix(1) == [fill])
        bench.happens(.answered(.initiator, .success))
        #expect(bench.told.suffix(2) == [fill, fill])
        #expect(!bench.gap.isUnsettled && !bench.gap.isAnswered)

        bench.happens(.wishesChanged)
        bench.happens(.answered(.initiator, .success))
        #expect(bench.told.filter { $0 == fill }.count == 2, "who is wanted now is looked at first")
        bench.wishes.connections.removeLast()
        bench.settle()
        #expect(bench.told.filter { $0 == fill }.count == 2)
        #expect(bench.told.last == "HCILECreateConnection")
        #expect(!bench.gap.isAnswered)
        bench.happens(.answered(.initiator, .success))
        #expect(bench.gap.isUnsettled && !bench.gap.isAnswered)
        bench.settle()
        #expect(bench.gap.isAnswered, "and now the controller does what is wanted")
    }

    @Test("A place in the accept list that is refused is not followed by another before it is asked again")
    func acceptListRefused() throws {
        var bench = try bench()
        bench.wishes.connections = [alice, bob].map { connection($0) }
        bench.settle()
        bench.happens(.answered(.ownAddress, .success))
        bench.settle()
        let told = bench.told
        bench.happens(.answered(.initiator, .hardwareFailure))
        bench.settle()
        #expect(bench.told == told)
        #expect(bench.gap.isAnswered, "it has refused")
    }

    @Test("A controller that takes fewer into its accept list than it says connects them, and listens for the others")
    func acceptListShorterThanAnnounced() throws {
        var bench = try bench()
        bench.wishes.connections = [alice, bob, elsewhere].map { connection($0) }
        bench.settle()
        bench.happens(.answered(.ownAddress, .success))
        bench.settle()
        bench.happens(.answered(.initiator, .success))
        bench.happens(.answered(.initiator, .success))
        bench.told = []
        bench.open = []
        bench.happens(.answered(.initiator, .memoryCapacityExceeded))
        bench.rest()
        #expect(bench.told == ["HCILESetScanParameters", "HCILECreateConnection", "HCILESetScanEnable"])
        #expect(bench.gap.isAnswered)
    }

    /// Every event, and whether it asks for the wishes to be looked at.
    static let events: [(String, GAP.Event, Bool)] = {
        let peer = DeviceAddress(kind: .random, bits: 0xC000_0000_0001)
        var ledger = RestorationLedger([:])
        let owner = ledger.register(role: .peripheral, identifier: nil).owner
        let manager = ManagerID(rawValue: 1)
        return [
            ("controllerLost", .controllerLost, false),
            ("controllerReady", .controllerReady(ControllerFacts()), true),
            ("answered", .answered(.scanner, .success), true),
            ("wishesChanged", .wishesChanged, true),
            ("scanBegun", .scanBegun, true),
            ("advertisingAsked", .advertisingAsked(manager, owner), true),
            ("advertisingWithdrawn", .advertisingWithdrawn(manager), true),
            ("linkMade as central", .linkMade(.central), true),
            ("linkMade as peripheral", .linkMade(.peripheral), true),
            ("linkFailed", .linkFailed(.connectionTimeout), true),
            ("setTerminated", .setTerminated(LEAdvertisingHandle(rawValue: 9)), true),
            ("heard, whom nobody wants", .heard(peer: peer, onAir: peer), false),
            ("unproven", .unproven(peer: peer, at: peer), true),
            ("proven, whom nobody contests", .proven(peer: peer, at: peer), false),
            ("roomMade", .roomMade, true),
            ("timerFired, with nothing due", .timerFired, false),
        ]
    }()

    @Test("Every event in every state of the controller: what may change the air is looked at once, and comes to rest")
    func stateByInput() throws {
        for (name, event, isNews) in Self.events {
            for isReady in [false, true] {
                for isAnswering in [false, true] where isReady || !isAnswering {
                    var bench = try bench(ready: isReady)
                    bench.wishes.connections = [connection(bob)]
                    bench.wishes.scans = [ScanRecord(services: [], allowDuplicates: false)]
                    // Commands are on their way, or all were answered.
                    if isAnswering { bench.settle() } else { bench.rest() }
                    bench.happens(event)
                    #expect(bench.gap.isUnsettled == isNews, "\(name), ready: \(isReady), answering: \(isAnswering)")
                    bench.rest()
                    #expect(!bench.gap.isUnsettled)
                    let told = bench.told.count
                    bench.rest()
                    #expect(bench.told.count == told, "\(name): what is as it is wanted costs no command")
                }
            }
        }
    }

    @Test("A link on its way out keeps its peer waiting, but for one that is contested")
    func ending() throws {
        var bench = try bench()
        bench.wishes.connections = [connection(alice, link: .ending)]
        bench.rest()
        #expect(bench.gap.initiator.wanted == [])
        bench.happens(.unproven(peer: alice, at: alice))
        bench.rest()
        #expect(bench.gap.initiator.wanted == [alice])
        bench.wishes.connections = [connection(alice, link: .standing)]
        bench.happens(.wishesChanged)
        bench.rest()
        #expect(bench.gap.initiator.wanted == [])
    }

    @Test("A contested peer that proves itself is in the list again at once")
    func provenAgain() throws {
        var bench = try bench()
        bench.wishes.connections = [connection(alice)]
        bench.happens(.unproven(peer: alice, at: elsewhere))
        bench.rest()
        #expect(bench.gap.initiator.contested == [alice])
        bench.happens(.proven(peer: alice, at: alice))
        #expect(bench.gap.isUnsettled)
        bench.rest()
        #expect(bench.gap.initiator.contested == [])
    }

    @Test("A contested peer is in no list; it is connected to where it is heard, and not where a link stands already")
    func contested() throws {
        var bench = try bench()
        bench.wishes.connections = [connection(alice)]
        bench.rest()
        bench.happens(.unproven(peer: alice, at: elsewhere))
        bench.rest()
        #expect(bench.told.last == "HCILESetScanEnable", "it is listened for")
        bench.wishes.addressesWithLinks = [elsewhere]
        bench.happens(.wishesChanged)
        bench.settle()
        bench.happens(.heard(peer: alice, onAir: elsewhere))
        #expect(!bench.gap.isUnsettled)
        bench.happens(.heard(peer: alice, onAir: alice))
        #expect(bench.gap.isUnsettled)
    }

    @Test("The private address is another one after its time, and the identity address while a window is open")
    func privacy() throws {
        var bench = try bench()
        bench.wishes.showsIdentity = false
        bench.happens(.wishesChanged)
        bench.rest()
        let first = try #require(bench.gap.ownAddress.told)
        #expect(first != identity)
        let rotation = try #require(bench.gap.deadline)
        bench.now = rotation
        bench.happens(.timerFired)
        bench.rest()
        let second = try #require(bench.gap.ownAddress.told)
        #expect(second != first && second != identity)
        bench.wishes.showsIdentity = true
        bench.happens(.wishesChanged)
        bench.rest()
        #expect(bench.gap.ownAddress.told == identity)
        bench.wishes.showsIdentity = false
        bench.happens(.wishesChanged)
        bench.rest()
        #expect(bench.gap.ownAddress.told != second, "whoever heard both would know whose it was")
    }

    @Test(
        "What the controller refuses is asked of it again when its time has come, or when there is room, and not before"
    )
    func refused() throws {
        for isRoomMade in [false, true] {
            var bench = try bench()
            bench.wishes.scans = [ScanRecord(services: [], allowDuplicates: false)]
            bench.rest()
            bench.status = .commandDisallowed
            bench.happens(.scanBegun)
            bench.rest()
            let told = bench.told.count
            let due = try #require(bench.gap.deadline)
            #expect(due == bench.now.advanced(byMilliseconds: GAP.retryMilliseconds))
            bench.status = .success
            bench.happens(.wishesChanged)
            bench.rest()
            #expect(bench.told.count == told)
            if isRoomMade { bench.happens(.roomMade) } else { bench.now = due }
            bench.happens(.timerFired)
            bench.rest()
            #expect(bench.told.count > told)
            #expect(bench.gap.deadline == nil)
        }
    }

    @Test(
        "Whoever asks to advertise hears of it once for each time, when it is on the air, and not after taking it back")
    func advertising() throws {
        var bench = try bench()
        let (door, owner) = (ManagerID(rawValue: 1), owner())
        bench.wishes.advertisements = [.init(owner: owner, payload: Advertiser.Payload(data: [2, 1, 6]))]
        bench.happens(.advertisingAsked(door, owner))
        bench.happens(.advertisingAsked(door, owner))
        bench.settle()
        #expect(bench.started.isEmpty)
        bench.rest()
        #expect(bench.started.map(\.0) == [door] && bench.started.map(\.1) == [2])
        bench.happens(.advertisingAsked(door, owner))
        bench.rest()
        #expect(bench.started.map(\.1) == [2, 1], "on the air already: told at once")

        bench.wishes.advertisements = [.init(owner: owner, payload: Advertiser.Payload(data: [2, 1, 4]))]
        bench.happens(.advertisingAsked(door, owner))
        bench.settle()
        bench.happens(.advertisingWithdrawn(door))
        bench.rest()
        #expect(bench.started.count == 2)
    }

    @Test("Refused, advertising has started once the controller takes it, or never when it is taken back before")
    func refusedAdvertising() throws {
        for isWithdrawn in [false, true] {
            var bench = try bench()
            bench.rest()
            let (door, owner) = (ManagerID(rawValue: 1), owner())
            bench.wishes.advertisements = [.init(owner: owner, payload: Advertiser.Payload(data: [2, 1, 6]))]
            bench.status = .commandDisallowed
            bench.happens(.advertisingAsked(door, owner))
            bench.rest()
            #expect(bench.started.isEmpty && bench.refused == [.commandDisallowed])
            bench.now = try #require(bench.gap.deadline)
            bench.happens(.timerFired)
            bench.rest()
            #expect(bench.started.isEmpty && bench.refused.count == 1, "told once")
            bench.status = .success
            if isWithdrawn {
                bench.wishes.advertisements = []
                bench.happens(.advertisingWithdrawn(door))
            }
            bench.now = try #require(bench.gap.deadline)
            bench.happens(.timerFired)
            bench.rest()
            #expect(bench.started.map(\.1) == (isWithdrawn ? [] : [1]))
        }
    }
}
