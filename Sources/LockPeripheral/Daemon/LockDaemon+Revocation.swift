import BluetoothCore
import BluetoothHost
import SecurityManager

/// Why nothing is done to a credential.
package enum RevocationRefusal: Error, Equatable, Sendable, CustomStringConvertible {
    case unknown(String, known: [String])
    /// The machine begins once the service has its handles.
    case notBegun

    package var description: String {
        switch self {
        case .unknown(let name, let known):
            "no credential is called \"\(name)\": "
                + (known.isEmpty ? "there is none" : "there are " + known.joined(separator: ", "))
        case .notBegun: "the lock has not published its service yet: wait for its radio"
        }
    }
}

extension LockDaemon {
    /// Disables, enables or removes everything of this name; says whether that changed anything. What is removed loses its
    /// bonds, confirmed or not, and their links, all in this iteration.
    package func administer(_ name: String, _ act: CredentialAct) throws(RevocationRefusal) -> Bool {
        guard let machine else { throw .notBegun }
        let named = machine.credentials.values.filter { $0.name == name }
        guard !named.isEmpty else {
            throw .unknown(name, known: Set(machine.credentials.values.map(\.name)).sorted())
        }
        let isChange = act == .removed || named.contains { $0.isEnabled != (act == .enabled) }
        guard isChange else { return false }
        if act == .removed { removeBonds(of: named.compactMap(\.bond), credential: name) }
        feed(.administration(.named(name, act)))
        if act == .removed { feedEnrolment(.credentialRemoved(name, register)) }
        return true
    }

    /// The host ends the links of a bond that it deletes.
    private func removeBonds(of ids: [UInt64], credential: String) {
        for bond in host.bonds where ids.contains(UInt64(bitPattern: bond.id.rawValue)) || bond.credential == credential
        {
            host.deleteBond(bond.id)
        }
    }

    /// A confirmed bond that no credential names opens nothing, and still encrypts links. A lock of an earlier version left
    /// one behind whenever a credential changed hands.
    func deleteOrphanedBonds() {
        guard let machine else { return }
        let named = Set(machine.credentials.values.compactMap(\.bond))
        for bond in host.bonds where bond.state == .confirmed && !named.contains(UInt64(bitPattern: bond.id.rawValue)) {
            host.deleteBond(bond.id)
        }
    }
}
