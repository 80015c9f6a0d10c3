import BlueZSupport
import BluetoothCore
import DBus
import GATT
import Testing

@testable import BlueZ

/// The machine beside a bluetoothd that is asked for what a test wants answered.
struct BlueZBench {
    private(set) var machine = BlueZCentral()
    var now = Instant(nanoseconds: 1_000_000_000)
    /// What was called and has no answer yet, the oldest first.
    private(set) var calls: [(id: DBusCallID, call: DBusCall)] = []

    var deadline: Instant? { machine.deadline }

    /// Hands the machine an event. What it says, without its calls, which wait for ``answer(_:_:)``.
    @discardableResult
    mutating func handle(_ event: BlueZCentral.Event) -> [BlueZCentral.Output] {
        var outputs: [BlueZCentral.Output] = []
        machine.handle(event, now: now, into: &outputs)
        // Whoever waits for an instant that has passed does not wait.
        #expect(machine.deadline.map { $0 > now } ?? true, "what was due has not been done behind \(event)")
        return outputs.filter { output in
            guard case .act(.call(let id, let call), _) = output else { return true }
            calls.append((id, call))
            return false
        }
    }

    /// Answers the oldest call of this name.
    @discardableResult
    mutating func answer(_ member: String, _ body: [DBusValue] = []) -> [BlueZCentral.Output]? {
        takeCall(member).map { handle(.bus(.answered($0.id, .success(body)))) }
    }

    @discardableResult
    mutating func refuse(_ member: String, _ name: String, _ text: String = "") -> [BlueZCentral.Output]? {
        takeCall(member).map { handle(.bus(.answered($0.id, .failure(DBusError(name: name, text: text))))) }
    }

    mutating func takeCall(_ member: String) -> (id: DBusCallID, call: DBusCall)? {
        calls.firstIndex { $0.call.member == member }.map { calls.remove(at: $0) }
    }

    /// The oldest call of this name, which is to have no answer yet, or none at all.
    mutating func unanswered(_ member: String) throws -> DBusCallID {
        let call = takeCall(member)
        return try #require(call).id
    }

    var members: [String] { calls.map(\.call.member) }

    @discardableResult
    mutating func pass(milliseconds: UInt64) -> [BlueZCentral.Output] {
        now = now.advanced(byMilliseconds: milliseconds)
        return handle(.timerFired)
    }

    // MARK: Where a test begins

    /// Launched, with these wishes, whose profile bluetoothd has registered.
    static func registered(for wishes: BlueZWishes = wishes) -> Self {
        var bench = Self()
        bench.launch()
        bench.handle(.wished(wishes))
        bench.answer("RegisterApplication")
        return bench
    }

    /// The lock's link is up behind that. The calls for its notifications wait.
    static func linked(for wishes: BlueZWishes = wishes) -> Self {
        var bench = registered(for: wishes)
        bench.comesUp()
        return bench
    }

    // MARK: What bluetoothd says

    /// Up to where its objects are known.
    @discardableResult
    mutating func launch(powered: Bool = true, lock changes: [String: DBusValue] = [:]) -> [BlueZCentral.Output] {
        handle(.bus(.opened))
        answer("GetNameOwner", [.string(BlueZScript.daemon)])
        return answer("GetManagedObjects", [BlueZScript.objects(powered: powered, lock: changes)]) ?? []
    }

    @discardableResult
    mutating func owner(_ new: String, before: String = BlueZScript.daemon) -> [BlueZCentral.Output] {
        handle(.bus(BlueZScript.owner(new, before: before)))
    }

    /// Of the lock's device.
    @discardableResult
    mutating func changed(_ properties: [String: DBusValue]) -> [BlueZCentral.Output] {
        handle(.bus(BlueZScript.changed(BlueZScript.lock, "Device1", properties)))
    }

    @discardableResult
    mutating func powered(_ isOn: Bool) -> [BlueZCentral.Output] {
        handle(.bus(BlueZScript.changed(BlueZScript.adapter, "Adapter1", ["Powered": .boolean(isOn)])))
    }

    @discardableResult
    mutating func notified(_ value: [UInt8], by sender: String = BlueZScript.daemon) -> [BlueZCentral.Output] {
        handle(.bus(BlueZScript.notified(value, by: sender)))
    }

    /// The lock's link comes up, as far as its tree.
    @discardableResult
    mutating func comesUp() -> [BlueZCentral.Output] {
        changed(["Connected": .boolean(true)]) + changed(["ServicesResolved": .boolean(true)])
    }

    static let wishes = BlueZWishes(
        connections: [BlueZScript.lockAddress], notifications: [BlueZScript.lockAddress: [BlueZScript.challengeValue]])

    static var info: BlueZLinkInfo {
        BlueZLinkInfo(path: BlueZScript.lock, address: BlueZScript.lockAddress, name: "Latch", isPaired: true, mtu: 23)
    }
}
