import BluetoothCore

/// Calls to connect with devices that bluetoothd has no bond with, and so does not connect with by itself.
///
/// - In: the devices that are wanted, and those that are heard; what becomes of each call; time.
/// - Out: the devices to call, and those whose call is to be taken back (``Step``).
/// - Owner: ``BlueZCentral``.
///
/// A device is called while it is heard, and not before: a call that waits for a device that is away stands in everybody's way for as long
/// as it waits, and for 40 s behind its caller's death.
///
/// Core 5.4, Vol 3, Part C, 9.3.8 (Direct connection establishment procedure); BlueZ, doc/device-api.txt (Connect)
struct BlueZDirectConnections: Equatable, Sendable {
    private enum State: Equatable {
        case underWay
        /// It is not called again before this instant.
        case waiting(until: Instant)
        /// It is called when it is heard.
        case due
    }

    private struct Attempt: Equatable {
        var state = State.due
        /// One behind the other.
        var failures: UInt64 = 0
    }

    /// By the devices' objects: those alone that are wanted.
    private var attempts: [String: Attempt] = [:]

    /// Behind a link that was made and is not there: the first one. Behind a call in vain: the second, and those after it.
    private static let wait = DoublingWait(firstMilliseconds: 1_000, longestMilliseconds: 30_000)

    /// When a device may be called again.
    var deadline: Instant? {
        attempts.values.compactMap { if case .waiting(let until) = $0.state { until } else { nil } }.min()
    }

    var isCalling: Bool { attempts.values.contains { $0.state == .underWay } }

    struct Step: Equatable {
        var call: [String] = []
        var takeBack: [String] = []
    }

    /// `wanted`: devices without a bond and without a link. `connected`: those that have a link by now.
    mutating func step(wanted: Set<String>, heard: Set<String>, connected: Set<String>, _ now: Instant) -> Step {
        let over = attempts.filter { !wanted.contains($0.key) }
        for device in over.keys { attempts[device] = nil }
        for (device, attempt) in attempts {
            if case .waiting(let until) = attempt.state, until <= now { attempts[device]?.state = .due }
        }
        let due = wanted.intersection(heard).filter { attempts[$0, default: Attempt()].state == .due }
        for device in due { attempts[device, default: Attempt()].state = .underWay }
        return Step(
            call: due.sorted(),
            takeBack: over.filter { $0.value.state == .underWay && !connected.contains($0.key) }.keys.sorted())
    }

    /// bluetoothd has made the link, or has not. It says so of the link itself, too: who is not connected a moment later is called again.
    mutating func answered(_ device: String, isMade: Bool, _ now: Instant) {
        guard let attempt = attempts[device], attempt.state == .underWay else { return }
        let failures = isMade ? 0 : attempt.failures + 1
        let until = now.advanced(byMilliseconds: Self.wait.milliseconds(failures: failures + 1))
        attempts[device] = Attempt(state: .waiting(until: until), failures: failures)
    }

    mutating func forget() { attempts = [:] }
}
