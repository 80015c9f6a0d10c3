import BluetoothCore
import DBus

// MARK: What the bus says

extension BlueZCentral {
    mutating func heard(_ event: DBusEvent, _ now: Instant, _ outputs: inout [Output]) {
        switch event {
        case .opened:
            // Nothing holds that was told on a bus before this one, whether its end was told or not.
            lost(.asking, &outputs)
            askForOwner(&outputs)
        case .closed:
            lost(.closed, &outputs)
        case .signal(let signal):
            if signal.sender == DBusName.bus {
                heardOfBus(signal, &outputs)
            } else {
                heardOfBlueZ(signal, now, &outputs)
            }
        case .called(let id, let message): called(id, message, &outputs)
        case .answered(let call, let result):
            if let purpose = calls.take(call) { answered(purpose, result, now, &outputs) }
        }
    }

    /// D-Bus Specification, org.freedesktop.DBus.NameOwnerChanged
    private mutating func heardOfBus(_ signal: DBusMessage, _ outputs: inout [Output]) {
        guard signal.member == "NameOwnerChanged", signal.body.count == 3, signal.body[0].text == BlueZName.service,
            presence != .closed, let new = signal.body[2].text
        else { return }
        if new != owner {
            lost(new.isEmpty ? .absent : .asking, &outputs)
            if !new.isEmpty { found(new, &outputs) }
        }
    }

    private mutating func askForOwner(_ outputs: inout [Output]) {
        call(
            DBusName.busPath, DBusName.bus, "GetNameOwner", [.string(BlueZName.service)], to: DBusName.bus,
            for: .owner, &outputs)
    }

    mutating func settlePresence(_ now: Instant, _ outputs: inout [Output]) {
        guard let due = askAgain, due <= now else { return }
        (presence, askAgain) = (.asking, nil)
        askForOwner(&outputs)
    }

    private mutating func found(_ owner: String, _ outputs: inout [Output]) {
        presence = .reading(owner: owner)
        call("/", DBusName.objectManager, "GetManagedObjects", for: .objects, &outputs)
    }

    /// bluetoothd is gone, and with it all that it had told of its objects.
    private mutating func lost(_ presence: Presence, _ outputs: inout [Output]) {
        self.presence = presence
        (refusal, askAgain) = (nil, nil)
        calls.forgetAll()
        (objects, inUse) = (BlueZObjects(), nil)
        registration.forget()
        discovery = BlueZDiscovery()
        direct.forget()
        endLinks(&outputs)
    }

    /// Others may send signals of any name to this side: only bluetoothd's count.
    private mutating func heardOfBlueZ(_ signal: DBusMessage, _ now: Instant, _ outputs: inout [Output]) {
        // What came before the answer is in the answer.
        guard case .known(let owner) = presence, signal.sender == owner else { return }
        let change: BlueZObjects.Change?
        switch (signal.interface, signal.member) {
        case (DBusName.objectManager, "InterfacesAdded"):
            guard signal.body.count == 2, let path = signal.body[0].text, let added = signal.body[1].interfaces else {
                return
            }
            change = objects.add(path, added)
        case (DBusName.objectManager, "InterfacesRemoved"):
            guard signal.body.count == 2, let path = signal.body[0].text, let removed = signal.body[1].texts else {
                return
            }
            change = objects.remove(path, removed)
        case (DBusName.properties, "PropertiesChanged"):
            guard signal.body.count == 3, let interface = signal.body[0].text, let changed = signal.body[1].properties,
                let invalidated = signal.body[2].texts
            else { return }
            change = objects.change(signal.path, interface, changed, invalidated: invalidated)
        default: return
        }
        if let change { changed(change, now, &outputs) }
    }

    private mutating func changed(_ change: BlueZObjects.Change, _ now: Instant, _ outputs: inout [Output]) {
        switch change {
        case .adapters: break
        case .device(let path, let before):
            identified(path, before, &outputs)
            deviceChanged(path, before, &outputs)
        case .tree(let device): if links[device]?.isTold == true { outputs.append(.treeChanged(link: device)) }
        case .value(let device, let handle, let value): valueHeard(device, handle, value, &outputs)
        }
    }

    /// A peer that was met under a private address has said its identity address, as it paired: it is the same one, and so is what is wished
    /// of it.
    private mutating func identified(_ path: String, _ before: BlueZDevice?, _ outputs: inout [Output]) {
        guard let old = before?.address, let new = objects.devices[path]?.address, old != new,
            let identity = IdentityAddress(new)
        else { return }
        wishes.move(old, to: new)
        if wishedBefore.remove(old) != nil { wishedBefore.insert(new) }
        outputs.append(.identified(old, as: identity))
    }

    private mutating func deviceChanged(_ path: String, _ before: BlueZDevice?, _ outputs: inout [Output]) {
        guard wishes.isScanning, isOn, let device = objects.devices[path], device.adapter == adapter?.path,
            let sighting = BlueZSighting(device), before.flatMap(BlueZSighting.init) != sighting
        else { return }
        outputs.append(.seen(sighting))
    }

    /// Who is heard already, because others look for devices, need not change to be seen.
    mutating func wished(_ new: BlueZWishes, _ outputs: inout [Output]) {
        let begins = new.isScanning && !wishes.isScanning
        wishes = new
        released = []
        guard begins, isOn, let adapter = adapter?.path else { return }
        for device in objects.devices.values.sorted(by: { $0.path < $1.path }) where device.adapter == adapter {
            if let sighting = BlueZSighting(device) { outputs.append(.seen(sighting)) }
        }
    }

    // MARK: Answers

    private mutating func answered(
        _ purpose: Purpose, _ result: Result<[DBusValue], DBusError>, _ now: Instant, _ outputs: inout [Output]
    ) {
        switch purpose {
        case .owner:
            // It may have come meanwhile.
            guard presence == .asking else { return }
            if case .success(let body) = result, let owner = body.first?.text {
                found(owner, &outputs)
            } else {
                (presence, refusal) = (.absent, nil)
            }
        case .objects:
            guard case .reading(let owner) = presence else { return }
            guard case .success(let body) = result, let all = body.first?.objects else {
                refusal = result.error?.name
                askAgain = now.advanced(byMilliseconds: Self.askAgainMilliseconds)
                return presence = .absent
            }
            refusal = nil
            objects = BlueZObjects(all)
            presence = .known(owner: owner)
            hasBeenThere = true
        case .register: registration.answered(isMade: result.error == nil, now)
        case .unregister: registration.unregistered()
        case .startDiscovery: discovery.started(isMade: result.error == nil, now)
        case .stopDiscovery: discovery.stopped()
        case .operation(let token): operationAnswered(token, result, now, &outputs)
        case .notify(let device, let handle):
            if result.error == nil {
                links[device]?.notifyGranted(handle)
            } else {
                links[device]?.notifyRefused(handle, now)
            }
        case .connect(let device): direct.answered(device, isMade: result.error == nil, now)
        case .pairing: pairingAnswered(result, &outputs)
        case .ignored: break
        }
    }

    // MARK: What bluetoothd asks

    /// Where this side's profile is.
    static let applicationPath = "/latch/central"
    static let profilePath = "/latch/central/profile"

    private mutating func called(_ id: DBusRequestID, _ message: DBusMessage, _ outputs: inout [Output]) {
        guard message.sender == owner else {
            return outputs.append(.act(.refuse(id, DBusError(name: DBusName.accessDenied))))
        }
        switch (message.path, message.interface, message.member) {
        case (Self.applicationPath, DBusName.objectManager, "GetManagedObjects"):
            let profile: DBusValue = .array(
                of: "{sa{sv}}",
                [.entry(.string(BlueZName.gattProfile), .properties(["UUIDs": .strings(registration.texts)]))])
            outputs.append(
                .act(
                    .answer(
                        id, [.array(of: "{oa{sa{sv}}}", [.entry(.objectPath(Self.profilePath), profile)])])))
        // bluetoothd lets the profile go: it ends, or is told to.
        case (Self.profilePath, BlueZName.gattProfile, "Release"):
            registration.released()
            outputs.append(.act(.answer(id, [])))
        // A pairing by a code asks nothing: whatever bluetoothd wants to know, this is another pairing, and not wanted.
        case (Self.agentPath, BlueZName.agent, "Release"), (Self.agentPath, BlueZName.agent, "Cancel"):
            outputs.append(.act(.answer(id, [])))
        case (Self.agentPath, BlueZName.agent, _):
            outputs.append(.act(.refuse(id, DBusError(name: "org.bluez.Error.Rejected"))))
        default: outputs.append(.act(.refuse(id, DBusError(name: DBusName.unknownMethod))))
        }
    }

    // MARK: The state

    /// From one adapter to another one.
    private var isChanging: Bool { choice.chosen(of: objects.adapters.values) != nil }

    func state() -> BlueZState {
        switch presence {
        case .closed, .absent: hasBeenThere ? .away : presence == .absent ? .absent : .unknown
        case .asking, .reading: hasBeenThere ? .away : toldState
        case .known: adapter.map { $0.isPowered ? .on : .off } ?? (isChanging ? .off : .noAdapter)
        }
    }

    /// Why there is no adapter to stand on, for people; nil where nothing is known yet, and where there is one.
    package var absence: String? {
        switch (state(), refusal) {
        case (.unknown, _), (.off, _), (.on, _): nil
        case (.noAdapter, _): "bluetoothd has no adapter\(choice.wording)"
        case (.absent, DBusName.accessDenied?):
            "the system bus's policy for org.bluez does not let this user call bluetoothd"
        case (.absent, let refusal?): "bluetoothd does not say what it has (\(refusal))"
        case (.absent, nil), (.away, _): "no bluetoothd is on the system bus"
        }
    }

    mutating func settleState(_ outputs: inout [Output]) {
        let state = state()
        guard state != toldState else { return }
        // Apps hear of the adapter's end before they hear of their links', so that what they ask for then waits for it.
        toldState = state
        outputs.append(.state(state))
    }
}

extension Result {
    var error: Failure? { if case .failure(let error) = self { error } else { nil } }
}
