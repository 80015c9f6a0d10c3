import BluetoothCore
import GPIO
import Glibc
import StrikeControl

/// Carries out what ``StrikeMachine`` decides: the line of the strike, the lines beside it, and the chip that comes and goes.
///
/// Confined to one thread. Everything is done when a function returns, and the timer is armed for what is next.
package final class StrikeKeeper {
    package struct Surroundings {
        package var now: () -> Instant
        /// The timer goes off then; never for nil.
        package var arm: (Instant?) -> Void
        /// To the daemon, if there is one.
        package var send: (StrikeReport) -> Void
        /// For the operator.
        package var tell: (String) -> Void

        package init(
            now: @escaping () -> Instant, arm: @escaping (Instant?) -> Void, send: @escaping (StrikeReport) -> Void,
            tell: @escaping (String) -> Void
        ) {
            self.now = now
            self.arm = arm
            self.send = send
            self.tell = tell
        }
    }

    /// How often a chip that is gone is looked for.
    package static let openingMilliseconds: UInt64 = 100
    /// How often the strike's line is read, though nothing is asked of it: a chip that is unplugged wakes nobody.
    package static let readingMilliseconds: UInt64 = 1_000

    private let rules: StrikeRules
    private let uses: [InputUse]
    private let debounceMilliseconds: UInt64
    private let chip: any DoorChip
    private let surroundings: Surroundings
    private let began: Instant
    private var machine: StrikeMachine
    private var lines: (any DoorLines)?
    private var debouncers: [Debouncer] = []
    /// When the chip is looked for, or the line read.
    private var look: Instant?
    /// What the daemon knows.
    private var told: StrikeStatus?
    /// Why there is no chip, as far as the operator knows.
    private var complaint: String?

    package init(_ plan: StrikePlan, chip: any DoorChip, surroundings: Surroundings) {
        rules = plan.rules
        uses = plan.inputs.map(\.use)
        debounceMilliseconds = plan.debounceMilliseconds
        self.chip = chip
        self.surroundings = surroundings
        began = surroundings.now()
        machine = StrikeMachine(plan.rules)
    }

    /// Readable when ``linesMoved()`` has something to do; nil while there is nothing to watch.
    package var descriptor: Int32? { lines?.descriptor }

    /// The first act: the line goes to its rest, if there is a chip.
    package func begin() {
        open()
        settle()
    }

    /// The last act. What the line is to do then is said by the chip: it is told to rest.
    package func end() {
        if let lines { _ = try? lines.set(isActive: rules.isActive(released: false)) }
    }

    package func take(_ order: StrikeOrder) {
        feed(.order(order))
        settle()
    }

    /// A daemon has said hello.
    package func greet() {
        told = nil
        surroundings.send(.welcome(began: began))
        feed(.daemon(isThere: true))
        settle()
    }

    package func daemonIsGone() {
        feed(.daemon(isThere: false))
        settle()
    }

    package func linesMoved() {
        readInputs()
        settle()
    }

    package func timeIsUp() {
        let now = surroundings.now()
        feed(.time)
        if debouncers.contains(where: { $0.deadline.map { now >= $0 } ?? false }) { readInputs() }
        if let look, now >= look { lines == nil ? open() : readLine() }
        settle()
    }

    private var deadline: Instant? {
        let debounced = debouncers.compactMap(\.deadline).min()
        return Instant.earliest(machine.deadline, Instant.earliest(debounced, look))
    }

    private func settle() {
        surroundings.arm(deadline)
        let status = machine.status
        guard status != told else { return }
        told = status
        surroundings.send(.status(status))
    }

    private func feed(_ event: StrikeMachine.Event) {
        var outputs: [StrikeMachine.Output] = []
        machine.handle(event, now: surroundings.now(), into: &outputs)
        // Before anything is carried out: were the line set first and this process held up then, nothing would end the pulse.
        surroundings.arm(deadline)
        for output in outputs {
            switch output {
            case .set(let isReleased): set(isReleased: isReleased)
            case .report(let report): surroundings.send(report)
            case .tell(let text): surroundings.tell(text)
            }
        }
    }

    private func set(isReleased: Bool) {
        guard let lines else { return }
        do throws(GPIOFailure) {
            let reads = try lines.set(isActive: rules.isActive(released: isReleased))
            feed(.line(.reads(isReleased: reads == rules.isActive(released: true))))
        } catch {
            if error.isOfAbsence { return lose(error) }
            surroundings.tell("\(error)")
            feed(.line(.failed))
        }
    }

    // MARK: The chip

    private func open() {
        do throws(GPIOFailure) {
            let lines = try chip.open()
            let readings = try lines.inputs()
            self.lines = lines
            debouncers = readings.map { Debouncer(milliseconds: debounceMilliseconds, isActive: $0.isActive) }
            lookLater(Self.readingMilliseconds)
            if complaint != nil { surroundings.tell("the chip is there, and the line at rest") }
            complaint = nil
            feed(.chip(inputs))
        } catch {
            lookLater(Self.openingMilliseconds)
            if complaint != error.description { surroundings.tell("\(error)") }
            complaint = error.description
        }
    }

    private func lookLater(_ milliseconds: UInt64) {
        look = surroundings.now().advanced(byMilliseconds: milliseconds)
    }

    /// The chip is gone, or says what cannot be believed. It is requested anew, and the strike's line is at rest with that.
    private func lose(_ failure: GPIOFailure) {
        end()
        lines = nil
        debouncers = []
        complaint = failure.description
        surroundings.tell("\(failure): the chip is opened anew")
        lookLater(0)
        feed(.chipGone)
    }

    /// Whether the line still is what it was set to.
    private func readLine() {
        guard let lines else { return }
        lookLater(Self.readingMilliseconds)
        do throws(GPIOFailure) {
            guard try lines.isActive() == rules.isActive(released: machine.isReleased) else {
                throw GPIOFailure("the strike's line is not as it was set", EIO)
            }
        } catch {
            lose(error)
        }
    }

    private func readInputs() {
        guard let lines else { return }
        do throws(GPIOFailure) {
            let readings = try lines.inputs()
            let now = surroundings.now()
            var hasChanged = false
            for (index, reading) in zip(debouncers.indices, readings) {
                let counts = debouncers[index].handle(reading.isActive, hasMoved: reading.hasMoved, now: now)
                hasChanged = hasChanged || counts
            }
            if hasChanged { feed(.inputs(inputs)) }
        } catch {
            lose(error)
        }
    }

    private var inputs: StrikeInputs {
        var inputs = StrikeInputs()
        for (use, line) in zip(uses, debouncers) {
            switch use {
            case .contact: inputs.isClosed = line.isActive
            case .feedback: inputs.isLocked = line.isActive
            case .exit: inputs.isExit = line.isActive
            case .tamper: inputs.isTampered = line.isActive
            case .fire: inputs.isFire = line.isActive
            }
        }
        return inputs
    }
}

extension GPIOFailure {
    /// No chip is there any more to be asked.
    fileprivate var isOfAbsence: Bool { code == ENODEV || code == ENXIO }
}
