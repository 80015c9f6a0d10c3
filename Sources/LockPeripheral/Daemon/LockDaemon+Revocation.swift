import BluetoothCore
import BluetoothHost
import LockProtocol
import SecurityManager

/// Why nothing is done to a credential.
package enum RevocationRefusal: Error, Equatable, Sendable, CustomStringConvertible {
    case unknown(String, known: [String])
    case unknownUser(String)
    /// Its row is damaged: it can be removed, and nothing else.
    case unreadable(String)
    /// The disk failed while it was read: who has a credential is not known. Nothing has been changed, and the program ends.
    case stateUnreadable

    package var description: String {
        switch self {
        case .unknown(let name, let known):
            "no credential is called \"\(name)\": "
                + (known.isEmpty ? "there is none" : "there are " + known.joined(separator: ", "))
        case .unknownUser(let user): "no user is called \"\(user)\": `latch peripheral users` lists them"
        case .unreadable(let name):
            "the row of credential \"\(name)\" is damaged: remove it, and enrol its key again"
        case .stateUnreadable: "the lock's disk cannot be read: its program ends, ask the next one"
        }
    }
}

extension CredentialScope {
    fileprivate var name: String {
        switch self {
        case .named(let name), .ofUser(let name): name
        }
    }

    fileprivate func administration(_ change: CredentialChange) -> LockAdministration {
        switch self {
        case .named(let name): .named(name, change)
        case .ofUser(let user): .ofUser(user, change)
        }
    }
}

extension LockDaemon {
    /// Does this to everything of this name; says whether that changed anything.
    package func administer(_ name: String, _ change: CredentialChange) throws(RevocationRefusal) -> Bool {
        try administer(.named(name), change)
    }

    /// Does this to everything that the scope covers; says whether that changed anything. What is removed loses its
    /// bonds, confirmed or not, and their links, all in this iteration. What cannot be read can be removed, by its row's number too.
    package func administer(_ scope: CredentialScope, _ change: CredentialChange) throws(RevocationRefusal) -> Bool {
        let concerned = credentials(in: scope)
        let unreadable = rows?.unreadableCredentials(in: scope) ?? []
        guard isStateReadable else { throw .stateUnreadable }
        guard !concerned.isEmpty || change == .removed && !unreadable.isEmpty else {
            throw refusal(of: scope, unreadable)
        }
        guard change == .removed || concerned.contains(where: { change.applied(to: $0) != $0 }) else { return false }
        // What its rows say no more is still known by the scope's own name.
        let names = Set(concerned.map(\.name)).union(concerned.isEmpty ? [scope.name] : []).sorted()
        if change == .removed {
            for name in names {
                removeBonds(of: concerned.filter { $0.name == name }.compactMap(\.bond), credential: name)
            }
        }
        feed(.administration(scope.administration(change)))
        if change == .removed {
            removeUnreadable(unreadable, scope.name)
            for name in names { feedEnrolment(.credentialRemoved(name, register(about: name))) }
            reviewUnprovenBonds()
        }
        return true
    }

    /// False once a read has failed. What was not found may be there then.
    var isStateReadable: Bool { rows?.hasFailed != true }

    /// There is nothing in this scope that can be read.
    func refusal(of scope: CredentialScope, _ unreadable: [UnreadableCredential]) -> RevocationRefusal {
        guard unreadable.isEmpty else { return .unreadable(scope.name) }
        let refusal: RevocationRefusal =
            switch scope {
            case .named(let name): .unknown(name, known: credentialNames)
            case .ofUser(let user): .unknownUser(user)
            }
        return isStateReadable ? refusal : .stateUnreadable
    }

    /// A bond that such a row names may be anybody's: it goes where no other credential names it.
    private func removeUnreadable(_ unreadable: [UnreadableCredential], _ name: String) {
        for credential in unreadable { feed(.administration(.unreadableRemoved(credential.id, named: name))) }
        for bond in unreadable.compactMap(\.bond) {
            let id = BondID(Int64(bitPattern: bond))
            if !isNamed(id) { host.deleteBond(id) }
        }
    }

    /// The owner has the store's rows believed in spite of `doubt`: the audit says so, in the commit that makes it true.
    package func confirmState(_ doubt: StateDoubt) {
        feed(.administration(.stateConfirmed(doubt)))
        // Nothing ends while nothing is believed. From the commit on something is.
        host.afterCommit { [weak self] in self?.reviewUnprovenBonds() }
    }

    var credentialNames: [String] {
        rows?.credentialNames() ?? Set(machine.credentials.values.map(\.name)).sorted()
    }

    /// The host ends the links of a bond that it deletes.
    func removeBonds(of ids: [UInt64], credential: String) {
        let named = ids.map { BondID(Int64(bitPattern: $0)) } + host.bonds(enrolledFor: credential)
        for id in Set(named).sorted(by: { $0.rawValue < $1.rawValue }) { host.deleteBond(id) }
    }
}

// MARK: Bonds without a credential

/// The search for bonds that no credential names.
enum OrphanSearch {
    case behind(BondCursor?)
    case ended
}

extension LockDaemon {
    /// Bonds of one slice.
    package static let orphanSliceBonds = 64

    /// A confirmed bond that no credential names opens nothing, and still encrypts links. A lock of an earlier version left
    /// one behind whenever a credential changed hands. Deletes what one slice has of these; false once there are no more.
    package func readOn() -> Bool {
        guard case .behind(let cursor) = orphans else { return false }
        let page = host.confirmedBonds(after: cursor, limit: Self.orphanSliceBonds)
        for id in page.rows where !isNamed(id) { host.deleteBond(id) }
        orphans = page.next.map { .behind($0) } ?? .ended
        return page.next != nil
    }

    /// All of them at once.
    func deleteOrphanedBonds() { while readOn() {} }

    /// One that comes before the search has found it does not find in either.
    func deleteIfOrphaned(_ id: BondID) -> Bool {
        guard case .behind = orphans, !isNamed(id) else { return false }
        host.deleteBond(id)
        return true
    }

    func isNamed(_ id: BondID) -> Bool {
        let bond = UInt64(bitPattern: id.rawValue)
        return rows?.isNamed(bond) ?? machine.credentials.values.contains { $0.bond == bond }
    }
}
