import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import GATT
import HCI
import SecurityManager
import Simulation
import TestSupport
import Testing
import WorldSupport

/// The whole life of a key and a lock, killed at every output: what is on disk is enough to carry on, and no more than
/// was earned.
@Suite(.capturesFailures) struct KillSimulationTests {
    enum Victim: CaseIterable { case lock, key }
    enum Moment: CaseIterable { case afterAct, beforeCommit }

    /// Kills are spread over at most this many places of one story; the seed says where the spread begins.
    private static let killsMaximum = 150

    @Test(
        "Killed after every act and before every commit, the story ends as it would have", arguments: Victim.allCases,
        Moment.allCases)
    func everywhere(_ victim: Victim, _ moment: Moment) throws {
        let seed = SeededGenerator.runSeed
        let undisturbed = Story(seed: seed)
        try undisturbed.tell()
        let node = undisturbed.node(victim)
        let places = moment == .afterAct ? node.actCount : node.commitCount
        let stride = max(1, places / Self.killsMaximum)
        var place = 1 + Int(seed % UInt64(stride))
        while place <= places {
            let story = Story(seed: seed)
            switch moment {
            case .afterAct: story.node(victim).killAfterActs = place
            case .beforeCommit: story.node(victim).killBeforeCommit = place
            }
            do {
                try story.tell()
            } catch {
                Issue.record("seed \(seed), \(victim) killed \(moment) \(place) of \(places): \(error)")
                return
            }
            place += stride
        }
    }

    @Test("Both killed again and again, at random: the story still ends as it would have")
    func again() {
        let seed = SeededGenerator.runSeed
        for round in 0..<UInt64(60) {
            let story = Story(seed: seed &+ round)
            story.kills = Story.Kills(random: SeededGenerator(seed: seed &+ round), left: 5)
            do {
                try story.tell()
            } catch {
                Issue.record("seed \(seed) &+ \(round): \(error)")
                return
            }
        }
    }
}

/// Connect, pair out of band, promote, subscribe, be away while updates are kept, come back, write signed, prove
/// oneself, receive. Whoever is killed is launched again and asks only for what its disk does not say.
private final class Story {
    struct Stuck: Error { let step: String }
    struct Broken: Error { let what: String }

    /// Kills that are still to come; each launch is given the place of its end.
    struct Kills {
        var random: SeededGenerator
        var left: Int

        mutating func condemn(_ node: Node) {
            guard left > 0 else { return }
            left -= 1
            if random.next() % 2 == 0 {
                node.killAfterActs = node.actCount + Int(random.next() % 40)
            } else {
                node.killBeforeCommit = node.commitCount + 1 + Int(random.next() % 60)
            }
        }
    }

    var kills: Kills?

    let world: World
    let lock: Node
    let key: Node
    private var peripheral: PeripheralApp?
    private var central: CentralApp?
    private var service: PublishedService?
    private var hasSubscribed = false
    /// What is on disk is what is asked for: a lost link ends the wish, and a kill before the commit takes it back.
    private var wantsConnection: Bool {
        key.store.load().restorations.values.contains { !$0.pendingConnections.isEmpty }
    }
    private var queued: [[UInt8]] = []
    private var received: Set<[UInt8]> = []
    private var promoted: Set<BondID> = []

    init(seed: UInt64) {
        world = World(seed: seed)
        lock = world.add("lock", seed: seed &+ 11)
        key = world.add("key", seed: seed &+ 22)
    }

    func node(_ victim: KillSimulationTests.Victim) -> Node { victim == .lock ? lock : key }

    func tell() throws {
        launchWhoeverIsDead()
        try reach("powered on") { central?.states.last == .poweredOn && peripheral?.states.last == .poweredOn }
        try bond()
        try prove("promotion")
        for node in [lock, key] {
            try insist("promoted") {
                node.call { host in for bond in host.bonds { host.promoteBond(bond.id) } }
                return node.store.load().bonds.contains { $0.state == .confirmed }
            }
        }
        promoted = Set(lock.store.load().bonds.map(\.id))
        try subscribe()
        try leave()
        try queueUpdates()
        try writeSigned()
        try prove("delivery")
        try insist("delivered") {
            central?.updates.forEach { received.insert($0.value) }
            world.run(forMilliseconds: 300)
            central?.updates.forEach { received.insert($0.value) }
            if !isAnyoneDead, !isProven { encryptAgain() }
            return received.isSuperset(of: queued)
                && lock.store.load().restorations.values.allSatisfy(\.queuedUpdates.isEmpty)
        }
        try check()
    }

    // MARK: Steps

    private func bond() throws {
        try insist("bonded") {
            guard connected() else { return false }
            let (mine, theirs) = (key.store.load().bonds, lock.store.load().bonds)
            if let bond = mine.first(where: { $0.state != .provisional }),
                theirs.contains(where: { $0.state != .provisional && $0.ltk == bond.ltk })
            {
                return true
            }
            // One side lost its half: both forget and pair anew, as people would.
            for node in [lock, key] { node.call { host in for bond in host.bonds { host.deleteBond(bond.id) } } }
            guard connected(), let address = lock.host?.identity.address.address, let app = central,
                let door = app.link?.peer
            else { return false }
            let keyPair = P256KeyPair.generate()
            let random = Secret(Array(1...16))
            lock.call {
                $0.setPairingWindow(
                    PairingWindow(
                        method: .outOfBand(keyPair: keyPair, random: random), credential: "alice"))
            }
            let data = OutOfBandOffer(random: random).data(address: address, publicKey: keyPair.publicKey)
            let before = app.paired.count
            key.call { $0.pair(app.manager, door, .outOfBand(data), credential: "door") }
            world.run(forMilliseconds: 3_000) { app.paired.count > before || isAnyoneDead }
            // The rest of an attempt whose side was killed holds the door until its link is found to be gone.
            world.run(forMilliseconds: 2_500) { isAnyoneDead }
            return false
        }
    }

    /// A new link, encrypted with the bond.
    private func prove(_ what: String) throws {
        try leave()
        try insist("proved for " + what) {
            guard connected() else { return false }
            encryptAgain()
            return world.run(forMilliseconds: 1_000) { isProven || isAnyoneDead } && isProven
        }
    }

    private var isProven: Bool {
        guard let peer = central?.link?.peer else { return false }
        return key.host?.link(of: peer)?.isProven == true
            && peripheral?.links.first.flatMap { lock.host?.link(of: $0.peer) }?.isProven == true
    }

    private func encryptAgain() {
        guard connected(), let peer = central?.link?.peer else { return }
        key.call { $0.encrypt(peer) }
        world.run(forMilliseconds: 300) { isProven || isAnyoneDead }
    }

    private func subscribe() throws {
        try insist("subscribed") {
            if !isProven { encryptAgain() }
            guard isProven, let app = central, let peer = app.link?.peer, let value = service?.characteristics[2].value,
                let ccc = service?.characteristics[2].configuration
            else { return false }
            var token: OperationToken?
            key.call { token = $0.setNotify(app.manager, peer, value: value, ccc: ccc, kind: .indicate) }
            world.run(forMilliseconds: 2_000) { token.flatMap { app.results[$0] } != nil || isAnyoneDead }
            guard let token, case .success = app.results[token], key.host != nil else { return false }
            return true
        }
        hasSubscribed = true
        if lock.host != nil, lock.store.load().gattClients.isEmpty { throw Broken(what: "subscription lost") }
    }

    private func queueUpdates() throws {
        for number: UInt8 in 1...3 {
            try insist("queued \(number)") {
                guard let app = peripheral, let value = service?.characteristics[2].value, lock.host != nil else {
                    return false
                }
                var isTaken = false
                lock.call {
                    isTaken = $0.updateValue(app.manager, value, [0xA0, number], to: nil, keepForAbsent: true)
                }
                return isTaken && lock.host != nil
            }
            queued.append([0xA0, number])
        }
    }

    private func writeSigned() throws {
        for number: UInt8 in 1...3 {
            try insist("signed \(number)") {
                guard connected(), let app = central, let peer = app.link?.peer,
                    let handle = service?.characteristics[1].value
                else { return false }
                let before = peripheral?.writes.count ?? 0
                key.call { _ = $0.perform(app.manager, peer, .signedWriteWithoutResponse(handle, [number])) }
                world.run(forMilliseconds: 1_000) { (peripheral?.writes.count ?? 0) > before || isAnyoneDead }
                return (peripheral?.writes.count ?? 0) > before && lock.host != nil
            }
        }
    }

    private func leave() throws {
        try insist("left") {
            guard let app = central, key.host != nil else { return false }
            if wantsConnection, let peer = door { key.call { $0.cancelConnection(app.manager, peer) } }
            if key.host == nil { return false }
            return world.run(forMilliseconds: 3_000) { peripheral?.links.isEmpty == true || isAnyoneDead }
                && peripheral?.links.isEmpty == true
        }
    }

    private var door: PeerIdentifier? {
        guard let address = lock.store.load().identity?.address.address else { return nil }
        var name: PeerIdentifier?
        key.call { name = $0.peer(at: address) }
        return name
    }

    /// Asks for the connection once; a relaunch finds it on the disk.
    private func connected() -> Bool {
        guard let app = central, key.host != nil, lock.host != nil else { return false }
        if !wantsConnection, let door {
            key.call { $0.connect(app.manager, door, options: 0, askedAtSeconds: 0) }
            guard key.host != nil else { return false }
        }
        world.run(forMilliseconds: 6_000) { app.link != nil && peripheral?.links.isEmpty == false || isAnyoneDead }
        return app.link != nil && !isAnyoneDead
    }

    // MARK: Deaths

    private var isAnyoneDead: Bool { lock.host == nil || key.host == nil }

    private func launchWhoeverIsDead() {
        for node in [key, lock] where node.host == nil { kills?.condemn(node) }
        if key.host == nil {
            let kept = key.store.load().restorations[RestoreKey(role: .central, identifier: "pocket")]
            key.launch { central = CentralApp($0, restoreIdentifier: "pocket") }
            if key.host != nil { noteRestored(kept, central?.record, key) }
        }
        if lock.host == nil {
            let kept = lock.store.load().restorations[RestoreKey(role: .peripheral, identifier: "door")]
            lock.launch { host in
                let app = PeripheralApp(host, restoreIdentifier: "door")
                peripheral = app
                let published = try? host.publish(app.manager, PeripheralApp.definition)
                if let service, published?.declaration != service.declaration { defects.append("other handles") }
                service = published
                if app.record?.advertising == nil {
                    host.startAdvertising(
                        app.manager, AdvertisingRecord(localName: "Door", services: [PeripheralApp.service]))
                }
            }
            if lock.host != nil { noteRestored(kept, peripheral?.record, lock) }
        }
    }

    private var defects: [String] = []

    private func noteRestored(_ kept: RestorationRecord?, _ told: RestorationRecord?, _ node: Node) {
        if let kept, kept != told { defects.append("\(node.name) was not told what is kept") }
        if node.store.load().bonds.contains(where: { $0.state == .provisional }) {
            defects.append("half a bond at \(node.name)")
        }
        let confirmed = Set(lock.store.load().bonds.filter { $0.state == .confirmed }.map(\.id))
        if !confirmed.isSuperset(of: promoted) { defects.append("a promoted bond is lost") }
        if hasSubscribed, lock.store.load().gattClients.isEmpty { defects.append("a subscription is lost") }
    }

    private func reach(_ step: String, _ condition: () -> Bool) throws {
        try insist(step) { world.run(forMilliseconds: 500) { condition() || isAnyoneDead } && !isAnyoneDead }
    }

    /// Repeats a step, with the dead launched again, until it has been done.
    private func insist(_ step: String, _ body: () throws -> Bool) throws {
        for _ in 0..<16 {
            launchWhoeverIsDead()
            if try body(), !isAnyoneDead { return }
            central?.updates.forEach { received.insert($0.value) }
        }
        throw Stuck(step: step)
    }

    private func check() throws {
        if let defect = defects.first { throw Broken(what: defect) }
        var counters: Set<[UInt8]> = []
        for write in key.signedWrites {
            let counter = Array(write.suffix(12).prefix(4))
            guard counters.insert(counter).inserted else { throw Broken(what: "counter \(counter) was used twice") }
        }
        let left = lock.store.load()
        guard left.restorations.values.contains(where: { $0.advertising != nil }) else {
            throw Broken(what: "advertising lost")
        }
    }
}
