import BluetoothCore
import LockProtocol

/// Carries attacks out, one at a time, with nothing but what went over the air.
final class Adversary {
    var heard = Eavesdropper()
    private unowned let world: World
    private let doors: [Door]
    private let pockets: [Pocket]
    private let agenda: Agenda

    private var attack: Attack?
    /// The door that the key is asked to open.
    private var door: Door?
    private var intruder: Intruder?
    private var stage = Stage.knocking
    private var dice = Dice(seed: 0)
    private var isJamming = false

    /// Whether he has done what there was to do.
    var isDone: Bool { if case .done = stage { true } else { false } }
    /// What he has said to the lock.
    private(set) var sent: [[UInt8]] = []

    private enum Stage {
        /// Not connected to the lock yet.
        case knocking
        /// Has asked the lock for a challenge.
        case asking
        /// Waits for the key to connect, with this challenge for it.
        case luring([UInt8])
        /// The key is there, and has the challenge.
        case signing
        case done
    }

    init(_ world: World, _ doors: [Door], _ pockets: [Pocket], _ agenda: Agenda) {
        self.world = world
        self.doors = doors
        self.pockets = pockets
        self.agenda = agenda
    }

    func begin(_ attack: Attack, near door: Door) {
        end()
        let mark = attack.isElsewhere ? doors.first { $0 !== door } ?? door : door
        guard let lock = heard.lockAddresses[door.number], let victim = heard.lockAddresses[mark.number],
            let key = heard.keyAddresses[attack.key]
        else { return }
        let intruder = Intruder(world)
        (self.attack, self.door) = (attack, door)
        self.intruder = intruder
        dice = Dice(seed: attack.chance)
        (sent, answered) = ([], 0)
        intruder.onChange = { [unowned self] in react() }
        if attack.kind == .pretend {
            lure(notification(challenge: (0..<6).map { _ in octet() } + [50, 1]), as: lock)
        } else {
            stage = .knocking
            intruder.initiate(to: victim, as: key)
        }
    }

    /// Goes, whatever it was at.
    func end() {
        setJamming(false)
        intruder?.leave()
        (intruder, attack) = (nil, nil)
    }

    // MARK: Step by step

    private func react() {
        guard let attack, let intruder else { return }
        answerRequests(intruder)
        switch stage {
        case .knocking where intruder.isConnected(.central): knocked(attack, intruder)
        case .asking:
            guard let challenge = offered(intruder) else { break }
            answer(challenge, attack, intruder)
        case .luring(let challenge) where intruder.isConnected(.peripheral):
            stage = .signing
            intruder.send(challenge, .peripheral)
        case .signing:
            guard let signed = intruder.heard(.peripheral).first(where: { $0.first == 0xD2 }) else { break }
            stage = .done
            if attack.kind == .pretend { pretend(intruder) } else { hold(signed, attack, intruder) }
        case .knocking, .luring, .done: break
        }
    }

    private func knocked(_ attack: Attack, _ intruder: Intruder) {
        let commands = heard.commands[attack.key] ?? []
        stage = .done
        switch attack.kind {
        case .replay: for command in commands { say(command, intruder) }
        case .reverse: for command in commands.reversed() { say(command, intruder) }
        case .flip:
            guard var command = commands.last else { break }
            // Not the opcode: then it is no command any more.
            let bit = 8 + dice.below(8 * (command.count - 1))
            command[bit / 8] ^= 1 << UInt8(bit % 8)
            say(command, intruder)
        case .flood: flood(intruder)
        case .forge, .plain, .hold:
            stage = .asking
            intruder.send([0x08, 1, 0, 0xFF, 0xFF] + RawController.little(LockUUID.challenge.bits), .central)
        case .pretend: break
        }
    }

    /// A challenge that the lock has handed out on this link, by itself or when it was asked.
    ///
    /// Core 5.4, Vol 3, Part F, 3.4.4.2 (ATT_READ_BY_TYPE_RSP)
    private func offered(_ intruder: Intruder) -> [UInt8]? {
        for pdu in intruder.heard(.central).reversed() {
            if pdu.first == 0x1B, pdu.count == 11 { return Array(pdu[3...]) }
            if pdu.first == 0x09, pdu.count == 12 { return Array(pdu[4...]) }
        }
        return nil
    }

    private func answer(_ challenge: [UInt8], _ attack: Attack, _ intruder: Intruder) {
        guard let last = heard.commands[attack.key]?.last, last.count == Self.signedCommandOctets else {
            stage = .done
            return
        }
        let command =
            [CommandBound.challengeLife.rawValue << 4 | LockOperation.unlock.rawValue, 0] + challenge.prefix(6)
        let handle = last[1...2]
        switch attack.kind {
        case .forge:
            let counter = Self.counter(of: last) &+ 1 &+ UInt32(dice.below(1_000))
            say([0xD2] + handle + command + RawController.little(counter) + last.suffix(8), intruder)
            stage = .done
        case .plain:
            for opcode: UInt8 in [0x52, 0x12] { say([opcode] + handle + command, intruder) }
            stage = .done
        default:
            guard let lock = door.flatMap({ heard.lockAddresses[$0.number] }) else { return }
            var told = challenge
            // Nothing vouches for what is said of the challenge's life.
            if dice.oneIn(2) { told[6] = UInt8(dice.below(30)) }
            lure(notification(challenge: told), as: lock)
        }
    }

    private func lure(_ challenge: [UInt8], as lock: DeviceAddress) {
        stage = .luring(challenge)
        setJamming(true)
        intruder?.advertise(as: lock)
    }

    private func hold(_ signed: [UInt8], _ attack: Attack, _ intruder: Intruder) {
        intruder.disconnect(.peripheral)
        intruder.stopAdvertising()
        setJamming(false)
        agenda.after(attack.holdMilliseconds) { [weak self, weak intruder] in
            if let intruder { self?.say(signed, intruder) }
        }
    }

    private func say(_ pdu: [UInt8], _ intruder: Intruder) {
        sent.append(pdu)
        intruder.send(pdu, .central)
    }

    private func pretend(_ intruder: Intruder) {
        for receipt in heard.receipts.suffix(4) { intruder.send(receipt, .peripheral) }
        guard let last = heard.receipts.last else { return }
        // One for the right counter, as far as anybody knows it.
        intruder.send(Array(last[..<3]) + (0..<(last.count - 3)).map { _ in octet() }, .peripheral)
    }

    private func flood(_ intruder: Intruder) {
        for _ in 0..<40 {
            let octets = (0..<(1 + dice.below(26))).map { _ in octet() }
            if dice.oneIn(4) {
                intruder.sendFragment(octets, flags: UInt16(dice.below(4)), .central)
            } else {
                intruder.send(octets, .central)
            }
        }
    }

    /// What the key asks of a lock that it is not: nothing of that is there.
    private func answerRequests(_ intruder: Intruder) {
        guard intruder.isConnected(.peripheral), let request = intruder.heard(.peripheral).last,
            let opcode = request.first, opcode & 1 == 0, opcode < 0x1B, answered != intruder.heard(.peripheral).count
        else { return }
        answered = intruder.heard(.peripheral).count
        intruder.send(opcode == 0x02 ? [0x03, 23, 0] : [0x01, opcode, 0, 0, 0x0A], .peripheral)
    }

    /// How many PDUs had come when it answered last.
    private var answered = 0

    private func setJamming(_ isOn: Bool) {
        guard let attack, let door, isOn != isJamming else { return }
        isJamming = isOn
        let pocket = pockets[attack.key]
        if isOn { world.cut(door.node, pocket.node) } else { world.join(door.node, pocket.node) }
    }

    // MARK: Octets

    private static let signedCommandOctets = 23

    private static func counter(of signed: [UInt8]) -> UInt32 {
        (0..<4).reduce(0) { $0 | UInt32(signed[11 + $1]) << UInt32(8 * $1) }
    }

    private func notification(challenge: [UInt8]) -> [UInt8] {
        [0x1B] + RawController.little(heard.challengeHandle) + challenge
    }

    private func octet() -> UInt8 { UInt8(truncatingIfNeeded: dice.next()) }
}
