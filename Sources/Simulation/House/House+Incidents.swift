import BluetoothCore
import LockPeripheral
import StrikeControl

/// What befalls a door that a strike holds.
extension House {
    func arm(_ incident: Incident) {
        let door = door
        guard let strike = door.strike else { return }
        tally.faults[incident.kind, default: 0] += 1
        let scene = strike.scene
        scene.after(incident.afterMilliseconds) { [unowned self, unowned strike, unowned scene] in
            note(.faults, .wrong, "\(incident.word)")
            switch incident.word {
            case .comes(let milliseconds): scene.push(openMilliseconds: milliseconds)
            case .exit(let milliseconds): scene.press(milliseconds: milliseconds)
            case .exitAtLocking(let milliseconds): scene.pressAtLocking(milliseconds: milliseconds)
            case .crime(let milliseconds): scene.force(openMilliseconds: milliseconds)
            case .crimeUntold(let milliseconds):
                door.diesBeforeTelling = true
                scene.force(openMilliseconds: milliseconds)
            case .fire(let milliseconds): scene.begin(.fire, milliseconds: milliseconds)
            case .tamper(let milliseconds): scene.begin(.tampered, milliseconds: milliseconds)
            case .hand(let milliseconds): scene.holdBack(milliseconds: milliseconds)
            case .jam(let milliseconds): scene.begin(.jammed, milliseconds: milliseconds)
            case .keeperKilled(let milliseconds): strike.kill(downMilliseconds: milliseconds)
            case .keeperKilledAtCall(let point): strike.arm(point)
            case .deafLine(let milliseconds): scene.begin(.line(.deaf), milliseconds: milliseconds)
            case .lyingLine(let milliseconds): scene.begin(.line(.lying), milliseconds: milliseconds)
            case .stuckSensor(let isLocked, let milliseconds):
                scene.begin(.stuckSensor(isLocked: isLocked), milliseconds: milliseconds)
            case .unplugged(let milliseconds): scene.unplug(milliseconds: milliseconds)
            case .failingCalls(let milliseconds): scene.begin(.failing, milliseconds: milliseconds)
            }
        }
    }

    /// What the judge of commands, and the one of doors, say of a door.
    func broken(at door: Door, _ schedule: Schedule, _ judge: inout Judge) -> [String] {
        guard let strike = door.strike, let fit = door.fit else { return judge.broken }
        let record = strike.scene.record
        let isSound = door !== self.door || !schedule.incidents.contains(where: \.isOfBadMetal)
        judge.isSound = isSound
        judge.reasonsToWait = record.reasonsToWait + record.absences.all
        // What has come in an absence waits for its end.
        judge.presses = record.presses.all.map { press in
            (press.from, door.absences.all.first { $0.meets(press.from, press.from) }?.to ?? press.from)
        }
        judge.mayOpen = { [absences = door.absences.all] begin, end in
            let first = absences.filter { $0.meets(begin, end) }.map(\.from).min() ?? begin
            return record.mayOpen(min(begin, first), end)
        }
        judge.wasFree = { at in
            // A lock that is killed finds a bolt that a hand holds back, and has nothing left to do. A keeper may not have seen yet that its
            // chip is another one.
            record.free.all.contains { $0.meets(DoorRecord.news(before: at), at) }
                || record.absences.all.contains { $0.meets(DoorRecord.news(before: at), at) }
                || record.hands.all.contains { $0.to.map { $0 >= at } ?? true }
        }
        return judge.broken
            + DoorJudge(
                DoorEvidence(
                    record: record, fit: fit, absences: door.absences.all, isSound: isSound, end: world.now,
                    commands: ledger.commands.values.flatMap(\.arrivals).filter { $0.door == door.number }.map(\.at),
                    mayBeInPassage: judge.mayBeInPassage)
            ).broken
    }
}
