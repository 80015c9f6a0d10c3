import BluetoothCore
import LockPeripheral
import LockProtocol
import MemoryStores
import Testing

extension CredentialID {
    static func of(_ bond: UInt64) -> Self { Self(rawValue: bond) }
}

extension Credential {
    /// With a bond of its own number.
    init(_ number: UInt64, _ name: String, _ role: Role, isEnabled: Bool = true, validity: Validity = .always) {
        self.init(
            id: CredentialID(rawValue: number), name: name, role: role, isEnabled: isEnabled, bond: number,
            validity: validity)
    }
}

extension LockBench {
    /// Of the vectors of docs/PROTOCOL.md.
    static let code = try? SetupCode(
        parsing: "LATCH1:070128-HK8HAH-048J2C-A1A5GQ-30CHM6-RW3MF1-Z851MA-HT99D6-MYMAKA-NBNJPT-XBV5X8")

    /// Everybody has a link, of the same number.
    init(_ credentials: [Credential]) {
        var snapshot = LockSnapshot()
        for credential in credentials { snapshot.apply(.credential(credential)) }
        self.init(snapshot)
        for bond in credentials.compactMap(\.bond) { connectEncrypted(bond, bond) }
    }

    func credential(_ number: UInt64) -> Credential? { store.committed.credentials[CredentialID(rawValue: number)] }

    /// Of its record, as a reader has it.
    func version(_ number: UInt64) throws -> ValueVersion {
        ValueVersion(of: try #require(credential(number)).record.encoded)
    }

    /// A request with the store's word for it, as the lock's shell has it.
    @discardableResult
    mutating func ask(_ octets: [UInt8], on link: UInt64, responseOctets: Int = 20) -> ControlPointResponse? {
        let store = store
        let context = ControlPointContext(
            of: octets, responseOctets: responseOctets, window: window, fixed: fixed,
            after: { store.credentials(after: $0, limit: $1) },
            all: { store.credentials(in: $0) })
        put(.controlPoint(LockLink(rawValue: link), octets, context))
        if outputs.contains(.closeWindow) { window = nil }
        for case .openWindow(LockLink(rawValue: link), let opening, let manager) in outputs {
            window = ControlPointContext.Window(
                name: opening.name, role: opening.role, opener: manager.credential, code: Self.code)
            return ControlPointResponse(request: .openEnrolment, result: .success)
        }
        let answers = outputs.compactMap { output -> [UInt8]? in
            guard case .indicateControlPoint(LockLink(rawValue: link), let octets) = output else { return nil }
            return octets
        }
        #expect(answers.count <= 1 && answers.allSatisfy { $0.count <= max(responseOctets, 20) })
        return answers.first.flatMap { try? ControlPointResponse(exactly: $0) }
    }

    @discardableResult
    mutating func ask(
        _ procedure: ControlPointProcedure, on link: UInt64, responseOctets: Int = 20
    ) -> ControlPointResponse? {
        ask(procedure.encoded, on: link, responseOctets: responseOctets)
    }

    mutating func change(_ number: UInt64, _ change: CredentialChange, by link: UInt64) throws -> ControlPointResult? {
        ask(.change(CredentialID(rawValue: number), try version(number), change), on: link)?.result
    }

    /// Reads a list to its end, and says in how many parts.
    mutating func list(on link: UInt64, responseOctets: Int = 20) throws -> (rows: [CredentialRow], parts: Int) {
        var (rows, parts): ([CredentialRow], Int) = ([], 0)
        var from: UInt64 = 0
        var begun: [UInt8] = []
        while true {
            let place = ReadingPlace(
                offset: UInt16(begun.count), version: try begun.isEmpty ? ReadingPlace.start.version : begun.version(8))
            let answer = ask(
                .listCredentials(from: CredentialID(rawValue: from), place), on: link, responseOctets: responseOctets)
            let part = try ValuePart(exactly: try #require(answer?.result == .success ? answer?.parameters : nil))
            parts += 1
            begun += part.octets
            while begun.count > 14, begun.count >= 15 + Int(begun[14]) {
                let row = try CredentialRow(exactly: Array(begun.prefix(15 + Int(begun[14]))))
                begun.removeFirst(15 + Int(begun[14]))
                rows.append(row)
                from = row.id.rawValue + 1
            }
            if part.isLast { return (rows, parts) }
            // It does not say yet which version it is of.
            if begun.count < 12 { begun = [] }
            try #require(part.octets.count > 0 && parts < 10_000)
        }
    }
}

extension [UInt8] {
    /// Four octets of these, from one on.
    func version(_ offset: Int) throws -> ValueVersion {
        try #require(count >= offset + 4)
        return ValueVersion(rawValue: self[offset..<offset + 4].reversed().reduce(0) { $0 << 8 | UInt32($1) })
    }
}
