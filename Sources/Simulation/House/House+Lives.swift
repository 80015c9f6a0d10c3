/// Processes end, and others begin in their place.
extension House {
    func watch(_ resident: any Resident) {
        let (node, disk, machine) = (resident.node, resident.disk, resident.kind)
        node.keepsPackets = false
        let drop = node.onEnd
        node.onEnd = { [unowned self, unowned resident] in
            drop()
            tally.ends[machine, default: 0] += 1
            note(lane(of: resident), .ended, "a process ends")
            if let point = armed.removeValue(forKey: machine) {
                tally.points.insert(Tally.Point(machine: machine, point: point))
            }
            endsOfSchedule += 1
            household?.ended(resident)
            if let door = resident as? Door {
                door.absences.begin(.dead, at: world.now)
                door.absences.end(.suspended, at: world.now)
            } else {
                keyHasEnded = true
            }
            agenda.after(downMilliseconds) { [unowned self, unowned resident] in revive(resident) }
        }
        node.onFailure = { [unowned self] error in
            if !disk.hasDied { complaints.append("\(machine): a process has ended by itself: \(error)") }
        }
    }

    private func lane(of resident: any Resident) -> Chronicle.Lane {
        pockets.firstIndex { $0 === resident }.map { .key($0) } ?? .lock
    }

    private func revive(_ resident: any Resident) {
        let (node, disk, machine) = (resident.node, resident.disk, resident.kind)
        guard node.host == nil else { return }
        disk.mend()
        if let point = restoreFaults.removeValue(forKey: machine) { arm(point, resident) }
        do {
            let door = resident as? Door
            door?.began = world.now
            try resident.launch()
            // It may have been killed again already.
            guard node.host != nil else { return }
            tally.restores += 1
            note(lane(of: resident), .begun, "a process begins")
            door?.absences.end(.dead, at: world.now)
            household?.launched(resident)
        } catch {
            if !disk.hasDied { complaints.append("\(machine): the next process cannot begin: \(error)") }
            disk.mend()
            agenda.after(downMilliseconds + 1) { [unowned self, unowned resident] in revive(resident) }
        }
    }
}
