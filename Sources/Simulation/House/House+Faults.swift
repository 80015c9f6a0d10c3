import BluetoothCore

/// What goes wrong, at its time.
extension House {
    func arm(_ fault: Fault, _ pocket: Pocket) {
        tally.faults[fault.kind, default: 0] += 1
        // What comes later comes to the door of this schedule.
        let door = door
        switch fault {
        case .kill(let machine, let point): arm(point, resident(machine, pocket))
        case .killInRestore(let machine, let point): restoreFaults[machine] = point
        case .killBoth(let delay):
            agenda.after(delay) {
                door.node.kill()
                pocket.node.kill()
            }
        case .powerCut(let machine, let delay, let medium, let losesMovement):
            losePower(of: resident(machine, pocket), after: delay, medium: medium, losesMovement: losesMovement)
        case .silence(let delay, let milliseconds):
            agenda.after(delay) { [unowned self] in world.cut(door.node, pocket.node) }
            agenda.after(delay + milliseconds) { [unowned self] in world.join(door.node, pocket.node) }
        case .disk(let machine, let kind, let call, let calls, let cut):
            resident(machine, pocket).disk.fail(kind, calls: call...(call + calls - 1))
            if let cut {
                losePower(
                    of: resident(machine, pocket), after: cut.afterMilliseconds, medium: cut.medium,
                    losesMovement: false)
            }
        case .clockStep(let delay, let step):
            agenda.after(delay) { [unowned self] in
                let origin = step.origin(from: door.clockOrigin)
                if let household { household.terminal.setClock(origin) } else { door.clockOrigin = origin }
            }
        case .slowDisk(let machine, let milliseconds):
            resident(machine, pocket).node.commitMilliseconds = milliseconds
            // Nobody else goes on while one waits for its disk: there is one thread for all.
            for door in doors { door.absences.begin(.slow, at: world.now) }
        case .suspension(let machine, let delay, let milliseconds, let withController):
            suspend(resident(machine, pocket), after: delay, for: milliseconds, withController: withController)
        case .controllerReset(let machine, let delay):
            let node = resident(machine, pocket).node
            agenda.after(delay) { if !node.isSuspended { node.loseController() } }
        case .packets(let machine, let fault):
            _ = PacketMishap(fault, resident(machine, pocket).node.wire, world, agenda)
        case .secondProcess(let machine, let delay):
            let resident = resident(machine, pocket)
            agenda.after(delay) { [unowned self] in beginSecond(on: resident) }
        case .attack(let attack, let delay):
            agenda.after(delay) { [unowned self] in adversary.begin(attack, near: door) }
        }
    }

    /// The machine of that kind that the schedule is about.
    func resident(_ machine: Machine, _ pocket: Pocket) -> any Resident { machine == .lock ? door : pocket }

    func arm(_ point: KillPoint, _ resident: any Resident) {
        let (node, disk) = (resident.node, resident.disk)
        armed[resident.kind] = point
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
        for door in doors {
            door.strike?.mend()
            door.diesBeforeTelling = false
        }
        for resident in [door, pocket] as [any Resident] {
            let (node, disk) = (resident.node, resident.disk)
            (node.killBeforeCommit, node.killAfterActs) = (nil, nil)
            node.commitMilliseconds = 0
            node.wire.mend()
            if !disk.hasDied || node.host != nil { disk.mend() }
        }
        for door in doors { door.absences.end(.slow, at: world.now) }
    }

    private func losePower(of resident: any Resident, after delay: UInt64, medium: Int, losesMovement: Bool) {
        agenda.after(delay) { resident.losePower(choice: medium, withMovement: losesMovement) }
    }

    private func suspend(
        _ resident: any Resident, after delay: UInt64, for milliseconds: UInt64, withController: Bool
    ) {
        let node = resident.node
        agenda.after(delay) { [unowned self] in
            // Nobody is suspended twice.
            guard node.host != nil, !node.isSuspended else { return }
            node.isSuspended = true
            if withController { node.wire.replug() }
            (resident as? Door)?.absences.begin(.suspended, at: world.now)
            let suspended = node.host
            agenda.after(milliseconds) { [unowned self, weak suspended] in
                // It may have been killed meanwhile: then another one lives, or will, and may be suspended itself.
                guard let suspended, node.host === suspended else { return }
                resume(resident, withController: withController)
            }
        }
    }

    private func resume(_ resident: any Resident, withController: Bool) {
        resident.node.isSuspended = false
        if withController { resident.node.loseController() }
        (resident as? Door)?.absences.end(.suspended, at: world.now)
        world.settle()
    }

    private func beginSecond(on resident: any Resident) {
        guard resident.node.host != nil, !resident.disk.isClaimed else { return }
        complaints.append("a second process begins on the database of the \(resident.kind), which has one")
    }
}
