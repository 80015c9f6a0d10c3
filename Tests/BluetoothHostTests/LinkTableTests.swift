import BluetoothCore
import GATT
import HCI
import SecurityManager
import Testing

@testable import BluetoothHost

/// Who may have a link, by what the table has already.
@Suite("The table of links: slots, and the links of one peer")
struct LinkTableTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)
    private static let peer = PeerIdentifier(bits: 7)
    private static let other = PeerIdentifier(bits: 8)

    /// `bonded`: under an address that names a bond.
    @discardableResult
    private func add(
        _ role: LinkRole, to table: inout LinkTable, peer: PeerIdentifier = other, isBonded: Bool = false
    ) throws -> Link {
        let address = DeviceAddress(kind: .random, bits: 0xC000_0000_0000 + UInt64(table.count))
        let handle = ConnectionHandle(UInt16(table.count + 1))
        let link = Link(
            id: table.makeID(), handle: handle, role: role, connectedAt: Self.start, ownAddress: address,
            address: address, peer: peer, identity: isBonded ? IdentityAddress(address) : nil,
            bond: isBonded ? BondID(1) : nil, mtu: 23,
            pairing: PairingMachine(role: .responder, localAddress: address, peerAddress: address),
            lifecycle: LinkLifecycle(),
            layer: LinkLayer(
                role, LinkFacts(), connectedAt: Self.start, supervisionTimeout: 0, usesLinkLayer: false))
        _ = link.lifecycle.handle(.connected, now: Self.start)
        table.add(link)
        return link
    }

    private func hasSlot(
        _ table: LinkTable, _ role: LinkRole, isBonded: Bool = false, isReplaced: Bool = false
    ) -> Bool {
        var table = table
        return table.hasSlot(role, isBonded: isBonded, isReplaced: isReplaced)
    }

    private func end(_ link: Link) { _ = link.lifecycle.handle(.disconnect, now: Self.start) }

    @Test("The last slot is a bonded peer's; a link that this side made may have any")
    func lastSlot() throws {
        var table = LinkTable(linksMaximum: 3)
        for taken in 0...3 {
            #expect(hasSlot(table, .peripheral) == (taken < 2), "\(taken) taken")
            #expect(hasSlot(table, .peripheral, isBonded: true) == (taken < 3), "\(taken) taken")
            #expect(hasSlot(table, .central) == (taken < 3), "\(taken) taken")
            #expect(table.isFull == (taken == 3))
            if taken < 3 { try add(.peripheral, to: &table, isBonded: taken == 2) }
        }
        #expect(hasSlot(table, .peripheral, isBonded: true, isReplaced: true), "what is replaced takes none")
    }

    @Test("Where there is one slot nobody has to leave it to another")
    func oneSlot() {
        let table = LinkTable(linksMaximum: 1)
        #expect(hasSlot(table, .peripheral))
        #expect(table.unprovenInLastSlot == nil)
    }

    @Test("A controller that takes no other has as many slots; the stranger who came last leaves the one that is kept")
    func refused() throws {
        var table = LinkTable(linksMaximum: 8)
        for _ in 0..<3 { try add(.peripheral, to: &table) }
        let last = try #require(table.all.last)
        var sentAway = table.connectionRefused(.commandDisallowed)
        #expect(sentAway == nil && table.connectionsMaximum == nil)
        sentAway = table.connectionRefused(.connectionLimitExceeded)
        #expect(sentAway === last)
        #expect(table.connectionsMaximum == 3)
        end(last)
        sentAway = table.connectionRefused(.connectionLimitExceeded)
        #expect(sentAway == nil, "one is about to leave already")
        table.remove(last)
        #expect(!hasSlot(table, .peripheral))
        #expect(hasSlot(table, .peripheral, isBonded: true))
        table.controllerLost()
        #expect(table.connectionsMaximum == nil)
        #expect(hasSlot(table, .peripheral))
    }

    @Test("Nobody is sent away for an owner who has a slot already")
    func ownerIsThere() throws {
        var table = LinkTable(linksMaximum: 8)
        try add(.peripheral, to: &table)
        try add(.peripheral, to: &table, isBonded: true)
        let sentAway = table.connectionRefused(.connectionLimitExceeded)
        #expect(sentAway == nil)
    }

    @Test("Once every slot is taken, the newest central that has not proved whose address it has may be asked to go")
    func unproven() throws {
        var table = LinkTable(linksMaximum: 2)
        try add(.peripheral, to: &table, isBonded: true)
        #expect(table.lastSlotDeadline == nil)
        let newest = try add(.peripheral, to: &table, isBonded: true)
        #expect(table.unprovenInLastSlot === newest)
        #expect(
            table.lastSlotDeadline == Self.start.advanced(byMilliseconds: Host.unprovenInLastSlotMilliseconds))
        var outputs: [LinkSecurityMachine.Output] = []
        newest.secured.handle(.proved(BondID(1), .open), now: Self.start, into: &outputs)
        #expect(table.unprovenInLastSlot === table.all.first)
        end(newest)
        #expect(table.unprovenInLastSlot == nil)
    }

    @Test("A handle that found no slot is held until the controller has it back")
    func rejected() throws {
        var table = LinkTable(linksMaximum: 1)
        let handle = ConnectionHandle(9)
        var lifecycle = table.lifecycle(at: handle)
        _ = lifecycle.handle(.connectedWithoutSlot, now: Self.start)
        var isFree = table.note(lifecycle, at: handle)
        #expect(!isFree)
        #expect(table.overdue(Self.start) == nil)
        let due = Self.start.advanced(byMilliseconds: LinkLifecycle.disconnectTimeoutMilliseconds)
        #expect(table.overdue(due) == handle)
        _ = lifecycle.handle(.disconnected, now: Self.start)
        isFree = table.note(lifecycle, at: handle)
        #expect(isFree)
        #expect(table.rejected.isEmpty && table.overdue(due) == nil)
    }

    @Test("Of several links to a peer the one that stands is its clients'; what is ending counts until it has ended")
    func ofOnePeer() throws {
        var table = LinkTable(linksMaximum: 8)
        #expect(table.asConnection(to: Self.peer) == .none)
        let made = try add(.central, to: &table, peer: Self.peer)
        let came = try add(.peripheral, to: &table, peer: Self.peer)
        #expect(table.client(of: Self.peer) === made && table.serviceable(Self.peer) === made)
        #expect(table.usersOfEnding(beside: came) == nil)
        end(made)
        #expect(table.asConnection(to: Self.peer) == .standing, "a stranger can be no other's impostor")
        #expect(table.client(of: Self.peer) === made && table.serviceable(Self.peer) === came)
        #expect(table.usersOfEnding(beside: came) == [])
        table.remove(made)
        #expect(table.client(of: Self.peer) == nil)
        #expect(table.link(at: made.handle) == nil && table[made.id] == nil && table[came.id] === came)
    }
}
