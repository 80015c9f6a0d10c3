import BluetoothCore
import HCI

/// Shares the controller's advertising sets among those who want to advertise: each wish gets one, the first wishes first,
/// and what finds none waits. With the legacy commands there is one set.
///
/// Core 5.4, Vol 6, Part B, 4.4.2.10 (Advertising sets)
package struct AdvertisingSets<Owner: Hashable> {
    /// Sets that this host uses, however many the controller has.
    package static var setsMaximum: Int { 16 }

    package struct Wish {
        package var owner: Owner
        package var payload: Advertiser.Payload

        package init(owner: Owner, payload: Advertiser.Payload) {
            self.owner = owner
            self.payload = payload
        }
    }

    /// Who advertises with a set. An owner may have one of each kind.
    private struct Purpose: Hashable {
        var owner: Owner
        var pdus: Advertiser.PDUs
    }

    private struct Slot {
        let handle: LEAdvertisingHandle
        var purpose: Purpose?
        /// The controller has no memory for it.
        var isRefused = false
        var advertiser = Advertiser()
    }

    private var slots: [Slot] = []

    /// Advertising rests while the address that it is under is about to change.
    package var isHeld = false { didSet { if isHeld != oldValue { tellSlots() } } }
    /// No connection slot is free for whoever would answer: what nobody can connect to goes on.
    package var isFull = false { didSet { if isFull != oldValue { tellSlots() } } }
    /// nil where sets have no addresses of their own.
    package var ownAddress: DeviceAddress? { didSet { if ownAddress != oldValue { tellSlots() } } }

    package init(count: Int) { makeSlots(count) }

    private mutating func makeSlots(_ count: Int) {
        slots = (0..<max(1, min(count, Self.setsMaximum))).map {
            Slot(handle: LEAdvertisingHandle(rawValue: UInt8($0)))
        }
    }

    /// The controller was reset, and has so many sets.
    package mutating func reset(count: Int) {
        makeSlots(count)
        tellSlots()
    }

    /// What is to be on the air, the most important first. An owner keeps the set that it has.
    package mutating func want(_ wishes: [Wish]) {
        let kept = wishes.prefix(slots.count { !$0.isRefused })
        let purposes = Set(kept.map { Purpose(owner: $0.owner, pdus: $0.payload.pdus) })
        for index in slots.indices {
            guard let purpose = slots[index].purpose, !purposes.contains(purpose) else { continue }
            slots[index].purpose = nil
            slots[index].advertiser.wanted = nil
        }
        for wish in kept {
            let purpose = Purpose(owner: wish.owner, pdus: wish.payload.pdus)
            guard
                let index = slots.firstIndex(where: { $0.purpose == purpose })
                    ?? slots.firstIndex(where: { $0.purpose == nil && !$0.isRefused })
            else { continue }
            slots[index].purpose = purpose
            slots[index].advertiser.wanted = wish.payload
        }
    }

    /// The next command of any set; each set has one under way at a time.
    package mutating func next() -> (LEAdvertisingHandle, Advertiser.Action)? {
        for index in slots.indices {
            if let action = slots[index].advertiser.next() { return (slots[index].handle, action) }
        }
        return nil
    }

    /// The controller answered the command that ``next()`` named for this set.
    package mutating func completed(_ handle: LEAdvertisingHandle, _ status: HCIErrorCode) {
        guard let index = index(of: handle) else { return }
        slots[index].advertiser.completed(status)
        // A controller may have fewer sets than it says while others are large: whoever was to have this one waits.
        guard status == .memoryCapacityExceeded, slots.count(where: { !$0.isRefused }) > 1 else { return }
        slots[index].isRefused = true
        slots[index].purpose = nil
        slots[index].advertiser.wanted = nil
    }

    /// The controller stopped a set by itself: a connection was made through it. Its address was this one's.
    @discardableResult
    package mutating func stopped(_ handle: LEAdvertisingHandle) -> DeviceAddress? {
        guard let index = index(of: handle) else { return nil }
        slots[index].advertiser.stopped()
        return slots[index].advertiser.address
    }

    /// The address that the controller was told for a set; nil where sets have none of their own.
    package func address(of handle: LEAdvertisingHandle) -> DeviceAddress? {
        index(of: handle).flatMap { slots[$0].advertiser.address }
    }

    /// The only set on the air that takes connections, if there is just one: then it is the one that a connection to us was
    /// made through.
    package var onlyConnectable: LEAdvertisingHandle? {
        let connectable = slots.filter(\.advertiser.takesConnections)
        return connectable.count == 1 ? connectable.first?.handle : nil
    }

    /// What was refused may be asked once more.
    package mutating func retry() {
        for index in slots.indices { slots[index].advertiser.retry() }
    }

    package var failure: HCIErrorCode? { slots.lazy.compactMap(\.advertiser.failure).first }

    /// Nothing is on the air, and nothing is asked of the controller.
    package var isAtRest: Bool { slots.allSatisfy(\.advertiser.isAtRest) }

    /// The set that every scanner hears of this owner; nil while there is none for it.
    package func advertiser(of owner: Owner) -> Advertiser? {
        slots.first { $0.purpose == Purpose(owner: owner, pdus: .legacy) }?.advertiser
    }

    private func index(of handle: LEAdvertisingHandle) -> Int? { slots.firstIndex { $0.handle == handle } }

    private mutating func tellSlots() {
        for index in slots.indices {
            slots[index].advertiser.isHeld = isHeld
            slots[index].advertiser.isFull = isFull
            slots[index].advertiser.wantedAddress = ownAddress
        }
    }
}
