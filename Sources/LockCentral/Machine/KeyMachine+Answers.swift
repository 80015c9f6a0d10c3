import BluetoothCore
import LockProtocol

/// What a lock says became of a command.
extension KeyMachine {
    /// A receipt counts only if this bond's lock sealed it for the command that is out, with a counter never seen before.
    mutating func receipt(_ peer: PeerIdentifier, _ octets: [UInt8], _ turn: inout KeyTurn) {
        guard let slot = locks[peer], let receipt = try? Receipt(exactly: octets),
            receipt.lockCounter > slot.receiptCounter ?? 0 || slot.receiptCounter == nil
        else { return }
        let (key, handle): (ReceiptKey, AttributeHandle)
        switch slot.link {
        case .clear(_, .some(let path)): (key, handle) = (path.receiptKey, path.receiptHandle)
        case .encrypted(let open):
            guard let program = open.programKey else { return }
            (key, handle) = (program.receipts, ProgramKey.receiptHandle)
        case .none, .clear(_, nil), .encrypting, .proven: return
        }
        let candidates = [slot.request?.sent, slot.link.open?.accepted?.challenge].compactMap { $0 }
        for challenge in candidates {
            guard let state = key.open(receipt, answering: challenge, handle: handle) else { continue }
            locks[peer]?.receiptCounter = receipt.lockCounter
            if slot.link.open?.hasReceipt == false, !slot.link.isProven { turn.act(.vouch(peer)) }
            locks[peer]?.link.open?.hasReceipt = true
            turn.persist(.receiptCounter(peer, receipt.lockCounter))
            return answered(peer, challenge, state, &turn)
        }
    }

    mutating func lockState(_ peer: PeerIdentifier, _ octets: [UInt8], _ turn: inout KeyTurn) {
        // A lock says nothing to a program in this way that others would hear as well.
        guard case .encrypted(let open) = locks[peer]?.link, open.programKey == nil,
            let state = try? LockState(exactly: octets)
        else { return }
        let candidates = [locks[peer]?.request?.sent, open.accepted?.challenge].compactMap { $0 }
        if let challenge = candidates.first(where: { $0.prefix == state.answered }) {
            answered(peer, challenge, state, &turn)
        } else if state.answered == 0 {
            know(peer, state, &turn)
        }
    }

    private mutating func answered(
        _ peer: PeerIdentifier, _ challenge: ChallengeID, _ state: LockState, _ turn: inout KeyTurn
    ) {
        if state.result != .challengeDead { know(peer, state, &turn) }
        if let request = locks[peer]?.request, request.sent == challenge {
            commanded(peer, by: request, &turn)
            conclude(peer, request, state.result, &turn)
        } else if let accepted = locks[peer]?.link.open?.accepted, accepted.challenge == challenge,
            state.result != .accepted
        {
            locks[peer]?.link.open?.accepted = nil
            if let operation = locks[peer]?.lastAnswer?.operation {
                locks[peer]?.lastAnswer = .init(operation: operation, result: state.result, at: turn.now)
            }
            turn.act(.outcome(peer, accepted.id, state.result))
            if locks[peer]?.request == nil { letGo(peer, &turn) }
        }
    }

    /// Sealed, or over encryption: the lock's own word.
    private mutating func know(_ peer: PeerIdentifier, _ state: LockState, _ turn: inout KeyTurn) {
        locks[peer]?.lastState = .init(bolt: state.bolt, door: state.door, at: turn.now)
        turn.act(.stateKnown(peer, state.bolt, state.door))
    }

    private mutating func conclude(
        _ peer: PeerIdentifier, _ request: KeyRequest, _ result: LockResult, _ turn: inout KeyTurn
    ) {
        if result != .challengeDead {
            locks[peer]?.lastAnswer = .init(operation: request.operation, result: result, at: turn.now)
        }
        switch result {
        case .accepted:
            end(peer, request, .accepted, &turn)
            awaitOutcome(peer, request, &turn)
        case .challengeDead:
            // The command has killed whatever was issued before it was looked at; the next one comes behind this answer.
            locks[peer]?.link.open?.challenge = nil
            retry(peer, countsAsDead: true, else: .refused(.challengeDead), &turn)
        case .done:
            end(peer, request, .done, &turn)
            letGo(peer, &turn)
        case .aborted:
            end(peer, request, .aborted, &turn)
            letGo(peer, &turn)
        default:
            end(peer, request, .refused(result), &turn)
            letGo(peer, &turn)
        }
    }

    private mutating func awaitOutcome(_ peer: PeerIdentifier, _ request: KeyRequest, _ turn: inout KeyTurn) {
        locks[peer]?.link.open?.accepted = request.sent.map { (request.id, $0) }
        locks[peer]?.link.open?.wait = .outcome(
            until: turn.now.advanced(byMilliseconds: Self.outcomeWaitMilliseconds))
    }

    /// Key Status. The lock's answer comes behind everything that was sent to it on this link, and on a link that is
    /// encrypted now nothing signed can follow: a command that it has not taken, it never will. Where a program has a key of its own, the
    /// link proves nothing of the lock: its answer counts by its authenticator, and nothing else is an answer.
    mutating func controlPoint(_ peer: PeerIdentifier, _ octets: [UInt8], _ turn: inout KeyTurn) {
        guard case .encrypted(let open) = locks[peer]?.link, case .status(let question, _) = open.wait,
            let request = locks[peer]?.request, let sent = request.sent,
            let response = response(octets, to: question, open.programKey), response.request == .keyStatus
        else { return }
        locks[peer]?.link.open?.wait = .nothing
        guard response.result == .success,
            let word = question == nil
                ? CommandWord(of: sent, in: response.parameters) : CommandWord(answering: response.parameters)
        else {
            end(peer, request, .unknown, &turn)
            return letGo(peer, &turn)
        }
        if word.phase == .none {
            // Silence is also what a counter gets that this key has used before: it may have been put back to an older state.
            if word.hasLastCommand, locks[peer]?.isSentCounted == true {
                turn.act(.advanceSignCounter(peer, beyond: word.lastCounter))
            }
            return retry(peer, countsAsDead: false, else: .expired, &turn)
        }
        commanded(peer, by: request, &turn)
        switch word.phase {
        case .accepted: conclude(peer, request, .accepted, &turn)
        case .done: conclude(peer, request, .done, &turn)
        case .refused: conclude(peer, request, word.result, &turn)
        case .aborted: conclude(peer, request, .aborted, &turn)
        default:
            end(peer, request, .unknown, &turn)
            letGo(peer, &turn)
        }
    }

    private func response(
        _ octets: [UInt8], to question: StatusQuestion?, _ key: ProgramKey?
    ) -> ControlPointResponse? {
        guard let question else { return try? ControlPointResponse(exactly: octets) }
        return key?.answer(octets, asked: ControlPointProcedure.questionKeyStatus(question).encoded)
    }
}

/// What Key Status says of the command that was asked about.
private struct CommandWord {
    /// None: the lock has not taken it.
    let phase: CommandPhase
    let result: LockResult
    let hasLastCommand: Bool
    /// nil where nobody knows.
    let lastCounter: UInt32?

    /// The lock tells its last command, whichever that is.
    init?(of sent: ChallengeID, in parameters: [UInt8]) {
        guard let status = try? KeyStatus(exactly: parameters) else { return nil }
        let asked = status.lastCommand.flatMap { $0.challenge == sent ? $0 : nil }
        phase = asked?.phase ?? .none
        result = asked?.result ?? .done
        hasLastCommand = status.lastCommand != nil
        lastCounter = status.lastCommand?.signCounter
    }

    /// The lock was asked about this one.
    init?(answering parameters: [UInt8]) {
        guard let status = try? QuestionedStatus(exactly: parameters) else { return nil }
        (phase, result, hasLastCommand, lastCounter) = (status.phase, status.result, true, status.lastCounter)
    }
}
