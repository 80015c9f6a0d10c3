import DaemonControl

/// The pages of a lock's status as one: what it says of itself from the first, and whom it knows from all. The pages of its bonds
/// likewise.
enum StatusPages {
    /// Bonds in the lock's own order.
    static func bonds(_ ask: (PeripheralRequest.StatusPage) throws -> JSONObject) throws -> JSONObject {
        var list = try ask(PeripheralRequest.StatusPage())
        var bonds = list["bonds"]?.array ?? []
        var next = list["next"]?.string
        while let cursor = next {
            let page = try ask(PeripheralRequest.StatusPage(after: cursor))
            bonds += page["bonds"]?.array ?? []
            next = page["next"]?.string
        }
        list["bonds"] = .array(bonds)
        list["next"] = nil
        return list
    }

    /// Credentials by their names, as people look for them. Who comes or goes between two pages may be there or not.
    static func all(_ ask: (PeripheralRequest.StatusPage) throws -> JSONObject) throws -> JSONObject {
        var status = try ask(PeripheralRequest.StatusPage())
        var credentials = status["credentials"]?.array ?? []
        var unconfirmed = status["unconfirmed"]?.array ?? []
        var next = status["next"]?.string
        while let cursor = next {
            let page = try ask(PeripheralRequest.StatusPage(after: cursor))
            credentials += page["credentials"]?.array ?? []
            unconfirmed += page["unconfirmed"]?.array ?? []
            next = page["next"]?.string
        }
        let named = credentials.map { (name: $0.object?["name"]?.string ?? "", row: $0) }
        status["credentials"] = .array(named.sorted { $0.name < $1.name }.map(\.row))
        status["unconfirmed"] = .array(unconfirmed)
        status["next"] = nil
        return status
    }
}
