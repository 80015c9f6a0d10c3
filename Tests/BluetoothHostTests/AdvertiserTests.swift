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
