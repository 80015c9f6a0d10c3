import BluetoothCore
import BluetoothCrypto
import BluetoothHost
import HCI
import SecurityManager
import Testing

@Suite("Core 5.4, Vol 4, Part E, 7.8.38-7.8.44 and 7.8.77: the controller's resolving list")
struct ResolvingListTests {
    typealias Entry = ResolvingList.Entry
    typealias Action = ResolvingList.Action

    static func entry(_ number: UInt64, key: UInt8? = nil) throws -> Entry {
        let identity = IdentityAddress(DeviceAddress(kind: .random, bits: 0xC000_0000_0000 | number))
        let octet = key ?? UInt8(truncatingIfNeeded: number)
        return Entry(identity: try #require(identity), irk: Secret([UInt8](repeating: octet, count: 16)))
    }

    /// Where the list stands, with Alice the one who is to be in it.
    enum Place: CaseIterable { case empty, adding, settingMode, enabling, on, removing, disabling, givenUp }
    enum Input: CaseIterable {
        /// She is wanted; Bob is, and she is still whom the key names; nobody is, and she is or is not.
        case alice, bob, nobody, forgotten
        /// What the controller answers.
        case success, refused, full
        case reset
    }

    static func list(in place: Place) throws -> ResolvingList {
        var list = ResolvingList(capacity: 4)
        let steps = [.adding, .settingMode, .enabling, .on].firstIndex(of: place).map { $0 + 1 }
        if place != .empty { list.want([try entry(1)]) { _ in true } }
        switch place {
        case .empty: break
        case .adding, .settingMode, .enabling, .on, .removing, .disabling, .givenUp:
            for step in 1...(steps ?? 4) {
                if step > 1 { list.completed(step == 4 && place == .givenUp ? .commandDisallowed : .success) }
                if step < 4 { _ = list.next(isUnused: true) }
            }
        }
        guard place == .removing || place == .disabling else { return list }
        list.want([]) { _ in false }
        _ = list.next(isUnused: true)
        guard place == .disabling else { return list }
        list.completed(.success)
        _ = list.next(isUnused: true)
        return list
    }

    static func happen(_ input: Input, to list: inout ResolvingList) throws {
        switch input {
        case .alice: list.want([try entry(1)]) { _ in true }
        case .bob: list.want([try entry(2)]) { _ in true }
        case .nobody: list.want([]) { _ in true }
        case .forgotten: list.want([]) { _ in false }
        case .success: list.completed(.success)
        case .refused: list.completed(.commandDisallowed)
        case .full: list.completed(.memoryCapacityExceeded)
        case .reset: list.reset(capacity: 4)
        }
    }

    /// What is asked of the controller after the input, and whether Alice is found under any address then.
    struct Outcome: Sendable {
        var action: String?
        var isResolved: Bool
        init(_ action: String?, _ isResolved: Bool = false) { (self.action, self.isResolved) = (action, isResolved) }
    }

    /// In the order of ``Input``.
    static let table: [Place: [Outcome]] = [
        .empty: [
            Outcome("add 1"), Outcome("add 2"), Outcome(nil), Outcome(nil), Outcome(nil), Outcome(nil), Outcome(nil),
            Outcome(nil),
        ],
        .adding: [
            Outcome(nil), Outcome(nil), Outcome(nil), Outcome(nil), Outcome("mode 1"), Outcome(nil), Outcome(nil),
            Outcome(nil),
        ],
        .settingMode: [
            Outcome(nil), Outcome(nil), Outcome(nil), Outcome(nil), Outcome("resolve true"), Outcome("remove 1"),
            Outcome("remove 1"), Outcome(nil),
        ],
        .enabling: [
            Outcome(nil), Outcome(nil), Outcome(nil), Outcome(nil), Outcome(nil, true), Outcome(nil), Outcome(nil),
            Outcome(nil),
        ],
        .on: [
            Outcome(nil, true), Outcome("add 2", true), Outcome(nil, true), Outcome("remove 1", true),
            Outcome(nil, true), Outcome(nil, true), Outcome(nil, true), Outcome(nil),
        ],
        .removing: [
            Outcome(nil, true), Outcome(nil, true), Outcome(nil, true), Outcome(nil, true), Outcome("resolve false"),
            Outcome("resolve false", true), Outcome("resolve false", true), Outcome(nil),
        ],
        .disabling: [
            Outcome(nil), Outcome(nil), Outcome(nil), Outcome(nil), Outcome(nil), Outcome(nil), Outcome(nil),
            Outcome(nil),
        ],
        .givenUp: [
            Outcome(nil), Outcome(nil), Outcome(nil), Outcome(nil), Outcome(nil), Outcome(nil), Outcome(nil),
            Outcome(nil),
        ],
    ]

    static func name(_ action: Action?) -> String? {
        func number(_ identity: IdentityAddress) -> UInt64 { identity.address.bits & 0xFF }
        return switch action {
        case .add(let entry): "add \(number(entry.identity))"
        case .setDevicePrivacyMode(let identity): "mode \(number(identity))"
        case .remove(let identity): "remove \(number(identity))"
        case .setResolution(let enable): "resolve \(enable)"
        case nil: nil
        }
    }

    /// Everything that it asks for, each done as asked.
    static func drain(_ list: inout ResolvingList) -> [String] {
        var actions: [String] = []
        while let action = list.next(isUnused: true) {
            name(action).map { actions.append($0) }
            list.completed(.success)
        }
        return actions
    }

    @Test("Every state, every input", arguments: Place.allCases)
    func stateInput(place: Place) throws {
        let outcomes = try #require(Self.table[place])
        #expect(outcomes.count == Input.allCases.count)
        let alice = try Self.entry(1).identity.address
        for (input, outcome) in zip(Input.allCases, outcomes) {
            var list = try Self.list(in: place)
            try Self.happen(input, to: &list)
            #expect(list.resolved.contains(alice) == outcome.isResolved, "\(place), \(input)")
            #expect(Self.name(list.next(isUnused: true)) == outcome.action, "\(place), \(input)")
        }
    }

    @Test(
        "7.8.38: nothing is asked while somebody is on the air, who is told to rest for as long as something is missing"
    )
    func rest() throws {
        var list = ResolvingList(capacity: 4)
        list.want([try Self.entry(1)]) { _ in true }
        while list.mustRest {
            #expect(list.next(isUnused: false) == nil)
            #expect(list.next(isUnused: true) != nil)
            #expect(list.mustRest, "the controller has still to do it")
            list.completed(.success)
        }
        #expect(list.resolved.count == 1)
    }

    @Test("The first find room, whoever was in it makes room, and a controller without a list is left alone")
    func capacity() throws {
        let (one, two, three) = (try Self.entry(1), try Self.entry(2), try Self.entry(3))
        var list = ResolvingList(capacity: 2)
        list.want([one, two, three]) { _ in true }
        #expect(Self.drain(&list) == ["add 1", "mode 1", "add 2", "mode 2", "resolve true"])
        list.want([three]) { _ in true }
        #expect(Self.drain(&list) == ["remove 2", "add 3", "mode 3"])
        #expect(list.resolved == [one.identity.address, three.identity.address])
        var none = ResolvingList(capacity: 0)
        none.want([one]) { _ in true }
        #expect(!none.mustRest)
        var large = ResolvingList(capacity: 255)
        large.want(try (1...UInt64(ResolvingList.entriesMaximum) + 1).map { try Self.entry($0) }) { _ in true }
        #expect(Self.drain(&large).count { $0.hasPrefix("add") } == ResolvingList.entriesMaximum)
    }

    @Test("A peer whose key is another one now is put in anew")
    func otherKey() throws {
        var list = ResolvingList(capacity: 2)
        list.want([try Self.entry(1)]) { _ in true }
        _ = Self.drain(&list)
        list.want([try Self.entry(1, key: 9)]) { _ in false }
        #expect(Self.drain(&list) == ["remove 1", "add 1", "mode 1"])
    }

    @Test(
        "A list that is shorter than it was said to be is used as far as it goes, and an entry refused is not asked again"
    )
    func shorter() throws {
        var list = ResolvingList(capacity: 4)
        let entries = [try Self.entry(1), try Self.entry(2)]
        list.want(entries) { _ in true }
        for _ in 0..<2 {
            _ = list.next(isUnused: true)
            list.completed(.success)
        }
        #expect(Self.name(list.next(isUnused: true)) == "add 2")
        list.completed(.memoryCapacityExceeded)
        #expect(Self.drain(&list) == ["resolve true"])
        // Nobody else is tried where there is no room.
        list.want(entries + [try Self.entry(3)]) { _ in true }
        #expect(!list.mustRest)
        #expect(list.resolved == [entries[0].identity.address])
        // Where there is, everybody but the one that was refused.
        list = ResolvingList(capacity: 4)
        list.want(entries) { _ in true }
        _ = list.next(isUnused: true)
        list.completed(.commandDisallowed)
        #expect(Self.drain(&list) == ["add 2", "mode 2", "resolve true"])
        list.want(entries) { _ in true }
        #expect(!list.mustRest)
        #expect(list.resolved == [entries[1].identity.address])
        list.reset(capacity: 4)
        list.want(entries) { _ in true }
        #expect(Self.drain(&list).first == "add 1", "until the next reset")
    }

    @Test("Resolution that cannot be ended goes on, and holds nobody up")
    func stuck() throws {
        var list = try Self.list(in: .disabling)
        list.completed(.commandDisallowed)
        #expect(!list.mustRest)
        list.want([try Self.entry(1)]) { _ in true }
        #expect(!list.mustRest)
    }
}
