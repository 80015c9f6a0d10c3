import BluetoothHost
import Synchronization

/// A manager as its core sees it.
protocol CoreManager: CBManager {
    associatedtype AppDelegate
    static var role: RestoreKey.Role { get }
    /// The state has changed.
    func tellState(_ delegate: AppDelegate)
}

/// What both managers' halves on the loop share: the place at the host, the adapter's state, the app's calls on their way in,
/// and the callbacks on their way out.
///
/// What is in `seat` may be touched from any thread; every other variable only on the loop.
class ManagerCore<Manager: CoreManager>: @unchecked Sendable {
    struct Seat: Sendable {
        weak var manager: Manager?
        var delegate: Delegate<Manager.AppDelegate>
        var state = CBManagerState.unknown
        /// How often the app has heard that the adapter is not on any more.
        var absences: UInt64 = 0
    }

    let handle: CBHost
    let delivery: CallbackDelivery
    /// What was asked for ends with the adapter's power: the host sees to it, and what the app sees follows here.
    let endsWithPower: Bool
    let backlog = Backlog(maximum: Backlog.callbacksOfAllMaximum)
    let seat: Mutex<Seat>

    private(set) weak var host: Host?
    private(set) var id: ManagerID?
    /// The state that the app was last told of, or is about to be.
    private var lastTold = CBManagerState.unknown
    private var wasPoweredOn = false
    /// How often the app has heard it, once it has heard of everything up to now.
    private var absences: UInt64 = 0
    private var router: ChannelRouter?

    init(handle: CBHost, delivery: CallbackDelivery, delegate: Manager.AppDelegate?, endsWithPower: Bool = false) {
        self.handle = handle
        self.delivery = delivery
        self.endsWithPower = endsWithPower
        seat = Mutex(Seat(delegate: Delegate(delegate)))
    }

    /// Who hears of the manager; not retained.
    var delegate: Manager.AppDelegate? {
        get { seat.withLock { $0.delegate }.value }
        set {
            let delegate = Delegate(newValue)
            seat.withLock { $0.delegate = delegate }
        }
    }

    /// The manager and its delegate, while both are there.
    var audience: (Manager, Manager.AppDelegate)? {
        let (manager, delegate) = seat.withLock { ($0.manager, $0.delegate) }
        guard let manager, let delegate = delegate.value else { return nil }
        return (manager, delegate)
    }

    // MARK: What a core adds

    /// Rebuilds what the app had, and tells it before it hears anything else. The host runs all of it already.
    func restore(_ record: RestorationRecord, _ host: Host, _ id: ManagerID) {}

    /// The manager is gone.
    func forget() {}

    /// The adapter has gone, and with it what the app had asked for. Says what the app sees of that, right before it hears of the state.
    func powerEnded() -> @Sendable () -> Void { {} }

    /// The adapter has gone, and the app is about to hear of that.
    func powerLost() {}

    /// The adapter is back, and what the app had asked for before runs again.
    func powerReturned() {}

    func channelOpened(_ info: ChannelInfo, _ pipe: ChannelPipe) {}
    func channelFailed(_ id: HostChannelID, _ end: ChannelEnd) {}

    // MARK: The place at the host

    /// Registers with the host, restores what was kept, and says how the adapter is.
    func register(
        _ manager: Manager, restoreIdentifier: String?,
        at enter: @escaping @Sendable (Host) -> (ManagerID, RestorationRecord?)
    ) {
        seat.withLock { $0.manager = manager }
        handle.executor.execute { host in
            self.host = host
            if let restoreIdentifier,
                host.isRegistered(RestoreKey(role: Manager.role, identifier: restoreIdentifier))
            {
                self.handle.misuse(
                    "another \(Manager.role) manager has the restore identifier \"\(restoreIdentifier)\". The new one hears in its place; the earlier one hears states alone, until the new one has gone"
                )
            }
            let (id, record) = enter(host)
            self.id = id
            if let record { self.restore(record, host, id) }
            if Manager.role == .peripheral, host.configuration.besideBlueZ != nil {
                self.handle.misuse(
                    "the peripheral manager: bluetoothd keeps this adapter, and there is the central role alone on it. Give this host an adapter of its own"
                )
            }
            self.hostStateChanged(host.hostState(for: Manager.role))
        }
    }

    func unregister() {
        handle.executor.execute { host in
            guard let id = self.id else { return }
            self.id = nil
            host.unregister(id)
            self.forget()
        }
    }

    func hostStateChanged(_ state: HostState) {
        let before = lastTold
        guard let state = lastTold.news(state) else { return }
        if state == .poweredOn {
            if let host { handle.setControllerFeatures(host.controllerFeatures) }
            if wasPoweredOn { powerReturned() }
            wasPoweredOn = true
        }
        if before == .poweredOn { absences += 1 }
        let change = before == .poweredOn && endsWithPower ? powerEnded() : nil
        delivery.deliver(host) { [absences] in
            change?()
            self.seat.withLock { ($0.state, $0.absences) = (state, absences) }
            self.withDelegate { $0.tellState($1) }
        }
        if before == .poweredOn { powerLost() }
    }

    /// To be taken before a call looks whether the adapter is on.
    var absencesHeard: UInt64 { seat.withLock { $0.absences } }

    /// Whether the adapter has gone since a call was made, before the loop has come to it.
    func isOvertaken(_ absencesHeard: UInt64) -> Bool { absencesHeard != absences }

    /// Runs a call of the app on the loop.
    func submit(_ body: @escaping @Sendable (Host, ManagerID) -> Void) {
        handle.executor.execute { host in
            guard let id = self.id else { return }
            body(host, id)
        }
    }

    var state: CBManagerState { seat.withLock { $0.state } }

    func isPoweredOn(_ what: String) -> Bool {
        if state == .poweredOn { return true }
        handle.misuse("\(what): the \(Manager.role) manager is not powered on")
        return false
    }

    /// What brings the channels of this manager.
    func router(_ host: Host) -> ChannelRouter {
        if let router, router.host === host { return router }
        let made = ChannelRouter(handle: handle, delivery: delivery, host: host) { [weak self] info, pipe in
            if let self { channelOpened(info, pipe) } else { pipe.close() }
        } failed: { [weak self] id, end in
            self?.channelFailed(id, end)
        }
        router = made
        return made
    }

    // MARK: Telling the app

    /// Changes what the app sees, and calls the manager's delegate if there is one, where and when it is to be called.
    func tell(
        after change: @escaping @Sendable () -> Void = {},
        _ call: @escaping @Sendable (Manager, Manager.AppDelegate) -> Void
    ) {
        delivery.deliver(host) {
            change()
            self.withDelegate(call)
        }
    }

    func withDelegate(_ call: (Manager, Manager.AppDelegate) -> Void) {
        if let (manager, delegate) = audience { call(manager, delegate) }
    }
}
