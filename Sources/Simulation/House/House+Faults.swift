import BluetoothCore

/// What goes wrong, at its time.
extension House {
    func arm(_ fault: Fault, _ pocket: Pocket) {
        tally.faults[fault.kind, default: 0] += 1
        switch fault {
        case .kill(let machine, let point): arm(point, machine, pocket)
        case .killInRestore(let machine, let point): restoreFaults[machine] = point
        case .killBoth(let delay):
            agenda.after(delay) { [unowned self] in
                door.node.kill()
                pocket.node.kill()
            }
        case .powerCut(let machine, let delay, let medium, let losesMovement):
            losePower(of: machine, pocket, after: delay, medium: medium, losesMovement: losesMovement)
        case .silence(let delay, let milliseconds):
            agenda.after(delay) { [unowned self] in world.cut(door.node, pocket.node) }
            agenda.after(delay + milliseconds) { [unowned self] in world.join(door.node, pocket.node) }
        case .disk(let machine, let kind, let call, let calls, let cut):
            parts(machine, pocket).disk.fail(kind, calls: call...(call + calls - 1))
            if let cut {
                losePower(of: machine, pocket, after: cut.afterMilliseconds, medium: cut.medium, losesMovement: false)
            }
        case .clockStep(let delay, let seconds):
            agenda.after(delay) { [unowned self] in door.wallClockSeconds = seconds }
        case .slowDisk(let machine, let milliseconds):
            parts(machine, pocket).node.commitMilliseconds = milliseconds
            // Nobody else goes on while one waits for its disk: there is one thread for all.
            absences.begin(.slow, at: world.now)
        case .suspension(let machine, let delay, let milliseconds, let withController):
            suspend(machine, pocket, after: delay, for: milliseconds, withController: withController)
        case .controllerReset(let machine, let delay):
            let node = parts(machine, pocket).node
            agenda.after(delay) { if !node.isSuspended { node.loseController() } }
        case .packets(let machine, let fault): _ = PacketMishap(fault, parts(machine, pocket).node.wire, world, agenda)
        case .secondProcess(let machine, let delay):
            agenda.after(delay) { [unowned self] in beginSecond(machine, pocket) }
        case .attack(let attack, let delay): agenda.after(delay) { [unowned self] in adversary.begin(attack) }
        }
    }

    private func parts(_ machine: Machine, _ pocket: Pocket) -> (node: Node, disk: SimulatedDisk) {
        machine == .lock ? (door.node, door.disk) : (pocket.node, pocket.disk)
    }

    func arm(_ point: KillPoint, _ machine: Machine, _ pocket: Pocket) {
        let (node, disk) = parts(machine, pocket)
        armed[machine] = point
        switch point {
        case .beforeCommit(let count): node.killBeforeCommit = node.commitCount + count
        case .afterActs(let count): node.killAfterActs = node.actCount + count
        case .atCall(let count): disk.die(atCall: count)
        case .after(let milliseconds): agenda.after(milliseconds) { if node.host != nil { node.kill() } }
        }
    }

    /// What has not happened does not happen any more.
    func disarm(_ pocket: Pocket) {
        restoreFaults = [:]
        armed = [:]
        adversary.end()
        for (node, disk) in [parts(.lock, pocket), parts(.key, pocket)] {
            (node.killBeforeCommit, node.killAfterActs) = (nil, nil)
            node.commitMilliseconds = 0
            node.wire.mend()
            if !disk.hasDied || node.host != nil { disk.mend() }
        }
        absences.end(.slow, at: world.now)
    }

    private func losePower(
        of machine: Machine, _ pocket: Pocket, after delay: UInt64, medium: Int, losesMovement: Bool
    ) {
        agenda.after(delay) { [unowned self] in
            switch machine {
            case .lock: door.losePower(choice: medium, withMovement: losesMovement)
            case .key: pocket.losePower(choice: medium)
            }
        }
    }

    private func suspend(
        _ machine: Machine, _ pocket: Pocket, after delay: UInt64, for milliseconds: UInt64, withController: Bool
    ) {
        let node = parts(machine, pocket).node
        agenda.after(delay) { [unowned self] in
            // Nobody is suspended twice.
            guard node.host != nil, !node.isSuspended else { return }
            node.isSuspended = true
            if withController { node.wire.replug() }
            if machine == .lock { absences.begin(.suspended, at: world.now) }
            let suspended = node.host
            agenda.after(milliseconds) { [unowned self, weak suspended] in
                // It may have been killed meanwhile: then another one lives, or will, and may be suspended itself.
                guard let suspended, node.host === suspended else { return }
                resume(machine, node, withController: withController)
            }
        }
    }

    private func resume(_ machine: Machine, _ node: Node, withController: Bool) {
        node.isSuspended = false
        if withController { node.loseController() }
        if machine == .lock { absences.end(.suspended, at: world.now) }
        world.settle()
    }

    private func beginSecond(_ machine: Machine, _ pocket: Pocket) {
        let (node, disk) = parts(machine, pocket)
        guard node.host != nil, !disk.isClaimed else { return }
        complaints.append("a second process begins on the database of the \(machine), which has one")
    }
}
