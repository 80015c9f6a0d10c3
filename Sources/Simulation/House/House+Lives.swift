/// Processes end, and others begin in their place.
extension House {
    func watch(_ node: Node, _ disk: SimulatedDisk, _ machine: Machine) {
        node.keepsPackets = false
        let drop = node.onEnd
        node.onEnd = { [unowned self, unowned node] in
            drop()
            tally.ends[machine, default: 0] += 1
            note(lane(of: node), .ended, "a process ends")
            if let point = armed.removeValue(forKey: machine) {
                tally.points.insert(Tally.Point(machine: machine, point: point))
            }
            endsOfSchedule += 1
            if machine == .lock {
                absences.begin(.dead, at: world.now)
                absences.end(.suspended, at: world.now)
            }
            if machine == .key { keyHasEnded = true }
            agenda.after(downMilliseconds) { [unowned self, unowned node] in revive(node, disk, machine) }
        }
        node.onFailure = { [unowned self] error in
            if !disk.hasDied { complaints.append("\(machine): a process has ended by itself: \(error)") }
        }
    }

    private func lane(of node: Node) -> Chronicle.Lane {
        pockets.firstIndex { $0.node === node }.map { .key($0) } ?? .lock
    }

    private func revive(_ node: Node, _ disk: SimulatedDisk, _ machine: Machine) {
        guard node.host == nil else { return }
        disk.mend()
        if let point = restoreFaults.removeValue(forKey: machine),
            let pocket = machine == .lock ? pockets.first : pockets.first(where: { $0.node === node })
        {
            arm(point, machine, pocket)
        }
        do {
            if machine == .lock {
                lockBegan = world.now
                try door.launch()
            } else {
                try pockets.first { $0.node === node }?.launch()
            }
            // It may have been killed again already.
            guard node.host != nil else { return }
            tally.restores += 1
            note(lane(of: node), .begun, "a process begins")
            if machine == .lock { absences.end(.dead, at: world.now) }
        } catch {
            if !disk.hasDied { complaints.append("\(machine): the next process cannot begin: \(error)") }
            disk.mend()
            agenda.after(downMilliseconds + 1) { [unowned self, unowned node] in revive(node, disk, machine) }
        }
    }
}
