import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import SecurityManager
import Simulation
import Testing
import WorldSupport

/// Strangers at the door of the pairing window, with Pairing Requests written by hand.
@Suite(.capturesFailures) struct PairingDoorAttackTests {
    /// Secure Connections, MITM, bonding, 16 octets, identity and signing keys; with a keyboard.
    static let passkeyRequest: [UInt8] = [0x01, 0x02, 0x00, 0x0D, 16, 0x06, 0x06]
    static let outOfBandRequest: [UInt8] = [0x01, 0x03, 0x01, 0x0D, 16, 0x06, 0x06]
    static let notSupported: [UInt8] = [0x05, 0x05]

    static let nonce: [UInt8] = [0x04] + [UInt8](repeating: 7, count: 16)

    /// A fresh one, as it travels.
    static func publicKey() -> [UInt8] { SMPPDU.pairingPublicKey(P256KeyPair.generate().publicKey.wire).encoded }

    private func open(_ fortress: Fortress, _ method: PairingWindow.Method, credential: String = "bob") {
        fortress.lock.call {
            $0.setPairingWindow(PairingWindow(method: method, credential: credential))
        }
    }

    private func outOfBand() -> PairingWindow.Method {
        .outOfBand(keyPair: P256KeyPair.generate(), random: Secret(Array(1...16)))
    }

    /// Sends an SMP command; the first octet of what came back, nil for silence.
    private func ask(_ peer: RawPeer, _ pdu: [UInt8]) -> [UInt8]? {
        let before = peer.smp.count
        peer.send(pdu, on: RawPeer.securityManager)
        peer.run(500) { peer.smp.count > before }
        return peer.smp.count > before ? peer.smp.last : nil
    }

    @Test("Pairing without a window is refused, and changes nothing")
    func withoutWindow() throws {
        let fortress = try Fortress()
        let facts = fortress.lock.facts
        let peer = fortress.stranger()
        #expect(peer.connect(to: try fortress.lockAddress()))
        // The last would not bond, and has no keys to give.
        let unbonded: [UInt8] = [0x01, 0x03, 0x00, 0x08, 16, 0x00, 0x00]
        for request in [Self.passkeyRequest, Self.outOfBandRequest, unbonded] {
            #expect(ask(peer, request) == Self.notSupported)
        }
        #expect(fortress.lock.facts == facts)
    }

    @Test(
        "A central at its identity address need not say it again, and none needs a signing key",
        arguments: [4, 5, 2, 0])
    func keysRequired(_ keys: UInt8) throws {
        let fortress = try Fortress()
        open(fortress, .passkeyDisplay)
        let peer = fortress.stranger()
        #expect(peer.connect(to: try fortress.lockAddress()))
        #expect(ask(peer, [0x01, 0x02, 0x00, 0x0D, 16, keys, 0x07])?.first == 0x02)
    }

    @Test("Two strangers pair at once: one attempt at a time, for those who come during it too")
    func oneAttempt() throws {
        let fortress = try Fortress()
        open(fortress, .passkeyDisplay)
        let (first, second, third) = (fortress.stranger(1), fortress.stranger(2), fortress.stranger(3))
        let door = try fortress.lockAddress()
        #expect(first.connect(to: door))
        #expect(second.connect(to: door))
        #expect(ask(first, Self.passkeyRequest)?.first == 0x02)
        #expect(ask(second, Self.passkeyRequest) == Self.notSupported)
        #expect(third.connect(to: door))
        #expect(ask(third, Self.passkeyRequest) == Self.notSupported)
        // The attempt is given up: the next may try.
        first.send([0x05, 0x08], on: RawPeer.securityManager)
        first.run(100)
        #expect(ask(third, Self.passkeyRequest)?.first == 0x02)
    }

    @Test(
        "Slow pairing: an attempt ends with its window, and keeps nobody from the next one", arguments: [false, true])
    func slowPairing(_ isClosedBetween: Bool) throws {
        let fortress = try Fortress()
        open(fortress, .passkeyDisplay)
        let (slow, other) = (fortress.stranger(1), fortress.stranger(2))
        #expect(slow.connect(to: try fortress.lockAddress()))
        #expect(other.connect(to: try fortress.lockAddress()))
        #expect(ask(slow, Self.passkeyRequest)?.first == 0x02)
        if isClosedBetween {
            fortress.lock.call { $0.setPairingWindow(nil) }
            slow.run(100)
            #expect(slow.smp.last == [0x05, 0x08])
            #expect(ask(other, Self.passkeyRequest) == Self.notSupported)
        }
        open(fortress, .passkeyDisplay)
        slow.run(100)
        #expect(slow.smp.last == [0x05, 0x08])
        #expect(ask(other, Self.passkeyRequest)?.first == 0x02)
        #expect(ask(slow, Self.passkeyRequest) == Self.notSupported)
        #expect(try fortress.app().paired.count == 2, "the owner's, and the one that was ended")
    }

    @Test(
        "A stranger who taps pair burns no code: it serves whoever comes next, as long as nobody has tried a value",
        arguments: [
            [outOfBandRequest],
            // Malformed, too short a key, legacy pairing.
            [[0x01, 0x03]], [[0x01, 0x03, 0x01, 0x0D, 7, 0x06, 0x06]], [[0x01, 0x03, 0x01, 0x05, 16, 0x06, 0x06]],
            // A public key, and a nonce behind it.
            [outOfBandRequest, publicKey()], [outOfBandRequest, publicKey(), nonce],
        ])
    func tapped(_ pdus: [[UInt8]]) throws {
        let fortress = try Fortress()
        open(fortress, outOfBand())
        let (peer, other) = (fortress.stranger(1), fortress.stranger(2))
        #expect(peer.connect(to: try fortress.lockAddress()))
        for pdu in pdus { _ = ask(peer, pdu) }
        peer.send([0x05, 0x08], on: RawPeer.securityManager)
        peer.run(100)
        #expect(other.connect(to: try fortress.lockAddress()))
        #expect(ask(other, Self.outOfBandRequest)?.first == 0x02)
    }

    @Test("A code is burnt by the first check value, whatever becomes of the attempt", arguments: [false, true])
    func burnt(_ isGivenUp: Bool) throws {
        let fortress = try Fortress()
        open(fortress, outOfBand())
        let (peer, other) = (fortress.stranger(1), fortress.stranger(2))
        #expect(peer.connect(to: try fortress.lockAddress()))
        #expect(ask(peer, Self.outOfBandRequest)?.first == 0x02)
        #expect(ask(peer, Self.publicKey())?.first == 0x0C)
        #expect(ask(peer, Self.nonce)?.first == 0x04)
        // DHKey check failed.
        #expect(ask(peer, [0x0D] + [UInt8](repeating: 1, count: 16)) == [0x05, 0x0B])
        if isGivenUp { peer.send([0x05, 0x08], on: RawPeer.securityManager) }
        peer.run(100)
        #expect(other.connect(to: try fortress.lockAddress()))
        #expect(ask(other, Self.outOfBandRequest) == Self.notSupported)
        #expect(ask(peer, Self.outOfBandRequest) == Self.notSupported)
    }

    @Test("An attempt in an earlier window fails: the offer of the one that stands is not burnt by it")
    func earlierWindow() throws {
        let fortress = try Fortress()
        open(fortress, outOfBand())
        let (first, second) = (fortress.stranger(1), fortress.stranger(2))
        #expect(first.connect(to: try fortress.lockAddress()))
        #expect(second.connect(to: try fortress.lockAddress()))
        #expect(ask(first, Self.outOfBandRequest)?.first == 0x02)
        open(fortress, outOfBand())
        first.send([0x05, 0x08], on: RawPeer.securityManager)
        first.run(100)
        #expect(ask(second, Self.outOfBandRequest)?.first == 0x02)
    }

    @Test("A pairing that is begun and left alone for its thirty seconds closes its own link's channel, no more")
    func stalled() throws {
        let fortress = try Fortress()
        open(fortress, .passkeyDisplay)
        let peer = fortress.stranger(1)
        let other = fortress.stranger(2)
        #expect(peer.connect(to: try fortress.lockAddress()))
        #expect(ask(peer, Self.passkeyRequest)?.first == 0x02)
        peer.run(PairingMachine.timeoutMilliseconds + 1_000)
        #expect(try fortress.app().paired.count == 2)
        #expect(ask(peer, Self.passkeyRequest) == nil)
        #expect(other.connect(to: try fortress.lockAddress()))
        #expect(ask(other, Self.passkeyRequest)?.first == 0x02)
    }

    @Test("Three failures close the window for everybody, until the operator opens it again")
    func threeFailures() throws {
        let fortress = try Fortress()
        open(fortress, .passkeyDisplay)
        let peer = fortress.stranger()
        #expect(peer.connect(to: try fortress.lockAddress()))
        for failure in 0..<3 {
            #expect(ask(peer, Self.passkeyRequest)?.first == 0x02)
            #expect(ask(peer, Self.publicKey())?.first == 0x0C)
            #expect(ask(peer, [0x03] + [UInt8](repeating: 1, count: 16))?.first == 0x03)
            // Confirm value failed.
            #expect(ask(peer, Self.nonce) == [0x05, 0x04])
            peer.run((RepeatedAttempts.firstIntervalMilliseconds << failure) + 100)
        }
        #expect(ask(peer, Self.passkeyRequest) == Self.notSupported)
        open(fortress, .passkeyDisplay)
        #expect(ask(peer, Self.passkeyRequest)?.first == 0x02)
    }

    @Test("Guess after guess: each failure doubles the wait, and who does not wait is told so, 2.3.6")
    func repeatedAttempts() throws {
        let fortress = try Fortress()
        let (peer, other) = (fortress.stranger(1), fortress.stranger(2))
        #expect(peer.connect(to: try fortress.lockAddress()))
        open(fortress, .passkeyDisplay)
        for failure in 0..<5 {
            // It breaks off before it has tried anything: the window stays open, and only the wait stands in the way.
            #expect(ask(peer, Self.passkeyRequest)?.first == 0x02)
            peer.send([0x05, 0x04], on: RawPeer.securityManager)
            peer.run(100)
            #expect(ask(peer, Self.passkeyRequest) == [0x05, 0x09])
            peer.run((RepeatedAttempts.firstIntervalMilliseconds << failure) - 300)
            #expect(ask(peer, Self.passkeyRequest) == [0x05, 0x09])
            peer.run(300)
        }
        // Its waiting is nobody else's.
        #expect(other.connect(to: try fortress.lockAddress()))
        #expect(ask(other, Self.passkeyRequest)?.first == 0x02)
    }

    @Test(
        "Who fails under the address of a peer that is to be enrolled keeps it out of the next window for a second at most"
    )
    func failedInItsName() throws {
        let fortress = try Fortress()
        let impostor = fortress.stranger()
        #expect(impostor.connect(to: try fortress.lockAddress()))
        open(fortress, .passkeyDisplay)
        for failure in 0..<7 {
            #expect(ask(impostor, Self.passkeyRequest)?.first == 0x02)
            impostor.send([0x05, 0x04], on: RawPeer.securityManager)
            impostor.run((RepeatedAttempts.firstIntervalMilliseconds << failure) + 100)
        }
        #expect(ask(impostor, Self.passkeyRequest)?.first == 0x02)
        impostor.send([0x05, 0x04], on: RawPeer.securityManager)
        impostor.run(RepeatedAttempts.firstIntervalMilliseconds + 100)
        #expect(ask(impostor, Self.passkeyRequest) == [0x05, 0x09], "two minutes")
        open(fortress, .passkeyDisplay)
        #expect(ask(impostor, Self.passkeyRequest) == [0x05, 0x09])
        // The peer itself.
        impostor.run(RepeatedAttempts.firstIntervalMilliseconds)
        #expect(ask(impostor, Self.passkeyRequest)?.first == 0x02)
    }

    @Test("A pairing that claims another bond's address, or its identity key, is refused, and the bond stands")
    func identityTheft() throws {
        for claimsAddress in [true, false] {
            let fortress = try Fortress()
            let irk = try #require(fortress.bond.peerIRK)
            let owner = try #require(fortress.bond.identity)
            let other = try #require(IdentityAddress(DeviceAddress(kind: .random, bits: 0xC0DE_0000_0009)))
            let store = MemoryHostStore()
            store.append(
                .localIdentity(
                    claimsAddress
                        ? LocalIdentity(address: owner, irk: Secret(Array(1...16)))
                        : LocalIdentity(address: other, irk: irk)))
            store.didCommit()
            let thief = fortress.world.add("thief", seed: 77, store: store)
            var central: CentralApp?
            thief.launch { central = CentralApp($0, restoreIdentifier: nil) }
            let app = try #require(central)
            #expect(fortress.world.run(forMilliseconds: 500) { app.states.last == .poweredOn })
            let door = try fortress.lockAddress()
            var peer: PeerIdentifier?
            thief.call { host in
                peer = host.peer(at: door)
                host.connect(app.manager, host.peer(at: door), options: 0, askedAtSeconds: 0)
            }
            #expect(fortress.world.run(forMilliseconds: 3_000) { app.link != nil })
            let keyPair = P256KeyPair.generate()
            let random = Secret(Array(1...16))
            open(fortress, .outOfBand(keyPair: keyPair, random: random), credential: "mallory")
            let identity = try #require(fortress.lock.host?.identity.address.address)
            let data = OutOfBandOffer(random: random).data(address: identity, publicKey: keyPair.publicKey)
            let name = try #require(peer)
            thief.call { $0.pair(app.manager, name, .outOfBand(data), credential: "door") }
            #expect(fortress.world.run(forMilliseconds: 5_000) { !app.paired.isEmpty })
            fortress.world.run(forMilliseconds: 500)
            // The initiator's keys come last: it may think that it is paired.
            guard case .failure(.pairing(.identityTaken)) = try fortress.app().paired.last else {
                Issue.record("\(try fortress.app().paired)")
                return
            }
            #expect(fortress.lock.store.load().bonds.map(\.id) == [fortress.bond.id])
            #expect(fortress.lock.store.load().bonds.first?.ltk == fortress.bond.ltk)
        }
    }
}
