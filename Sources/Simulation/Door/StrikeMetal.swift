import BluetoothCore
import GPIO
import Glibc
import StrikeControl
import StrikeKeeping

/// A door with a strike, as it is without any program: what the line does to the bolt, what the bolt does to the leaf, and what the
/// sensors see of all that. Confined to one thread. It knows no time but what it is given.
///
/// It is the ``DoorChip`` of a keeper, and outlives it: a line that was set stays so when its program dies, as on a chip at USB.
package final class StrikeMetal {
    /// What has become of it, for whoever watches.
    package enum Happening: Hashable, Sendable {
        case strike(isReleased: Bool)
        case bolt(isLocked: Bool)
        case leaf(isClosed: Bool)
        case input(InputUse, isActive: Bool)
        case chip(isThere: Bool)
    }

    private let rules: StrikeRules
    private let uses: [InputUse]
    /// How long the bolt takes.
    package var travelMilliseconds: UInt64
    package var now: () -> Instant
    package var watch: (Happening) -> Void = { _ in }
    /// An input that a keeper watches has moved.
    package var wake: () -> Void = {}
    /// ``pass()`` is wanted then; never for nil.
    package var schedule: (Instant?) -> Void = { _ in }
    /// A keeper looks: hands whose moment this is move now.
    package var attend: () -> Void = {}
    /// As a keeper watches it.
    package var descriptor: Int32?

    /// nil without a chip: then there is no current.
    private var isActive: Bool?
    package private(set) var isBoltLocked: Bool
    package private(set) var isClosed = true
    /// It stays where it is, whatever the strike does.
    package private(set) var isJammed = false
    /// errno of every call to the chip; 0: it works.
    package var code: Int32 = 0
    /// The line takes every setting, and does nothing.
    package var isLineDead = false
    private var arrives: Instant? {
        didSet { schedule(arrives) }
    }
    private var levels: [InputUse: Bool] = [:]
    private var moved: Set<InputUse> = []

    /// The bolt is where the strike without current leaves it.
    package init(
        _ rules: StrikeRules, uses: [InputUse], travelMilliseconds: UInt64, now: @escaping () -> Instant
    ) {
        self.rules = rules
        self.uses = uses
        self.travelMilliseconds = travelMilliseconds
        self.now = now
        isActive = false
        isBoltLocked = rules.failure == .secure
        levels = [.contact: true, .feedback: isBoltLocked]
    }

    package var hasChip: Bool { isActive != nil }
    package var isReleased: Bool { rules.isActive(released: true) == isActive ?? false }

    /// Time has passed.
    package func pass() {
        guard let arrives, now() >= arrives else { return }
        self.arrives = nil
        moveBolt(isLocked: !isReleased)
    }

    // MARK: Hands

    /// False where the bolt holds the leaf.
    package func pull() -> Bool {
        guard !isClosed || !isBoltLocked else { return false }
        moveLeaf(isClosed: false)
        return true
    }

    /// With a crowbar.
    package func force() { moveLeaf(isClosed: false) }

    /// The latch gives way to a leaf that falls shut.
    package func shut() { moveLeaf(isClosed: true) }

    package func set(_ use: InputUse, isActive: Bool) {
        guard levels[use, default: false] != isActive else { return }
        level(use, isActive)
    }

    /// A key from inside, or a jam that is cleared.
    package func turn(isLocked: Bool) { moveBolt(isLocked: isLocked) }

    package func jam() {
        isJammed = true
        arrives = nil
    }

    package func free() {
        isJammed = false
        goAfter()
    }

    package func unplug() {
        guard hasChip else { return }
        drive(nil)
        watch(.chip(isThere: false))
        wake()
    }

    package func plug() {
        guard !hasChip else { return }
        drive(false)
        watch(.chip(isThere: true))
    }

    // MARK: Its parts

    private func drive(_ level: Bool?) {
        let before = isReleased
        isActive = level
        guard isReleased != before else { return }
        watch(.strike(isReleased: isReleased))
        goAfter()
    }

    private func goAfter() {
        guard !isJammed else { return }
        guard isBoltLocked == isReleased else { return arrives = nil }
        guard travelMilliseconds > 0 else { return moveBolt(isLocked: !isReleased) }
        arrives = now().advanced(byMilliseconds: travelMilliseconds)
    }

    private func moveBolt(isLocked: Bool) {
        guard isLocked != isBoltLocked else { return }
        isBoltLocked = isLocked
        watch(.bolt(isLocked: isLocked))
        level(.feedback, isLocked)
    }

    private func moveLeaf(isClosed: Bool) {
        guard isClosed != self.isClosed else { return }
        self.isClosed = isClosed
        watch(.leaf(isClosed: isClosed))
        level(.contact, isClosed)
    }

    private func level(_ use: InputUse, _ isActive: Bool) {
        levels[use] = isActive
        moved.insert(use)
        switch use {
        case .exit, .tamper, .fire: watch(.input(use, isActive: isActive))
        case .contact, .feedback: break
        }
        if uses.contains(use) { wake() }
    }
}

extension StrikeMetal: DoorChip {
    package func open() throws(GPIOFailure) -> any DoorLines {
        attend()
        try check()
        if !isLineDead { drive(rules.isActive(released: false)) }
        moved = []
        return StrikeMetalLines(self)
    }

    fileprivate func check() throws(GPIOFailure) {
        guard hasChip else { throw GPIOFailure("the simulated chip", ENODEV) }
        guard code == 0 else { throw GPIOFailure("the simulated chip", code) }
    }

    fileprivate func set(isActive: Bool) throws(GPIOFailure) -> Bool {
        try check()
        if !isLineDead { drive(isActive) }
        return try level()
    }

    fileprivate func level() throws(GPIOFailure) -> Bool {
        try check()
        return isActive ?? false
    }

    fileprivate func readings() throws(GPIOFailure) -> [LineReading] {
        attend()
        try check()
        defer { moved = [] }
        return uses.map { LineReading(isActive: levels[$0, default: false], hasMoved: moved.contains($0)) }
    }
}

private final class StrikeMetalLines: DoorLines {
    private let metal: StrikeMetal

    init(_ metal: StrikeMetal) { self.metal = metal }

    var descriptor: Int32? { metal.descriptor }
    func set(isActive: Bool) throws(GPIOFailure) -> Bool { try metal.set(isActive: isActive) }
    func isActive() throws(GPIOFailure) -> Bool { try metal.level() }
    func inputs() throws(GPIOFailure) -> [LineReading] { try metal.readings() }
}
