import DaemonControl

/// The pages of a lock's lists as one.
enum StatusPages {
    /// Bonds in the lock's own order.
    static func bonds(_ ask: (PeripheralRequest.StatusPage) throws -> JSONObject) throws -> JSONObject {
        try joined(["bonds"]) { try ask(PeripheralRequest.StatusPage(after: $0)) }
    }

    /// Users by their names.
    static func users(_ ask: (PeripheralRequest.UsersPage) throws -> JSONObject) throws -> JSONObject {
        try joined(["users"]) { try ask(PeripheralRequest.UsersPage(after: $0)) }
    }

    /// Credentials by their names, as people look for them. What the lock says of itself is of the first page.
    static func all(_ ask: (PeripheralRequest.StatusPage) throws -> JSONObject) throws -> JSONObject {
        var status = try joined(["credentials", "unconfirmed"]) { try ask(PeripheralRequest.StatusPage(after: $0)) }
        let named = (status["credentials"]?.array ?? []).map { (name: $0.object?["name"]?.string ?? "", row: $0) }
        status["credentials"] = .array(named.sorted { $0.name < $1.name }.map(\.row))
        return status
    }

    /// The first page with these lists of all pages; a page begins where the one before it says. Who comes or goes between two pages may be
    /// there or not.
    private static func joined(_ lists: [String], _ ask: (String?) throws -> JSONObject) throws -> JSONObject {
        var whole = try ask(nil)
        var rows = lists.map { whole[$0]?.array ?? [] }
        var next = whole["next"]?.string
        while let cursor = next {
            let page = try ask(cursor)
            for (index, list) in lists.enumerated() { rows[index] += page[list]?.array ?? [] }
            next = page["next"]?.string
        }
        for (list, rows) in zip(lists, rows) { whole[list] = .array(rows) }
        whole["next"] = nil
        return whole
    }
}
