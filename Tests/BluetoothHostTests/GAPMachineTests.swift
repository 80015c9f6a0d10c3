import BluetoothCore
import BluetoothHost
import HCI
import Testing

@Suite struct AdvertiserTests {
    let payload = Advertiser.Payload(data: [2, 1, 6], scanResponse: [2, 9, 0x41])

    func whole(_ data: [UInt8]) -> LEAdvertisingDataPiece { LEAdvertisingDataPiece.cut(data)[0] }

    /// Takes every command that is named, and lets the controller accept it.
    func drain(_ advertiser: inout Advertiser) -> [Advertiser.Action] {
        var actions: [Advertiser.Action] = []
        while let action = advertiser.next() {
            actions.append(action)
            advertiser.completed(.success)
        }
        return actions
    }

    @Test("Core 5.4, Vol 4, Part E, 7.8.5-7.8.9: parameters, data, scan response, enable; one at a time")
    func start() {
        var advertiser = Advertiser()
        advertiser.wanted = payload
        #expect(advertiser.next() == .setParameters(.legacy, .connectable))
        #expect(advertiser.next() == nil, "one command is outstanding")
        advertiser.completed(.success)
        #expect(
            drain(&advertiser) == [
                .setData(whole(payload.data)), .setScanResponse(whole(payload.scanResponse)), .enable,
            ])
        #expect(advertiser.isEnabled)
        #expect(advertiser.next() == nil)
    }

    @Test("A connection stops advertising in the controller: only enabling is asked again")
    func afterConnection() {
        var advertiser = Advertiser()
        advertiser.wanted = payload
        _ = drain(&advertiser)
        advertiser.stopped()
        #expect(drain(&advertiser) == [.enable])
    }

    @Test("Without a free slot nothing is advertised, and with one it is again")
    func held() {
        var advertiser = Advertiser()
        advertiser.wanted = payload
        _ = drain(&advertiser)
        advertiser.isHeld = true
        #expect(drain(&advertiser) == [.disable])
        advertiser.isHeld = false
        #expect(drain(&advertiser) == [.enable])
    }

    @Test("Core 5.4, Vol 3, Part C, 9.3.2: what nobody can connect to needs no free slot")
    func full() {
        for mode in ConnectableMode.allCases {
            var advertiser = Advertiser()
            advertiser.wanted = Advertiser.Payload(mode: mode, data: [2, 1, 4])
            _ = drain(&advertiser)
            #expect(advertiser.takesConnections == (mode == .connectable))
            advertiser.isFull = true
            #expect(drain(&advertiser) == (mode == .connectable ? [.disable] : []))
            advertiser.isHeld = true
            _ = drain(&advertiser)
            #expect(!advertiser.isEnabled, "an address that changes holds every mode")
        }
    }

    @Test("Core 5.4, Vol 4, Part E, 7.8.5, 7.8.53: a set whose mode changes is made anew, off the air")
    func otherMode() {
        var advertiser = Advertiser()
        advertiser.wanted = payload
        _ = drain(&advertiser)
        advertiser.wanted = Advertiser.Payload(mode: .nonConnectable, data: payload.data)
        #expect(
            drain(&advertiser) == [
                .disable, .remove, .setParameters(.legacy, .nonConnectable), .setData(whole(payload.data)), .enable,
            ])
        #expect(!advertiser.takesConnections)
        advertiser.wanted = Advertiser.Payload(mode: .scannable, data: payload.data, scanResponse: payload.scanResponse)
        #expect(drain(&advertiser).suffix(2) == [.setScanResponse(whole(payload.scanResponse)), .enable])
    }

    @Test("A refused command is not repeated until the wish changes")
    func refused() {
        var advertiser = Advertiser()
        advertiser.wanted = payload
        _ = advertiser.next()
        advertiser.completed(.commandDisallowed)
        #expect(advertiser.failure == .commandDisallowed)
        #expect(advertiser.next() == nil)
        advertiser.wanted = Advertiser.Payload(data: [], scanResponse: [])
        #expect(advertiser.next() == .setParameters(.legacy, .connectable))
    }

    @Test("A controller that was reset is told everything again")
    func reset() {
        var advertiser = Advertiser()
        advertiser.wanted = payload
        _ = drain(&advertiser)
        advertiser.reset()
        #expect(drain(&advertiser).count == 4)
    }

    @Test("A wish that changes while a command is outstanding is met by the next ones")
    func changedMeanwhile() {
        var advertiser = Advertiser()
        advertiser.wanted = payload
        _ = advertiser.next()
        advertiser.wanted = nil
        advertiser.completed(.success)
        #expect(advertiser.next() == nil)
        #expect(!advertiser.isEnabled)
    }

    @Test("Core 5.4, Vol 4, Part E, 7.8.54: data in several pieces is given only while the set is disabled")
    func pieces() {
        var advertiser = Advertiser()
        advertiser.wanted = Advertiser.Payload(pdus: .extended, data: [2, 1, 6])
        #expect(drain(&advertiser) == [.setParameters(.extended, .connectable), .setData(whole([2, 1, 6])), .enable])
        let long = [UInt8](repeating: 7, count: 600)
        let cut = LEAdvertisingDataPiece.cut(long)
        advertiser.wanted = Advertiser.Payload(pdus: .extended, data: long)
        #expect(drain(&advertiser) == [.disable] + cut.map(Advertiser.Action.setData) + [.enable])
        #expect(advertiser.isOnAir)
    }

    @Test("A wish that changes between two pieces begins with the first piece of the new data", arguments: [1, 2])
    func changedBetweenPieces(count: Int) {
        var advertiser = Advertiser()
        let (old, new) = ([UInt8](repeating: 7, count: 600), [UInt8](repeating: 8, count: 600))
        advertiser.wanted = Advertiser.Payload(pdus: .extended, data: old)
        for _ in 0..<1 + count {
            _ = advertiser.next()
            advertiser.completed(.success)
        }
        _ = advertiser.next()
        advertiser.wanted = Advertiser.Payload(pdus: .extended, data: new)
        advertiser.completed(.success)
        #expect(drain(&advertiser) == LEAdvertisingDataPiece.cut(new).map(Advertiser.Action.setData) + [.enable])
    }

    @Test("After a piece that was refused the first one is given again")
    func refusedPiece() {
        var advertiser = Advertiser()
        let long = [UInt8](repeating: 7, count: 300)
        advertiser.wanted = Advertiser.Payload(pdus: .extended, data: long)
        for _ in 0..<2 {
            _ = advertiser.next()
            advertiser.completed(.success)
        }
        _ = advertiser.next()
        advertiser.completed(.memoryCapacityExceeded)
        advertiser.retry()
        #expect(drain(&advertiser) == LEAdvertisingDataPiece.cut(long).map(Advertiser.Action.setData) + [.enable])
    }

    @Test("Core 5.4, Vol 4, Part E, 7.8.53: a set whose PDUs change is made anew")
    func otherPDUs() {
        var advertiser = Advertiser()
        advertiser.wanted = Advertiser.Payload(pdus: .extended, data: [7])
        _ = drain(&advertiser)
        advertiser.wanted = payload
        #expect(drain(&advertiser).prefix(3) == [.disable, .remove, .setParameters(.legacy, .connectable)])
        #expect(advertiser.isOnAir)
    }

    @Test("Core 5.4, Vol 4, Part E, 7.8.52: a set's address is told before it is on the air, and changes only off it")
    func address() {
        let (first, second) = (
            DeviceAddress(kind: .random, bits: 0x4000_0000_0001), DeviceAddress(kind: .random, bits: 0x4000_0000_0002)
        )
        var advertiser = Advertiser()
        advertiser.wanted = payload
        advertiser.wantedAddress = first
        #expect(drain(&advertiser).prefix(2) == [.setParameters(.legacy, .connectable), .setAddress(first)])
        #expect(advertiser.address == first)
        advertiser.wantedAddress = second
        #expect(drain(&advertiser) == [.disable, .setAddress(second), .enable])
        #expect(advertiser.address == second)
    }
}

@Suite struct ScannerTests {
    @Test("Parameters once, and a change of them only between disable and enable")
    func changes() {
        var scanner = Scanner()
        scanner.wanted = .init(reportsDuplicates: false)
        #expect(scanner.next() == .setParameters(isActive: true))
        scanner.completed(.success)
        #expect(scanner.next() == .enable(filterDuplicates: true))
        scanner.completed(.success)
        #expect(scanner.isEnabled)
        scanner.wanted = .init(reportsDuplicates: true)
        #expect(scanner.next() == .disable)
        scanner.completed(.success)
        #expect(scanner.next() == .enable(filterDuplicates: false))
        scanner.completed(.success)
        scanner.wanted = nil
        #expect(scanner.next() == .disable)
        scanner.completed(.success)
        #expect(scanner.next() == nil)
    }

    @Test("What was asked for is what runs, though the wish changed before the controller answered")
    func race() {
        var scanner = Scanner()
        scanner.wanted = .init(reportsDuplicates: false)
        _ = scanner.next()
        scanner.completed(.success)
        _ = scanner.next()
        scanner.wanted = .init(reportsDuplicates: true)
        scanner.completed(.success)
        #expect(scanner.next() == .disable)
    }

    func drain(_ scanner: inout Scanner) -> [Scanner.Action] {
        var actions: [Scanner.Action] = []
        while let action = scanner.next() {
            actions.append(action)
            scanner.completed(.success)
        }
        return actions
    }

    @Test("A passive scan that becomes an active one is told so, between disable and enable")
    func activity() {
        var scanner = Scanner()
        scanner.wanted = .init(reportsDuplicates: true, isActive: false)
        #expect(drain(&scanner) == [.setParameters(isActive: false), .enable(filterDuplicates: false)])
        scanner.wanted = .init(reportsDuplicates: true, isActive: true)
        #expect(drain(&scanner) == [.disable, .setParameters(isActive: true), .enable(filterDuplicates: false)])
    }

    @Test("Whoever begins to scan hears those too whom the controller has reported before: the scan starts anew")
    func generations() {
        var scanner = Scanner()
        scanner.wanted = .init(reportsDuplicates: false, generation: 1)
        _ = drain(&scanner)
        scanner.wanted = .init(reportsDuplicates: false, generation: 2)
        #expect(drain(&scanner) == [.disable, .enable(filterDuplicates: true)])
    }

    @Test("Held, it rests, and runs again as it was wanted")
    func held() {
        var scanner = Scanner()
        scanner.wanted = .init(reportsDuplicates: false)
        _ = drain(&scanner)
        scanner.isHeld = true
        #expect(drain(&scanner) == [.disable])
        #expect(scanner.isAtRest)
        scanner.isHeld = false
        #expect(drain(&scanner) == [.enable(filterDuplicates: true)])
    }
}

@Suite struct InitiatorTests {
    let alice = DeviceAddress(kind: .random, bits: 0xC000_0000_0001)
    let bob = DeviceAddress(kind: .random, bits: 0xC000_0000_0002)
    let carol = DeviceAddress(kind: .random, bits: 0xC000_0000_0003)

    func accept(_ initiator: inout Initiator, limit: Int = 20) -> [Initiator.Action] {
        var actions: [Initiator.Action] = []
        while actions.count < limit, let action = initiator.next() {
            actions.append(action)
            initiator.completed(.success)
        }
        return actions
    }

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
        initiator.completed(.commandDisallowed)
        #expect(initiator.next() == nil)
        initiator.want([bob])
        #expect(initiator.next() == .connect(bob))
    }

    @Test("A refused attempt waits for another wish or a link")
    func refused() {
        var initiator = Initiator(acceptListCapacity: 8)
        initiator.want([alice])
        _ = initiator.next()
        initiator.completed(.connectionLimitExceeded)
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
            if isAnswered { initiator.completed(.success) }
            if isAnswered {
                initiator.connectionComplete(.connectionAlreadyExists)
            } else {
                initiator.completed(.connectionAlreadyExists)
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

    let start = Instant(nanoseconds: 0)

    private func crowded() -> Initiator {
        var initiator = Initiator(acceptListCapacity: 2)
        initiator.want([alice, bob, carol])
        #expect(initiator.needsScan)
        _ = accept(&initiator)
        return initiator
    }

    @Test("0x0B for one who was heard: the list has its turn at once, and the others after it, as if time had run out")
    func heardAndRefused() {
        for isAnswered in [true, false] {
            var initiator = crowded()
            let isHeard = initiator.heard(carol, at: carol, now: start)
            #expect(isHeard && accept(&initiator) == [.cancel])
            initiator.connectionComplete(.unknownConnectionIdentifier)
            #expect(initiator.next() == .connect(carol))
            initiator.completed(isAnswered ? .success : .connectionAlreadyExists)
            if isAnswered { initiator.connectionComplete(.connectionAlreadyExists) }
            #expect(initiator.failure == nil)
            #expect(accept(&initiator) == [.connectByAcceptList])
            let turn = start.advanced(byMilliseconds: Initiator.heardAttemptMilliseconds)
            let isHeardInTurn = initiator.heard(carol, at: carol, now: turn)
            let again = turn.advanced(byMilliseconds: Initiator.heardAgainMilliseconds)
            let isHeardAgain = initiator.heard(carol, at: carol, now: again)
            #expect(!isHeardInTurn && isHeardAgain)
        }
    }

    @Test("Who is heard and is not in the list is connected to by address, and then the list again")
    func heard() {
        var initiator = crowded()
        let onAir = DeviceAddress(kind: .random, bits: 0x4000_0000_0003)
        #expect(initiator.heard(carol, at: onAir, now: start) == true)
        #expect(accept(&initiator) == [.cancel])
        initiator.connectionComplete()
        #expect(accept(&initiator) == [.connect(onAir)], "under the address that it has now")
        initiator.want([alice, bob])
        initiator.connectionComplete()
        #expect(accept(&initiator) == [.connectByAcceptList])
        #expect(!initiator.needsScan)
    }

    @Test("Whoever is in the list, or wanted by nobody, is no reason to give up the standing attempt")
    func heardInList() {
        var initiator = crowded()
        for address in [alice, bob, DeviceAddress(kind: .random, bits: 7)] {
            #expect(initiator.heard(address, at: address, now: start) == false)
        }
        #expect(accept(&initiator) == [])
    }

    @Test("Attack: a peer that is heard and takes no connection keeps neither the list nor others from theirs")
    func heardInVain() {
        var initiator = crowded()
        let dave = DeviceAddress(kind: .random, bits: 0xC000_0000_0004)
        initiator.want([alice, bob, carol, dave])
        #expect(initiator.heard(carol, at: carol, now: start) == true)
        _ = accept(&initiator)
        initiator.connectionComplete()
        #expect(accept(&initiator) == [.connect(carol)])
        let over = start.advanced(byMilliseconds: Initiator.heardAttemptMilliseconds)
        #expect(initiator.deadline == over)
        initiator.timerFired(now: over)
        #expect(accept(&initiator) == [.cancel])
        initiator.connectionComplete()
        #expect(accept(&initiator) == [.connectByAcceptList])
        #expect(initiator.heard(carol, at: carol, now: over) == false)
        #expect(initiator.heard(dave, at: dave, now: over) == false)
        #expect(accept(&initiator) == [], "it is the list's turn")
        let next = over.advanced(byMilliseconds: Initiator.heardAttemptMilliseconds)
        #expect(initiator.heard(carol, at: carol, now: next) == false)
        #expect(accept(&initiator) == [], "carol was tried")
        #expect(initiator.heard(dave, at: dave, now: next) == true)
        #expect(accept(&initiator) == [.cancel])
        let again = over.advanced(byMilliseconds: Initiator.heardAgainMilliseconds)
        initiator.want([alice, bob, carol])
        initiator.connectionComplete()
        #expect(initiator.heard(carol, at: carol, now: again) == true)
        #expect(accept(&initiator) == [.connect(carol)])
    }

    @Test("Of a crowd that advertises all the time, one advertisement is worth a look at what is wanted")
    func crowdAdvertises() {
        var initiator = Initiator(acceptListCapacity: 2)
        let crowd = (0..<40).map { DeviceAddress(kind: .random, bits: 0xC000_0000_0100 + UInt64($0)) }
        initiator.want(crowd)
        _ = accept(&initiator)
        let worth = (0..<1_000).count { initiator.heard(crowd[$0 % 40], at: crowd[$0 % 40], now: start) }
        #expect(worth == 1, "until the attempt that it began is over")
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
            switch random.uint64() % 4 {
            case 0:
                let all = [alice, bob, carol]
                initiator.want(all.filter { _ in random.uint64().isMultiple(of: 2) })
            case 1:
                guard outstanding == nil, let action = initiator.next() else { continue }
                outstanding = action
                switch action {
                case .connect, .connectByAcceptList: #expect(!isInitiating)
                case .addToAcceptList, .removeFromAcceptList: #expect(!isInitiating)
                case .cancel: break
                }
            case 2:
                guard let action = outstanding else { continue }
                outstanding = nil
                switch action {
                case .connect, .connectByAcceptList: isInitiating = true
                case .cancel where !isInitiating:
                    initiator.completed(.commandDisallowed)
                    continue
                case .cancel, .addToAcceptList, .removeFromAcceptList: break
                }
                initiator.completed(.success)
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
