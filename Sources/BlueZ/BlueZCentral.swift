import BluetoothCore
import DBus
import GATT

/// The central role on an adapter that bluetoothd keeps: what is wanted of peers, said in calls on the bus, and what bluetoothd tells of
/// them.
///
/// - In: what the bus says, what is wanted, operations of clients, time.
/// - Out: calls and answers on the bus, links that come and go, values, results.
/// - Owner: the host. It remembers nothing that outlives bluetoothd: what is wanted comes with ``Event/wished(_:)``.
///
/// A pending connection is a profile of this side's that is registered with a service that the peer has: bluetoothd connects then by itself
/// whenever the bonded peer is heard. With a peer that it has no bond with it does not connect by itself: that one is called when it is
/// heard (``BlueZDirectConnections``).
///
/// BlueZ, doc/gatt-api.txt (GattManager1, GattProfile1)
package struct BlueZCentral: Sendable {
    /// What becomes of an answer.
    enum Purpose: Equatable {
        case owner
        case objects
        case register
        case unregister
        case startDiscovery
        case stopDiscovery
        case operation(UInt64)
        case notify(device: String, AttributeHandle)
        case connect(device: String)
        case pairing
        case ignored
    }

    /// Whether bluetoothd is on the bus, and how much this side knows of it.
    enum Presence: Equatable {
        case closed
        case asking
        case absent
        /// Its objects were asked for.
        case reading(owner: String)
        case known(owner: String)
    }

    let choice: AdapterChoice
    var presence = Presence.closed
    var hasBeenThere = false
    /// The name of the error with which bluetoothd, or the bus, has refused to say what there is.
    var refusal: String?
    /// When a bluetoothd that has not said what there is is asked once more.
    var askAgain: Instant?
    var objects = BlueZObjects()
    /// The adapter's object. Another one that is meant as well takes its place when it is off or gone, and not before.
    var inUse: String?
    var wishes = BlueZWishes()
    var registration = BlueZRegistration()
    var discovery = BlueZDiscovery()
    var direct = BlueZDirectConnections()
    var links: [String: BlueZLink] = [:]
    /// Devices whose link this side has given up, and bluetoothd still has: what is wished for from now on is another one. A link that is
    /// there at this instant still is one that bluetoothd does not end, and is used again.
    var ending: [String: Instant] = [:]
    /// Devices whose link this side has given up and others have: as ``ending``, until the next wishes come.
    var released: Set<String> = []
    /// Whom to be connected with, when bluetoothd's links were looked at last.
    var wishedBefore: Set<DeviceAddress> = []
    var operations = BlueZOperations()
    var pairing: BlueZPairing?
    var toldState = BlueZState.unknown
    /// Until bluetoothd's devices have been looked at for the first time, since it, or the adapter, has come: their links are older.
    var isFresh = true
    var calls = DBusCalls<Purpose>()

    /// bluetoothd takes 2 s to end a link.
    static let endingMaximumMilliseconds: UInt64 = 4_000

    /// What stood in the way may have gone: a policy, or more devices than this side reads of.
    static let askAgainMilliseconds: UInt64 = 30_000

    /// What bluetoothd is called on the bus.
    package static let busName = BlueZName.service

    /// The signals that this side has to hear, as rules for matches of D-Bus's.
    package static let matches = [
        "type='signal',sender='\(busName)'",
        DBusName.ownerMatch(busName),
    ]

    package init(adapter choice: AdapterChoice = .any) { self.choice = choice }

    package mutating func handle(_ event: Event, now: Instant, into outputs: inout [Output]) {
        switch event {
        case .bus(let event): heard(event, now, &outputs)
        case .wished(let wishes): wished(wishes, &outputs)
        case .operation(let token, let link, let operation, let until):
            begin(token, link, operation, until: until, &outputs)
        case .lapsed(let call):
            if case .operation(let token)? = calls.take(call) { lapsed(token, &outputs) }
        case .disconnect(let link): disconnect(link, now, &outputs)
        case .pair(let address): pair(address, now, &outputs)
        case .cancelPairing(let address): cancelPairing(address, &outputs)
        case .codeProvided(let failure): codeProvided(failure, &outputs)
        case .forget(let address): forget(address, &outputs)
        case .timerFired: break
        }
        settle(now, &outputs)
    }

    /// When ``Event/timerFired`` is due.
    package var deadline: Instant? {
        let parts = [
            askAgain, registration.deadline, discovery.deadline, direct.deadline, operations.deadline, pairing?.until,
            ending.values.min(),
        ]
        return (parts + links.values.map(\.deadline)).compactMap { $0 }.min()
    }

    private mutating func settle(_ now: Instant, _ outputs: inout [Output]) {
        settlePresence(now, &outputs)
        let chosen = adapter?.isPowered == true ? inUse : choice.chosen(of: objects.adapters.values)?.path
        if chosen != inUse, inUse != nil, chosen != nil {
            // Nothing is carried over to another one: first as if this one were all that there is.
            inUse = nil
            settleParts(now, &outputs)
        }
        inUse = chosen
        settleParts(now, &outputs)
    }

    /// Brings bluetoothd closer to what is wanted now.
    private mutating func settleParts(_ now: Instant, _ outputs: inout [Output]) {
        settleState(&outputs)
        settlePairing(now, &outputs)
        let wanted = wantedDevices
        settleLinks(wanted, now, &outputs)
        settleRegistration(wanted, now, &outputs)
        settleDirectConnections(now, &outputs)
        settleDiscovery(now, &outputs)
        settleOperations(now, &outputs)
    }

    // MARK: Calls

    /// Without a destination it is bluetoothd's, and no call while there is none: one by the service's name would have the bus start it.
    mutating func call(
        _ path: String, _ interface: String, _ member: String, _ body: [DBusValue] = [], to destination: String? = nil,
        for purpose: Purpose, until: Instant? = nil, _ outputs: inout [Output]
    ) {
        guard let destination = destination ?? owner else { return }
        let call = DBusCall(to: destination, path: path, interface: interface, member: member, body: body)
        outputs.append(.act(calls.make(call, for: purpose), until: until))
    }

    /// bluetoothd's own name, which nobody else can have: calls go to this one, and signals are its. nil until its objects are known.
    var owner: String? {
        switch presence {
        case .known(let owner), .reading(let owner): owner
        case .closed, .asking, .absent: nil
        }
    }

    var adapter: BlueZAdapter? { inUse.flatMap { objects.adapters[$0] } }

    /// The kernel's; nil without an adapter.
    package var adapterNumber: UInt16? { adapter?.number }

    var isOn: Bool { if case .known = presence { adapter?.isPowered ?? false } else { false } }
}
