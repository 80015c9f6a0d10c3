import BluetoothCore
import BluetoothHost
import HCI
import Simulation
import Testing
import WorldSupport

/// What the suites of the initiator share: three peers, and a controller that does everything that it is told.
protocol InitiatorSuite {}

extension InitiatorSuite {
    var alice: DeviceAddress { DeviceAddress(kind: .random, bits: 0xC000_0000_0001) }
    var bob: DeviceAddress { DeviceAddress(kind: .random, bits: 0xC000_0000_0002) }
    var carol: DeviceAddress { DeviceAddress(kind: .random, bits: 0xC000_0000_0003) }
    var start: Instant { Instant(nanoseconds: 0) }

    func accept(_ initiator: inout Initiator, limit: Int = 20) -> [Initiator.Action] {
        var actions: [Initiator.Action] = []
        while actions.count < limit, let action = initiator.next() {
            actions.append(action)
            initiator.completed(.success, now: start)
        }
        return actions
    }
}

@Suite struct InitiatorTests: InitiatorSuite {
    @Test("One peer is connected by its address")
    func single() {
        var initiator = Initiator(acceptListCapacity: 8)
        initiator.want([alice])
        #expect(accept(&initiator) == [.connect(alice)])
    }

    @Test("One whom the controller resolves is connected by the accept list, and listened for only until it does")
    func resolved() {
        var initiator = Initiator(acceptListCapacity: 8)
        initiator.want([alice])
        initiator.privatePeers = [alice]
        #expect(initiator.needsScan)
        #expect(accept(&initiator) == [.connect(alice)])
        initiator.resolvedPeers = [alice]
        #expect(!initiator.needsScan)
        #expect(accept(&initiator) == [.cancel])
        initiator.connectionComplete()
        #expect(accept(&initiator) == [.addToAcceptList(alice), .connectByAcceptList])
        initiator.privatePeers = [alice, bob]
        #expect(initiator.needsScan)
    }

    @Test(
        "Core 5.4, Vol 4, Part E, 7.8.13: a cancelled attempt ends by its Connection Complete; a controller that owes it is found out"
    )
    func cancelled() {
        var initiator = Initiator(acceptListCapacity: 8)
        initiator.want([alice])
        _ = accept(&initiator)
        initiator.want([])
        #expect(initiator.deadline == nil)
        #expect(accept(&initiator) == [.cancel])
        let due = start.advanced(byMilliseconds: Initiator.cancelledMilliseconds)
        #expect(initiator.deadline == due)
        #expect(!initiator.isEndOverdue(now: start) && initiator.isEndOverdue(now: due))
        initiator.connectionComplete(.unknownConnectionIdentifier)
        #expect(initiator.deadline == nil && !initiator.isEndOverdue(now: due))

        // What was cancelled too late, or is forgotten with its controller, owes nothing.
        initiator.want([alice])
        _ = accept(&initiator)
        initiator.want([])
        #expect(initiator.next() == .cancel)
        initiator.connectionComplete()
        initiator.completed(.success, now: start)
        #expect(initiator.deadline == nil)
        initiator.want([alice])
        _ = accept(&initiator)
        initiator.want([])
        _ = accept(&initiator)
        initiator.reset(acceptListCapacity: 8)
        #expect(initiator.deadline == nil && !initiator.isEndOverdue(now: due))
    }

    @Test("Several are connected by the filter accept list")
    func several() {
        var initiator = Initiator(acceptListCapacity: 8)
        initiator.want([alice, bob])
        #expect(accept(&initiator) == [.addToAcceptList(alice), .addToAcceptList(bob), .connectByAcceptList])
    }

    @Test("Core 5.4, Vol 4, Part E, 7.8.16: the list is changed only while nobody is initiating")
    func change() {
        var initiator = Initiator(acceptListCapacity: 8)
        initiator.want([alice, bob])
        _ = accept(&initiator)
        initiator.want([bob, carol])
        #expect(accept(&initiator) == [.cancel])
        #expect(initiator.next() == nil, "the cancelled attempt has not ended")
        initiator.connectionComplete()
        #expect(
            accept(&initiator) == [.removeFromAcceptList(alice), .addToAcceptList(carol), .connectByAcceptList])
    }

    @Test("The longest asked come first when the list is too short for all")
    func overflow() {
        var initiator = Initiator(acceptListCapacity: 2)
        initiator.want([alice, bob, carol])
        #expect(accept(&initiator) == [.addToAcceptList(alice), .addToAcceptList(bob), .connectByAcceptList])
        initiator.connectionComplete()
        initiator.want([bob, carol])
        #expect(
            accept(&initiator) == [.removeFromAcceptList(alice), .addToAcceptList(carol), .connectByAcceptList])
    }

    @Test("A link that was made before the cancel arrived ends the attempt all the same")
    func cancelTooLate() {
        var initiator = Initiator(acceptListCapacity: 8)
        initiator.want([alice])
        _ = accept(&initiator)
        initiator.want([])
        #expect(initiator.next() == .cancel)
        initiator.connectionComplete()
        initiator.completed(.commandDisallowed, now: start)
        #expect(initiator.next() == nil)
        initiator.want([bob])
        #expect(initiator.next() == .connect(bob))
    }

    @Test("A refused attempt waits for another wish or a link")
    func refused() {
        var initiator = Initiator(acceptListCapacity: 8)
        initiator.want([alice])
        _ = initiator.next()
        initiator.completed(.connectionLimitExceeded, now: start)
        #expect(initiator.next() == nil)
        initiator.connectionComplete()
        #expect(initiator.next() == .connect(alice))
    }

    @Test("0x0B: an attempt that failed, by Command Status or by its Connection Complete, is not made again at once")
    func failed() {
        var initiator = Initiator(acceptListCapacity: 8)
        initiator.want([alice])
        for isAnswered in [true, false] {
            #expect(initiator.next() == .connect(alice))
            if isAnswered { initiator.completed(.success, now: start) }
            if isAnswered {
                initiator.connectionComplete(.connectionAlreadyExists)
            } else {
                initiator.completed(.connectionAlreadyExists, now: start)
            }
            #expect(initiator.failure == .connectionAlreadyExists && initiator.isAtRest)
            #expect(initiator.next() == nil && initiator.wanted == [alice])
            initiator.retry()
        }
        // A cancelled attempt ends with a status too, and is none that failed.
        for status in [HCIErrorCode.unknownConnectionIdentifier, .connectionAlreadyExists] {
            #expect(accept(&initiator) == [.connect(alice)])
            initiator.want([bob])
            #expect(accept(&initiator) == [.cancel])
            initiator.connectionComplete(status)
            #expect(accept(&initiator) == [.connect(bob)])
            initiator.want([alice])
            #expect(accept(&initiator) == [.cancel])
            initiator.connectionComplete(.unknownConnectionIdentifier)
        }
        // Who was heard and then lost is at the edge of reach: whoever waits there waits no longer than the air makes it.
        #expect(accept(&initiator) == [.connect(alice)])
        initiator.connectionComplete(.connectionFailedToBeEstablished)
        #expect(accept(&initiator) == [.connect(alice)])
        initiator.connectionComplete()
        // One that nobody is making says nothing.
        initiator.want([])
        initiator.connectionComplete(.connectionAlreadyExists)
        #expect(initiator.failure == nil)
    }

    @Test("Held, the attempt is given up, and made again afterwards")
    func held() {
        var initiator = Initiator(acceptListCapacity: 8)
        initiator.want([alice])
        _ = accept(&initiator)
        initiator.isHeld = true
        #expect(accept(&initiator) == [.cancel])
        #expect(!initiator.isAtRest)
        initiator.connectionComplete()
        #expect(initiator.isAtRest)
        #expect(accept(&initiator) == [])
        initiator.isHeld = false
        #expect(accept(&initiator) == [.connect(alice)])
    }

    // MARK: More than the accept list holds

    @Test(
        "Core 5.4, Vol 4, Part E, 7.8.14: whom the list has no memory for is listened for, and the others are connected"
    )
    func shorterThanAnnounced() {
        var initiator = Initiator(acceptListCapacity: 8)
        initiator.want([alice, bob, carol])
        for address in [alice, bob] {
            #expect(initiator.next() == .addToAcceptList(address))
            initiator.completed(.success, now: start)
        }
        #expect(!initiator.needsScan)
        #expect(initiator.next() == .addToAcceptList(carol))
        initiator.completed(.memoryCapacityExceeded, now: start)
        #expect(initiator.failure == nil && initiator.needsScan)
        #expect(accept(&initiator) == [.connectByAcceptList])
        let isTried = initiator.heard(carol, at: carol, now: start)
        #expect(isTried)
        #expect(accept(&initiator) == [.cancel])
        initiator.connectionComplete(.unknownConnectionIdentifier)
        #expect(accept(&initiator) == [.connect(carol)])
        initiator.connectionComplete()

        // The memory may be free again by the next retry, and after a reset all of it is.
        initiator.retry()
        #expect(!initiator.needsScan)
        #expect(initiator.next() == .addToAcceptList(carol))
        initiator.completed(.memoryCapacityExceeded, now: start)
        #expect(initiator.needsScan)
        initiator.reset(acceptListCapacity: 8)
        #expect(!initiator.needsScan)
    }

    @Test("A list without memory for anybody: who is wanted is listened for, also whom the controller resolves")
    func noMemoryAtAll() {
        var initiator = Initiator(acceptListCapacity: 8)
        initiator.want([alice])
        initiator.resolvedPeers = [alice]
        #expect(initiator.next() == .addToAcceptList(alice))
        initiator.completed(.memoryCapacityExceeded, now: start)
        #expect(initiator.next() == nil)
        #expect(initiator.failure == nil && initiator.needsScan)
        initiator.rotate()
        let isTried = initiator.heard(alice, at: carol, now: start)
        #expect(isTried)
        #expect(accept(&initiator) == [.connect(carol)])
    }

    @Test("Where nobody can be listened for, everybody has a turn in the list")
    func rotation() {
        let addresses = (0..<5).map { DeviceAddress(kind: .random, bits: 0xC000_0000_0010 + UInt64($0)) }
        var initiator = Initiator(acceptListCapacity: 2)
        initiator.want(addresses)
        var listed: Set<DeviceAddress> = []
        for _ in 0..<3 {
            for action in accept(&initiator) {
                if case .addToAcceptList(let address) = action { listed.insert(address) }
            }
            initiator.rotate()
            #expect(accept(&initiator) == [.cancel])
            initiator.connectionComplete()
        }
        #expect(listed == Set(addresses))
    }

    @Test("No order of wishes and answers leaves two attempts, or a list changed under one", arguments: 0..<200)
    func orders(seed: Int) {
        var random = SeededRandom(seed: UInt64(seed) + 1)
        var initiator = Initiator(acceptListCapacity: 2)
        var isInitiating = false
        var outstanding: Initiator.Action?
        for _ in 0..<200 {
            switch random.uint64() % 6 {
            case 0:
                let all = [alice, bob, carol]
                initiator.want(all.filter { _ in random.uint64().isMultiple(of: 2) })
            case 4: initiator.contested = random.uint64().isMultiple(of: 2) ? [alice] : []
            case 5: _ = initiator.heard(alice, at: alice, now: Instant(nanoseconds: 1))
            case 1:
                guard outstanding == nil, let action = initiator.next() else { continue }
                outstanding = action
                switch action {
                case .connect, .connectBriefly, .connectByAcceptList: #expect(!isInitiating)
                case .addToAcceptList, .removeFromAcceptList: #expect(!isInitiating)
                case .cancel: break
                }
            case 2:
                guard let action = outstanding else { continue }
                outstanding = nil
                switch action {
                case .connect, .connectBriefly, .connectByAcceptList: isInitiating = true
                case .cancel where !isInitiating:
                    initiator.completed(.commandDisallowed, now: start)
                    continue
                case .cancel, .addToAcceptList, .removeFromAcceptList: break
                }
                initiator.completed(.success, now: start)
                if action == .cancel {
                    isInitiating = false
                    initiator.connectionComplete()
                }
            default:
                guard isInitiating else { continue }
                isInitiating = false
                initiator.connectionComplete()
            }
        }
    }
}
