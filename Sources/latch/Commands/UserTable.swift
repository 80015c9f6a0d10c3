import CommandInterface
import DaemonControl

/// Users as a person reads them, page by page: a line for each device, with the user's name at the first.
struct UserTable {
    private static let heading = ["USER", "KIND", "DEVICE", "ROLE", "STATE"]

    /// Each column is as wide as its widest cell so far.
    private var widths = heading.map(\.count)
    private var hasHeading = false

    mutating func lines(of users: [JSONValue]) -> [String] {
        let rows = (hasHeading ? [] : [Self.heading]) + users.compactMap(\.object).flatMap(Self.rows)
        hasHeading = true
        for column in widths.indices { widths[column] = max(widths[column], rows.map { $0[column].count }.max() ?? 0) }
        return rows.map { row in
            let last = row.count - 1
            return zip(row, widths).enumerated().map { index, cell in
                index == last ? cell.0 : cell.0 + String(repeating: " ", count: cell.1 - cell.0.count)
            }.joined(separator: "  ")
        }
    }

    private static func rows(of user: JSONObject) -> [[String]] {
        let minutes = user["minutes"]?.number.map { " \($0) min" } ?? ""
        let kind = (user["kind"]?.string ?? "") + minutes + (user["scheduled"] == true ? ", scheduled" : "")
        let devices = (user["devices"]?.array ?? []).compactMap(\.object)
        return devices.enumerated().map { index, device in
            [
                index == 0 ? shown(user["user"]) : "", index == 0 ? kind : "", shown(device["name"]),
                device["role"]?.string ?? "", state(device),
            ]
        }
    }

    private static func state(_ device: JSONObject) -> String {
        guard device["enabled"] == true else { return "disabled" }
        return device["bond"] == nil ? "has no key yet" : "enabled"
    }

    private static func shown(_ value: JSONValue?) -> String { value?.string.map(Output.shown) ?? "" }
}
