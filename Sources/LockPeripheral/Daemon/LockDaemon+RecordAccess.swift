import BluetoothCore
import BluetoothHost
import CoreBluetoothEssentials
import LockProtocol
import SecurityManager

/// What a link has asked of the audit, and has not yet been answered to the end. In memory only: a reader whose link has ended asks
/// from the record on that it lacks.
enum RecordAccess {
    case report(AuditReport)
    case tally(AuditTally)

    var opcode: RecordAccessOpcode {
        switch self {
        case .report: .reportStoredRecords
        case .tally: .reportNumberOfStoredRecords
        }
    }
}

// MARK: Requests

/// The audit over the air: one procedure at a time on each link, for a client that has asked for what it brings.
extension LockDaemon {
    func recordAccess(
        _ peripheral: CBPeripheralManager, _ request: CBATTRequest, _ link: LinkInfo, _ octets: [UInt8]
    ) {
        let lockLink = LockLink(link)
        guard link.isProven, link.bond.flatMap({ host.bond($0) })?.state == .confirmed, rows?.isInDoubt != true,
            let tree, let point = tree.recordAccess.valueHandle, let record = tree.auditRecord.valueHandle
        else { return peripheral.respond(to: request, withResult: .insufficientAuthorization) }
        if let fault = answerFault(of: point, link) { return peripheral.respond(to: request, withResult: fault) }
        let opcode = octets.first.map { RecordAccessOpcode(rawValue: $0) }
        if opcode == .reportStoredRecords, !host.isNotified(of: record, on: link.link) {
            return peripheral.respond(to: request, withResult: .cccdImproperlyConfigured)
        }
        guard recordAccesses[lockLink] == nil || opcode == .abortOperation else {
            return peripheral.respond(to: request, withResult: .procedureAlreadyInProgress)
        }
        recordRequest = request
        feed(.recordAccess(lockLink, octets))
        // Nothing was said of a link that is not there any more.
        answerRecordRequest(.insufficientAuthorization)
    }

    private func answerRecordRequest(_ result: CBATTError.Code) {
        guard let request = recordRequest else { return }
        recordRequest = nil
        manager?.respond(to: request, withResult: result)
    }

    /// The request's answer, and the beginning of what it asks for.
    func begin(_ verdict: RecordAccessVerdict, _ link: LockLink) {
        answerRecordRequest(verdict == .refused ? .insufficientAuthorization : .success)
        switch verdict {
        case .refused: break
        case .malformed(let opcode, let result): answer(.result(of: opcode, result), link)
        case .granted(.abort):
            let isUnderWay = recordAccesses.removeValue(forKey: link) != nil
            answer(.result(of: .abortOperation, isUnderWay ? .success : .abortUnsuccessful), link)
        case .granted(.report(let selection)):
            begin(.reportStoredRecords, link) {
                let (sequences, through, end) = try place(of: selection)
                let octets = (host.link(link.id)?.mtu ?? 0) - Self.valueHeaderOctets
                return .report(AuditReport(sequences, through: through, end: end, valueOctets: octets))
            }
        case .granted(.count(let selection)):
            begin(.reportNumberOfStoredRecords, link) {
                let (sequences, through, _) = try place(of: selection)
                return .tally(AuditTally(sequences, through: through))
            }
        }
    }

    private func begin(_ opcode: RecordAccessOpcode, _ link: LockLink, _ access: () throws -> RecordAccess) {
        do {
            recordAccesses[link] = try access()
            goOn(link)
        } catch {
            answer(.result(of: opcode, .procedureNotCompleted), link)
        }
    }

    /// Sequences, the last one that there is now, and the end that is signed there.
    private func place(
        of selection: RecordSelection
    ) throws -> (sequences: ClosedRange<UInt64>, through: UInt64, end: SignedAuditEnd?) {
        let end = try store.auditEnd()
        let through = end?.checkpoint.head.sequence ?? machine.auditHead.sequence
        switch selection {
        case .from(let first): return (first...UInt64.max, through, end)
        case .within(let range): return (range, through, end)
        case .last: return (through...UInt64.max, through, end)
        case .first: return (1...(try store.auditCount(in: 1...UInt64.max, limit: 1).last ?? 1), through, end)
        }
    }
}

// MARK: What is under way

extension LockDaemon {
    /// Those whose credential may not any more lose what they have asked for.
    func reviewRecordAccesses() {
        for link in sortedRecordAccesses where !mayReadAudit(link) { end(link, .procedureNotCompleted) }
    }

    /// There is room somewhere: every link gets what it has room for.
    func goOnWithRecordAccesses() {
        for link in sortedRecordAccesses { goOn(link) }
    }

    private var sortedRecordAccesses: [LockLink] { recordAccesses.keys.sorted { $0.rawValue < $1.rawValue } }

    private func mayReadAudit(_ link: LockLink) -> Bool {
        rows?.isInDoubt != true && machine.mayReadAudit(link, at: moment)
    }

    private func goOn(_ link: LockLink) {
        switch recordAccesses[link] {
        case .report(let report): goOn(report, link)
        case .tally(let tally): goOn(tally, link)
        case nil: break
        }
    }

    /// As much as the link has room for. It is asked for each value whether its reader may, and still listens.
    private func goOn(_ begun: AuditReport, _ link: LockLink) {
        guard let tree, let handle = tree.auditRecord.valueHandle else { return }
        var report = begun
        while true {
            guard mayReadAudit(link), host.isNotified(of: handle, on: link.id) else {
                return end(link, .procedureNotCompleted)
            }
            switch report.next {
            case .ended(let result): return end(link, result)
            case .page(let sequences):
                do { try report.take(sequences, of: store) } catch {
                    return end(link, .procedureNotCompleted)
                }
            case .value(let value):
                let isTaken = manager?.updateValue(value, for: tree.auditRecord, onLink: link.id, isBulk: true)
                guard isTaken == true else {
                    recordAccesses[link] = .report(report)
                    return
                }
                report.advance()
            }
        }
    }

    /// One slice; the next one has an iteration of its own, so that nobody waits for all of them.
    private func goOn(_ begun: AuditTally, _ link: LockLink) {
        guard mayReadAudit(link) else { return end(link, .procedureNotCompleted) }
        var tally = begun
        if let slice = tally.next {
            guard let count = try? store.auditCount(in: slice, limit: AuditTally.sliceRecordsMaximum) else {
                return end(link, .procedureNotCompleted)
            }
            tally.take(count)
        }
        guard tally.next == nil else {
            recordAccesses[link] = .tally(tally)
            return host.setTimer(recordTimer, at: host.now) { [weak self] _ in self?.goOnWithRecordAccesses() }
        }
        recordAccesses[link] = nil
        answer(.numberOfRecords(tally.count), link)
    }

    private func end(_ link: LockLink, _ result: RecordAccessResult) {
        guard let access = recordAccesses.removeValue(forKey: link) else { return }
        answer(.result(of: access.opcode, result), link)
    }

    private func answer(_ response: RecordAccessResponse, _ link: LockLink) {
        guard let tree else { return }
        update(tree.recordAccess, response.encoded, link)
    }
}

extension AuditReport {
    /// Reads the page that ``next`` wants, of these sequences.
    package mutating func take(_ sequences: ClosedRange<UInt64>, of store: any LockStore) throws {
        let (before, limit) = (sequences.lowerBound - 1, Self.pageRecordsMaximum)
        take(
            try store.auditRecords(after: before, limit: limit), try store.auditCuts(after: before, limit: limit + 1),
            of: try store.auditCount(in: sequences, limit: limit))
    }
}
