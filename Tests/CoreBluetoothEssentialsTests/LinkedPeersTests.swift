import BluetoothCore
import BluetoothHost
import Dispatch
import Synchronization
import Testing

@testable import CoreBluetoothEssentials

@Suite("Who is connected, and who is known")
struct LinkedPeersTests {
    private static let peers = (1...4).map { PeerIdentifier(bits: UInt128($0)) }
    private static let links = (1...4).map { LinkID(rawValue: UInt64($0)) }

    @Test("A peer with two links is told once when it comes, and once when the last one goes")
    func twoLinks() {
        var linked = LinkedPeers()
        linked.filter = ConnectionEventFilter(services: [0xFFF0], peers: [])
        let peer = Self.peers[0]
        #expect(linked.up(Self.links[0], peer, [0xFFF0]) == [.init(peer: peer, isConnected: true)])
        #expect(linked.up(Self.links[1], peer, [0xFFF0]).isEmpty)
        #expect(linked.down(Self.links[0]).isEmpty)
        #expect(linked.services(of: peer) == [0xFFF0])
        #expect(linked.down(Self.links[1]) == [.init(peer: peer, isConnected: false)])
        #expect(linked.services(of: peer) == nil)
        #expect(linked.down(Self.links[1]).isEmpty)
    }

    @Test("Its services may become known later, and be others later; its name may change by a pairing")
    func learned() {
        var linked = LinkedPeers()
        linked.filter = ConnectionEventFilter(services: [0xFFF0], peers: [Self.peers[3]])
        #expect(linked.up(Self.links[0], Self.peers[0], nil).isEmpty)
        #expect(linked.services(of: Self.peers[0]) == [])
        #expect(linked.learned([0xFFF1], of: Self.peers[0]).isEmpty)
        #expect(linked.learned([0xFFF0], of: Self.peers[1]).isEmpty, "not connected")
        #expect(linked.learned([0xFFF0, 0xFFF1], of: Self.peers[0]) == [.init(peer: Self.peers[0], isConnected: true)])
        #expect(linked.learned(nil, of: Self.peers[0]).isEmpty)
        #expect(linked.services(of: Self.peers[0]) == [])
        // Told under its first name; it is the same link, and nobody is told twice.
        #expect(linked.up(Self.links[0], Self.peers[3], [0xFFF0]).isEmpty)
        #expect(linked.services(of: Self.peers[3]) == [0xFFF0])
        #expect(linked.services(of: Self.peers[0]) == nil && linked.peer(of: Self.links[0]) == Self.peers[3])
        #expect(linked.down(Self.links[0]) == [.init(peer: Self.peers[3], isConnected: false)])
    }

    @Test("What an app does not want to hear of, it does not: other peers, and what it has heard nothing of before")
    func filtered() {
        var linked = LinkedPeers()
        #expect(linked.up(Self.links[0], Self.peers[0], [0xFFF0]).isEmpty)
        linked.filter = ConnectionEventFilter(services: [], peers: [Self.peers[1]])
        #expect(linked.up(Self.links[1], Self.peers[1], nil) == [.init(peer: Self.peers[1], isConnected: true)])
        #expect(linked.up(Self.links[2], Self.peers[2], nil).isEmpty)
        #expect(linked.down(Self.links[0]).isEmpty)
        #expect(linked.down(Self.links[2]).isEmpty)
        linked.filter = nil
        #expect(linked.down(Self.links[1]).isEmpty)
    }

    @Test("Peers that were met make room for each other, those that are kept do not, and neither grows without end")
    func bounds() {
        var known = KnownPeers()
        known.take([PeerName(identifier: PeerIdentifier(bits: 0), name: "kept")])
        func peer(_ number: Int) -> PeerIdentifier { PeerIdentifier(bits: UInt128(number)) }
        for number in 1...KnownPeers.metMaximum { known.met(peer(number)) }
        #expect(known[peer(1)] != nil && known[peer(KnownPeers.metMaximum)] != nil)
        known.met(peer(2))
        known.met(peer(KnownPeers.metMaximum + 1))
        #expect(known[peer(1)] == nil && known[peer(2)] != nil && known[peer(KnownPeers.metMaximum + 1)] != nil)
        #expect(known[peer(0)]?.name == "kept")
        for number in 1...KnownPeers.keptMoreMaximum { known.keep(peer(number)) }
        #expect(!known.isOverfull)
        known.keep(peer(KnownPeers.keptMoreMaximum + 1))
        #expect(known.isOverfull)
        known.take([])
        #expect(!known.isOverfull && known[peer(0)] == nil)
    }

    @Test("Callbacks come one after the other on a concurrent queue too")
    func concurrentQueue() {
        let queue = DispatchQueue(label: "app", attributes: .concurrent)
        let (entered, released) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let delivery = CallbackDelivery.app(queue)
        let order = Mutex<[Int]>([])
        for number in 0..<3 {
            delivery.deliver(nil) {
                dispatchPrecondition(condition: .onQueue(queue))
                order.withLock { $0.append(number) }
                entered.signal()
                released.wait()
            }
        }
        entered.wait()
        // On the concurrent queue itself the others would be inside by the time that these have run.
        for _ in 0..<3 { queue.sync {} }
        #expect(order.withLock { $0 } == [0])
        for _ in 0..<3 { released.signal() }
        for _ in 0..<2 { entered.wait() }
        #expect(order.withLock { $0 } == [0, 1, 2])
    }
}
