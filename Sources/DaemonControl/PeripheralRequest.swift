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
    /// Deletes a bond that no credential names, by its number as the pages say it.
    case deleteBond(String)
    /// Says or changes when a credential may do anything.
    case schedule(Schedule)
    /// Believes the database as it is, though it may be an old copy.
    case confirmState
    /// Every state transition from now on, until the client goes.
    case events
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

    package struct Enrolment: Equatable, Sendable {
        /// How the two sides prove themselves to each other; pinned on both sides.
        package enum Method: String, CaseIterable, Sendable { case oob, passkey }
        package enum Role: String, CaseIterable, Sendable {
            case owner, administrator, resident, guest
            case lockOnly = "lock-only"
        }

        package static let defaultWindowSeconds: Int64 = 120
        package static let maximumWindowSeconds: Int64 = 3600

        /// The operator's name for whoever enrols: rights belong to it.
        package var credential: String
        package var method: Method
        package var role: Role
        package var seconds: Int64

        package init(credential: String, method: Method, role: Role, seconds: Int64) {
            self.credential = credential
            self.method = method
            self.role = role
            self.seconds = seconds
        }
    }

    package struct Administration: Equatable, Sendable {
        package enum Act: String, CaseIterable, Sendable { case disable, enable, remove }

        package var act: Act
        /// The operator's name for whom it concerns.
        package var credential: String

        package init(_ act: Act, credential: String) {
            self.act = act
            self.credential = credential
        }
    }

    package struct Schedule: Equatable, Sendable {
        package enum Act: String, CaseIterable, Sendable { case show, set, clear }

        /// Of each kind.
        package static let maximumCount: Int64 = 10

        package var act: Act
        package var credential: String
        /// Local times, as are all here. What is absent is no rule: `set` puts these in the place of all that there were.
        package var from: String?
        package var until: String?
        /// Each with its times of day, such as `mon-fri 08:00-17:00`.
        package var weekdays: [String] = []
        /// Each a begin and an end with a slash between them.
        package var during: [String] = []

        package init(_ act: Act, credential: String) {
            self.act = act
            self.credential = credential
        }
    }

    /// Takes the members that the request has.
    ///
    /// - Throws: ``ControlFailure`` when the name is unknown, or a member is missing or out of its bounds.
    package init(name: String, fields: inout RequestFields) throws(ControlFailure) {
        switch name {
        case "status":
            let limit = try fields.number("limit", in: 1...StatusPage.maximumRows, default: StatusPage.maximumRows)
            self = .statusPage(StatusPage(limit: limit, after: try fields.optionalText("after")))
        case "bonds":
            let limit = try fields.number("limit", in: 1...StatusPage.maximumRows, default: StatusPage.maximumRows)
            self = .bondsPage(StatusPage(limit: limit, after: try fields.optionalText("after")))
        case "unbond": self = .deleteBond(try fields.text("bond"))
        case "events": self = .events
        case "stop": self = .stop
        case "confirm": self = .confirmState
        case "enroll":
            let credential = try fields.text("credential")
            let method: Enrolment.Method = try fields.choice("method", default: .oob)
            let role: Enrolment.Role = try fields.choice("role", default: .resident)
            let seconds = try fields.number(
                "seconds", in: 1...Enrolment.maximumWindowSeconds, default: Enrolment.defaultWindowSeconds)
            self = .enroll(Enrolment(credential: credential, method: method, role: role, seconds: seconds))
        case "schedule": self = .schedule(try Schedule(&fields))
        default:
            let acts = Administration.Act.allCases
            guard let act = Administration.Act(rawValue: name) else {
                throw .unknown(
                    name,
                    known: ["status", "enroll"] + acts.map(\.rawValue)
                        + ["bonds", "unbond", "schedule", "confirm", "events", "stop"])
            }
            self = .administer(Administration(act, credential: try fields.text("credential")))
        }
    }

    package var encoded: (name: String, fields: JSONObject) {
        switch self {
        case .statusPage(let page): ("status", page.fields)
        case .bondsPage(let page): ("bonds", page.fields)
        case .deleteBond(let bond): ("unbond", ["bond": .string(bond)])
        case .events: ("events", [:])
        case .stop: ("stop", [:])
        case .confirmState: ("confirm", [:])
        case .schedule(let schedule): ("schedule", schedule.fields)
        case .administer(let administration):
            (administration.act.rawValue, ["credential": .string(administration.credential)])
        case .enroll(let enrolment):
            (
                "enroll",
                [
                    "credential": .string(enrolment.credential), "method": .string(enrolment.method.rawValue),
                    "role": .string(enrolment.role.rawValue), "seconds": .number(enrolment.seconds),
                ]
            )
        }
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
        self.init(try fields.choice("act", default: .show), credential: try fields.text("credential"))
        guard act == .set else { return }
        from = try fields.optionalText("from")
        until = try fields.optionalText("until")
        weekdays = try fields.texts("weekdays", most: Self.maximumCount)
        during = try fields.texts("during", most: Self.maximumCount)
    }

    fileprivate var fields: JSONObject {
        var fields: JSONObject = ["act": .string(act.rawValue), "credential": .string(credential)]
        guard act == .set else { return fields }
        fields["from"] = from.map { .string($0) }
        fields["until"] = until.map { .string($0) }
        if !weekdays.isEmpty { fields["weekdays"] = .array(weekdays.map { .string($0) }) }
        if !during.isEmpty { fields["during"] = .array(during.map { .string($0) }) }
        return fields
    }
}
