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

    /// The same page by page, as they come: nothing is held but one.
    static func eachBonds(
        _ ask: (PeripheralRequest.StatusPage) throws -> JSONObject, _ show: (JSONObject) -> Void
    ) throws {
        try each({ try ask(PeripheralRequest.StatusPage(after: $0)) }, show)
    }

    static func eachUsers(
        _ ask: (PeripheralRequest.UsersPage) throws -> JSONObject, _ show: (JSONObject) -> Void
    ) throws {
        try each({ try ask(PeripheralRequest.UsersPage(after: $0)) }, show)
    }

    private static func each(_ ask: (String?) throws -> JSONObject, _ show: (JSONObject) -> Void) throws {
        var cursor: String?
        repeat {
            var page = try ask(cursor)
            cursor = page["next"]?.string
            page["next"] = nil
            show(page)
        } while cursor != nil
    }

    /// The first page with these lists of all pages; a page begins where the one before it says. Who comes or goes between two pages may be
    /// there or not.
    private static func joined(_ lists: [String], _ ask: (String?) throws -> JSONObject) throws -> JSONObject {
        var whole = JSONObject()
        var rows = lists.map { _ in [JSONValue]() }
        try each(ask) { page in
            if whole.members.isEmpty { whole = page }
            for (index, list) in lists.enumerated() { rows[index] += page[list]?.array ?? [] }
        }
        for (list, rows) in zip(lists, rows) { whole[list] = .array(rows) }
        return whole
    }
}
