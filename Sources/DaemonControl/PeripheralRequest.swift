/// What an operator asks of the lock's daemon.
package enum PeripheralRequest: ControlRequest, Equatable {
    /// What the daemon is doing, and a page of whom it knows.
    case statusPage(StatusPage)
    /// Holds the enrolment window open for one credential. Events say what happens; the exchange ends with the window.
    case enroll(Enrolment)
    /// Disables, enables or removes a credential.
    case administer(Administration)
    /// A page of the bonds, those without a credential among them.
    case bondsPage(StatusPage)
    /// A page of the users, each with all devices.
    case usersPage(UsersPage)
    /// Deletes a bond that no credential names, by its number as the pages say it.
    case deleteBond(String)
    /// Says or changes when a credential may do anything.
    case schedule(Schedule)
    /// Puts the lock into a mode; nil: says which one it is in.
    case mode(Mode?)
    /// Moves the bolt. The exchange ends with the movement's outcome.
    case operate(Operation)
    /// Removes everybody, and makes the settings those of a new lock.
    case reset
    /// Believes the database as it is, though it may be an old copy.
    case confirmState
    /// Every state transition from now on, until the client goes.
    case events
    /// Reads the configuration file anew.
    case reload
    /// Ends the daemon cleanly.
    case stop

    /// The first page.
    package static let status = Self.statusPage(StatusPage())

    /// Of the status, or of the bonds.
    package struct StatusPage: Equatable, Sendable {
        /// Rows of a page, credentials and bonds that wait for their key together: with names of the greatest length, written in
        /// escapes, and the greatest number of links it fits a line (``ControlReply/maximumLineOctets``).
        package static let maximumRows: Int64 = 100

        package var limit: Int64
        /// Where the page before said that the next one begins; nil for the first.
        package var after: String?

        package init(limit: Int64 = maximumRows, after: String? = nil) {
            self.limit = limit
            self.after = after
        }
    }

    package struct UsersPage: Equatable, Sendable {
        /// Users of a page, where each has one device: the daemon ends a page before its line is full.
        package static let maximumUsers: Int64 = 50

        package var limit: Int64
        /// The last user of the page before; nil for the first page.
        package var after: String?

        package init(limit: Int64 = maximumUsers, after: String? = nil) {
            self.limit = limit
            self.after = after
        }
    }

    /// What an operator's word is about, by the operator's names.
    package enum Whom: Equatable, Sendable {
        case credential(String)
        /// Every device of a user.
        case user(String)

        /// As requests and answers have it.
        package var field: JSONObject {
            switch self {
            case .credential(let name): ["credential": .string(name)]
            case .user(let name): ["user": .string(name)]
            }
        }
    }

    /// What the door is for at present; see LockMode.
    package enum Mode: String, CaseIterable, Sendable { case normal, passage, privacy, lockdown }

    /// What an operator has the bolt do.
    package enum Operation: String, CaseIterable, Sendable { case lock, unlock }

    package struct Enrolment: Equatable, Sendable {
        /// How the two sides prove themselves to each other; pinned on both sides.
        package enum Method: String, CaseIterable, Sendable { case oob, passkey, program }
        package enum Role: String, CaseIterable, Sendable {
            case owner, administrator, resident, guest
            case lockOnly = "lock-only"
        }

        /// What an opening does beside opening; see UserKind.
        package enum Kind: String, CaseIterable, Sendable { case ordinary, disposable, expiring, duress }

        package static let maximumMinutes: Int64 = 2_880
        package static let defaultWindowSeconds: Int64 = 120
        package static let maximumWindowSeconds: Int64 = 3600

        /// The operator's name for whoever enrols: rights belong to it.
        package var credential: String
        package var method: Method
        package var role: Role
        package var seconds: Int64
        /// Whose device it becomes. nil: a credential that stands keeps its user, and a new one is its own user's.
        package var user: String?
        /// nil: as the user's other devices are.
        package var kind: Kind?
        /// How long a user of the kind `expiring` may come, from the first opening on. 0 for other kinds.
        package var minutes: Int64 = 0

        package init(credential: String, method: Method, role: Role, seconds: Int64) {
            self.credential = credential
            self.method = method
            self.role = role
            self.seconds = seconds
        }

        /// Only one kind has minutes, and it has some.
        package var isWhole: Bool { (kind == .expiring) == (minutes > 0) }
    }

    package struct Administration: Equatable, Sendable {
        package enum Act: String, CaseIterable, Sendable { case disable, enable, remove }

        package var act: Act
        package var whom: Whom

        package init(_ act: Act, _ whom: Whom) {
            self.act = act
            self.whom = whom
        }
    }

    package struct Schedule: Equatable, Sendable {
        package enum Act: String, CaseIterable, Sendable { case show, set, clear }

        /// Of each kind.
        package static let maximumCount: Int64 = 10

        package var act: Act
        package var whom: Whom
        /// Local times, as are all here. What is absent is no rule: `set` puts these in the place of all that there were.
        package var from: String?
        package var until: String?
        /// Each with its times of day, such as `mon-fri 08:00-17:00`.
        package var weekdays: [String] = []
        /// Each a begin and an end with a slash between them.
        package var during: [String] = []

        package init(_ act: Act, _ whom: Whom) {
            self.act = act
            self.whom = whom
        }
    }

    /// Takes the members that the request has.
    ///
    /// - Throws: ``ControlFailure`` when the name is unknown, or a member is missing or out of its bounds.
    package init(name: String, fields: inout RequestFields) throws(ControlFailure) {
        switch name {
        case "status":
            let (limit, after) = try fields.page(StatusPage.maximumRows)
            self = .statusPage(StatusPage(limit: limit, after: after))
        case "bonds":
            let (limit, after) = try fields.page(StatusPage.maximumRows)
            self = .bondsPage(StatusPage(limit: limit, after: after))
        case "users":
            let (limit, after) = try fields.page(UsersPage.maximumUsers)
            self = .usersPage(UsersPage(limit: limit, after: after))
        case "unbond": self = .deleteBond(try fields.text("bond"))
        case "events": self = .events
        case "reload": self = .reload
        case "stop": self = .stop
        case "confirm": self = .confirmState
        case "reset": self = .reset
        case "enroll":
            let credential = try fields.text("credential")
            let method: Enrolment.Method = try fields.choice("method", default: .oob)
            let role: Enrolment.Role = try fields.choice("role", default: .resident)
            let seconds = try fields.number(
                "seconds", in: 1...Enrolment.maximumWindowSeconds, default: Enrolment.defaultWindowSeconds)
            var enrolment = Enrolment(credential: credential, method: method, role: role, seconds: seconds)
            enrolment.user = try fields.optionalText("user")
            enrolment.kind = try fields.optionalChoice("kind")
            enrolment.minutes = try fields.number("minutes", in: 0...Enrolment.maximumMinutes, default: 0)
            guard enrolment.isWhole else {
                throw ControlFailure(
                    .unknownRequest,
                    "member \"minutes\" of request \"enroll\" goes with the kind \"expiring\", which needs it")
            }
            self = .enroll(enrolment)
        case "schedule": self = .schedule(try Schedule(&fields))
        case "mode": self = .mode(try fields.optionalChoice("set"))
        case "operate": self = .operate(try fields.choice("operation", default: nil))
        default:
            let acts = Administration.Act.allCases
            guard let act = Administration.Act(rawValue: name) else {
                throw .unknown(
                    name,
                    known: ["status", "enroll"] + acts.map(\.rawValue)
                        + [
                            "users", "bonds", "unbond", "schedule", "mode", "operate", "confirm", "reset", "reload",
                            "events", "stop",
                        ])
            }
            self = .administer(Administration(act, try fields.whom()))
        }
    }

    package var encoded: (name: String, fields: JSONObject) {
        switch self {
        case .statusPage(let page): ("status", page.fields)
        case .bondsPage(let page): ("bonds", page.fields)
        case .usersPage(let page): ("users", page.fields)
        case .deleteBond(let bond): ("unbond", ["bond": .string(bond)])
        case .events: ("events", [:])
        case .reload: ("reload", [:])
        case .stop: ("stop", [:])
        case .confirmState: ("confirm", [:])
        case .reset: ("reset", [:])
        case .schedule(let schedule): ("schedule", schedule.fields)
        case .mode(let mode): ("mode", mode.map { ["set": .string($0.rawValue)] } ?? [:])
        case .operate(let operation): ("operate", ["operation": .string(operation.rawValue)])
        case .administer(let administration):
            (administration.act.rawValue, administration.whom.field)
        case .enroll(let enrolment): ("enroll", enrolment.fields)
        }
    }
}

extension RequestFields {
    /// So many of a list, and behind what; all that fit a page unless it is said.
    fileprivate mutating func page(_ most: Int64) throws(ControlFailure) -> (limit: Int64, after: String?) {
        (try number("limit", in: 1...most, default: most), try optionalText("after"))
    }

    /// One of both.
    fileprivate mutating func whom() throws(ControlFailure) -> PeripheralRequest.Whom {
        guard let user = try optionalText("user") else { return .credential(try text("credential")) }
        return .user(user)
    }
}

extension PeripheralRequest.Enrolment {
    fileprivate var fields: JSONObject {
        var fields: JSONObject = [
            "credential": .string(credential), "method": .string(method.rawValue), "role": .string(role.rawValue),
            "seconds": .number(seconds),
        ]
        fields["user"] = user.map { .string($0) }
        fields["kind"] = kind.map { .string($0.rawValue) }
        fields["minutes"] = minutes > 0 ? .number(minutes) : nil
        return fields
    }
}

extension PeripheralRequest.UsersPage {
    fileprivate var fields: JSONObject {
        // A daemon of an earlier version has smaller pages.
        var fields = JSONObject()
        fields["limit"] = limit == Self.maximumUsers ? nil : .number(limit)
        fields["after"] = after.map { .string($0) }
        return fields
    }
}

extension PeripheralRequest.StatusPage {
    fileprivate var fields: JSONObject {
        // A daemon of an earlier version, which knows no pages, is asked for what it knows.
        var fields = JSONObject()
        fields["limit"] = limit == Self.maximumRows ? nil : .number(limit)
        fields["after"] = after.map { .string($0) }
        return fields
    }
}

extension PeripheralRequest.Schedule {
    fileprivate init(_ fields: inout RequestFields) throws(ControlFailure) {
        self.init(try fields.choice("act", default: .show), try fields.whom())
        guard act == .set else { return }
        from = try fields.optionalText("from")
        until = try fields.optionalText("until")
        weekdays = try fields.texts("weekdays", most: Self.maximumCount)
        during = try fields.texts("during", most: Self.maximumCount)
    }

    fileprivate var fields: JSONObject {
        var fields: JSONObject = ["act": .string(act.rawValue)]
        for member in whom.field.members { fields[member.name] = member.value }
        guard act == .set else { return fields }
        fields["from"] = from.map { .string($0) }
        fields["until"] = until.map { .string($0) }
        if !weekdays.isEmpty { fields["weekdays"] = .array(weekdays.map { .string($0) }) }
        if !during.isEmpty { fields["during"] = .array(during.map { .string($0) }) }
        return fields
    }
}
