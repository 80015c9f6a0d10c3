import ATT
import BluetoothCore
import DBus
import GATT

// MARK: Links that are wanted

extension BlueZCentral {
    /// The devices of wanted peers that bluetoothd connects with by itself, or has a link with, on this adapter.
    var wantedDevices: [BlueZDevice] {
        devices { device, address in
            let isStranger = wishes.strangers.contains(address)
            return device.isPaired
                ? isStranger || wishes.connections.contains(address) : isStranger && device.isConnected
        }
    }

    private func devices(where isMeant: (BlueZDevice, DeviceAddress) -> Bool) -> [BlueZDevice] {
        guard isOn, let adapter = adapter?.path else { return [] }
        return objects.devices.values
            .filter { device in
                guard device.adapter == adapter, let address = device.address, address != pairing?.address else {
                    return false
                }
                return isMeant(device, address)
            }
            .sorted { $0.path < $1.path }
    }

    /// What the peer of a link calls itself.
    package func name(ofLink path: String) -> String? { objects.devices[path]?.name }

    mutating func settleRegistration(_ wanted: [BlueZDevice], _ now: Instant, _ outputs: inout [Output]) {
        // bluetoothd lets fall what is registered at an adapter that goes, and does not answer who has just asked for it.
        let isGone = registration.adapter.map { objects.adapters[$0] == nil } ?? false
        if isGone { registration.forget() }
        if isGone || registration.givesUpWaiting(now) {
            for purpose in [Purpose.register, .unregister] { calls.forget(purpose) }
        }
        guard isOn, let adapter = adapter?.path else { return registration.disarmAll() }
        let wanted = wanted.filter(\.isPaired)
        let paths = wanted.map(\.path)
        let services = objects.services(of: paths)
        let step = registration.step(
            services, devices: Set(paths),
            connected: Set(wanted.filter { $0.isConnected && ending[$0.path] == nil }.map(\.path)), at: adapter, now)
        switch step {
        case .wait: break
        case .register:
            call(
                adapter, BlueZName.gattManager, "RegisterApplication",
                [.objectPath(Self.applicationPath), .properties([:])], for: .register, &outputs)
        case .unregister(let adapter):
            call(
                adapter, BlueZName.gattManager, "UnregisterApplication",
                [.objectPath(Self.applicationPath)], for: .unregister, &outputs)
        }
    }

    /// Calls the strangers that are heard.
    mutating func settleDirectConnections(_ now: Instant, _ outputs: inout [Output]) {
        guard isOn else { return direct.forget() }
        let waiting = devices { !$0.isPaired && !$0.isConnected && wishes.strangers.contains($1) }
        let step = direct.step(
            wanted: Set(waiting.map(\.path)), heard: Set(waiting.filter { $0.rssi != nil }.map(\.path)),
            connected: Set(objects.devices.values.filter(\.isConnected).map(\.path)), now)
        for device in step.takeBack { call(device, BlueZName.device, "Disconnect", for: .ignored, &outputs) }
        for device in step.call { call(device, BlueZName.device, "Connect", for: .connect(device: device), &outputs) }
    }

    /// Whether a stranger is to be heard first. Nobody is looked for while one is called: a controller has one receiver.
    private var isStrangerAway: Bool {
        guard !direct.isCalling, let adapter = adapter?.path else { return false }
        return wishes.strangers.contains { address in
            objects.device(at: address, on: adapter).map { !$0.isPaired && !$0.isConnected } ?? true
        }
    }

    mutating func settleDiscovery(_ now: Instant, _ outputs: inout [Output]) {
        guard isOn, let adapter = adapter?.path else { return discovery = BlueZDiscovery() }
        let isWanted = wishes.isScanning || pairing?.needsDiscovery == true || isStrangerAway
        switch discovery.step(isWanted: isWanted, now) {
        case .wait: break
        case .start:
            call(
                adapter, BlueZName.adapter, "SetDiscoveryFilter",
                [.properties(["Transport": .string("le"), "DuplicateData": .boolean(true)])], for: .ignored, &outputs)
            call(adapter, BlueZName.adapter, "StartDiscovery", for: .startDiscovery, &outputs)
        case .stop: call(adapter, BlueZName.adapter, "StopDiscovery", for: .stopDiscovery, &outputs)
        }
    }

    /// Tells which links have come up and which have gone, asks for what is to be notified, and ends those that would hang for ever.
    mutating func settleLinks(_ wanted: [BlueZDevice], _ now: Instant, _ outputs: inout [Output]) {
        let paths = Set(wanted.map(\.path))
        for path in unwantedDevices(paths) { giveUp(path, now, &outputs) }
        for path in links.keys.sorted()
        where !paths.contains(path) || isGivenUp(path) || objects.devices[path]?.isConnected != true {
            end(path, &outputs)
        }
        ending = ending.filter { objects.devices[$0.key]?.isConnected == true && now < $0.value }
        for device in wanted where device.isConnected && !isGivenUp(device.path) {
            guard let address = device.address else { continue }
            let isInherited = links[device.path] == nil && isFresh
            var link = links[device.path] ?? BlueZLink(isOfOthers: isOfOthers(address))
            defer { links[device.path] = link }
            guard device.isResolved else {
                link.isUnresolved(since: now, isInherited: isInherited)
                if let due = link.repairDue, due <= now { repair(device, &link, now, &outputs) }
                continue
            }
            link.isResolvedOrGone()
            for value in link.notify(wishes.notifications[address] ?? [], now) {
                startNotifying(device.path, value, &link, &outputs)
            }
            if !link.isTold {
                link.isTold = true
                outputs.append(
                    .connected(
                        BlueZLinkInfo(
                            path: device.path, address: address, name: device.name, isPaired: device.isPaired,
                            mtu: objects.trees[device.path]?.mtu ?? ATTBound.defaultMTUOctets)))
            }
        }
        isFresh = !isOn
        wishedBefore = wishes.connections.union(wishes.strangers)
    }

    private func isGivenUp(_ path: String) -> Bool { ending[path] != nil || released.contains(path) }

    /// Devices that bluetoothd goes on connecting with for nobody, and those whose links it is making for nobody.
    private func unwantedDevices(_ wanted: Set<String>) -> [String] {
        let untold = Set(links.filter { !$0.value.isTold && !$0.value.isOfOthers }.keys)
        return registration.armed.union(untold).subtracting(wanted).sorted().filter { path in
            guard let device = objects.devices[path], links[path]?.isTold != true else { return false }
            return (device.isPaired || untold.contains(path)) && ending[path] == nil
                && device.address != pairing?.address
        }
    }

    /// bluetoothd connects with a device by itself until it is told to disconnect from it, also without a link and a profile.
    private mutating func giveUp(_ path: String, _ now: Instant, _ outputs: inout [Output]) {
        registration.disarm(path)
        if objects.devices[path]?.isConnected == true {
            ending[path] = now.advanced(byMilliseconds: Self.endingMaximumMilliseconds)
        }
        call(path, BlueZName.device, "Disconnect", for: .ignored, &outputs)
    }

    /// A stranger's link that was there before anybody here wished for it is of use to somebody else: it is joined, and left without being
    /// ended.
    private func isOfOthers(_ address: DeviceAddress) -> Bool {
        !isFresh && wishes.strangers.contains(address) && !wishedBefore.contains(address)
    }

    private mutating func startNotifying(
        _ device: String, _ value: AttributeHandle, _ link: inout BlueZLink, _ outputs: inout [Output]
    ) {
        guard let path = objects.trees[device]?.characteristic(ofValue: value) else { return link.notNotified(value) }
        call(path, BlueZName.gattCharacteristic, "StartNotify", for: .notify(device: device, value), &outputs)
    }

    /// An untrusted device would not be connected with again behind a call to disconnect.
    private mutating func repair(
        _ device: BlueZDevice, _ link: inout BlueZLink, _ now: Instant, _ outputs: inout [Output]
    ) {
        guard !link.isOfOthers else { return link.isResolvedOrGone() }
        tellEnd(of: link, device.path, &outputs)
        link = BlueZLink()
        // From now on as one that is being made, so that it is not ended again at once.
        link.isUnresolved(since: now, isInherited: false)
        if !device.isTrusted {
            call(
                device.path, DBusName.properties, "Set",
                [.string(BlueZName.device), .string("Trusted"), .variant(.boolean(true))], for: .ignored, &outputs)
        }
        call(device.path, BlueZName.device, "Disconnect", for: .ignored, &outputs)
    }

    /// This side gives a link up; behind that bluetoothd does not connect by itself before it is asked again.
    mutating func disconnect(_ path: String, _ now: Instant, _ outputs: inout [Output]) {
        guard objects.devices[path]?.isConnected == true else { return }
        if links[path]?.isOfOthers == true {
            released.insert(path)
            return
        }
        giveUp(path, now, &outputs)
    }

    /// Whoever has ended it: any user of the machine may have, and bluetoothd does not connect with an untrusted device by itself behind
    /// that, before it is asked again.
    private mutating func end(_ path: String, _ outputs: inout [Output]) {
        guard let link = links.removeValue(forKey: path) else { return }
        registration.disarm(path)
        tellEnd(of: link, path, &outputs)
    }

    private mutating func tellEnd(of link: BlueZLink, _ path: String, _ outputs: inout [Output]) {
        failOperations(of: path, &outputs)
        if link.isTold { outputs.append(.disconnected(link: path)) }
    }

    mutating func endLinks(_ outputs: inout [Output]) {
        settleState(&outputs)
        for path in links.keys.sorted() { end(path, &outputs) }
        (ending, released, isFresh) = ([:], [], true)
    }
}
