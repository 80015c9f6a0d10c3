import Testing

@testable import DaemonControl

@Suite("Control protocol: requests and replies")
struct RequestTests {
    static let enrolment = PeripheralRequest.Enrolment(
        credential: "Anna \"A\"", method: .passkey, role: .owner, seconds: 7)

    static let visitor: PeripheralRequest.Enrolment = {
        var enrolment = PeripheralRequest.Enrolment(credential: "a", method: .oob, role: .guest, seconds: 7)
        (enrolment.user, enrolment.kind, enrolment.minutes) = ("Änne", .expiring, 2_880)
        return enrolment
    }()

    static let schedule: PeripheralRequest = {
        var schedule = PeripheralRequest.Schedule(.set, .credential("Änne"))
        (schedule.from, schedule.until) = ("2026-12-24T15:00", "2026-12-27T11:00")
        schedule.weekdays = ["mon-fri 08:00-17:00", "sat 09:00-12:00"]
        schedule.during = ["2026-12-24T15:00/2026-12-27T11:00"]
        return .schedule(schedule)
    }()

    @Test(
        "requests to the lock are read back",
        arguments: [
            PeripheralRequest.status, .statusPage(.init(limit: 7, after: "c1f")),
            .bondsPage(.init(limit: 7, after: "b1f")),
            .deleteBond("1f"), .events, .stop, .enroll(enrolment), .enroll(visitor), .usersPage(.init()),
            .usersPage(.init(limit: 1, after: "Änne")), .operate(.lock), .operate(.unlock), .reload,
        ]
            + PeripheralRequest.Administration.Act.allCases.map { .administer(.init($0, .credential("Änne"))) }
            + PeripheralRequest.Schedule.Act.allCases.map { .schedule(.init($0, .user("Änne"))) } + [schedule])
    func peripheral(request: PeripheralRequest) throws {
        #expect(try PeripheralRequest(line: request.line.dropLast().map { $0 }) == request)
        #expect(request.line.last == UInt8(ascii: "\n"))
    }

    @Test("what an enrolment leaves out has its documented default")
    func defaults() throws {
        let request = try PeripheralRequest(line: Array(#"{"request":"enroll","credential":"a"}"#.utf8))
        #expect(
            request == .enroll(.init(credential: "a", method: .oob, role: .resident, seconds: 120)))
    }

    @Test(
        "the longest page of users and the most minutes are taken, one more of either is not, nor minutes of another kind"
    )
    func usersBound() throws {
        func request(_ text: String) throws -> PeripheralRequest { try PeripheralRequest(line: Array(text.utf8)) }
        #expect(try request(#"{"request":"users","limit":50}"#) == .usersPage(.init(limit: 50)))
        let enrolment = #"{"request":"enroll","credential":"a","#
        _ = try request(enrolment + #""kind":"expiring","minutes":2880}"#)
        for text in [
            #"{"request":"users","limit":51}"#, #"{"request":"users","limit":0}"#,
            enrolment + #""kind":"expiring","minutes":2881}"#, enrolment + #""kind":"expiring"}"#,
            enrolment + #""kind":"duress","minutes":5}"#, enrolment + #""minutes":5}"#, enrolment + #""kind":"other"}"#,
            #"{"request":"remove","user":"a","credential":"a"}"#, #"{"request":"remove"}"#,
        ] { #expect(throws: ControlFailure.self, "\(text)") { try request(text) } }
    }

    @Test("requests to the key are read back")
    func central() throws {
        let command = CentralRequest.Command(operation: .unlock, lock: "Front", waitSeconds: 3)
        guard
            case .command(let read) = try CentralRequest(
                line: CentralRequest.command(command).line.dropLast().map { $0 })
        else {
            Issue.record("not a command")
            return
        }
        #expect(read == command)
        let code = SecretText("CODE")
        guard
            case .enroll(let code2, 7) = try CentralRequest(
                line: CentralRequest.enroll(code: code, seconds: 7).line.dropLast().map { $0 })
        else {
            Issue.record("not an enrolment")
            return
        }
        #expect(code2.isEqual(to: code))
        #expect(!code2.isEqual(to: SecretText("CODF")))
    }

    @Test(
        "an enrolment of a key that says no time is waited for as an earlier version did, and the usual time is not said"
    )
    func usualEnrolmentWait() throws {
        let line = #"{"request":"enroll","code":"CODE"}"#
        guard case .enroll(let code, 60) = try CentralRequest(line: Array(line.utf8)) else {
            Issue.record("not the usual time")
            return
        }
        #expect(String(decoding: CentralRequest.enroll(code: code, seconds: 60).line, as: UTF8.self) == line + "\n")
    }

    @Test("requests about the locks of a key are read back, and what says nothing is refused")
    func locks() throws {
        func request(_ text: String) throws -> CentralRequest { try CentralRequest(line: Array(text.utf8)) }
        let relocks: [CentralRequest.Command.Relock] = [.setting, .after(seconds: 1), .after(seconds: 254), .held]
        for relock in relocks {
            let command = CentralRequest.Command(operation: .unlock, relock: relock, lock: nil, waitSeconds: 3)
            guard
                case .command(command) = try CentralRequest(
                    line: CentralRequest.command(command).line.dropLast().map { $0 })
            else {
                Issue.record("\(relock)")
                continue
            }
        }
        let nearest = CentralRequest.Command(operation: .unlock, lock: nil, isForNearest: true, waitSeconds: 3)
        #expect(String(decoding: CentralRequest.command(nearest).line, as: UTF8.self).contains(#""pick":"nearest""#))
        guard
            case .command(nearest) = try CentralRequest(
                line: CentralRequest.command(nearest).line.dropLast().map { $0 })
        else {
            Issue.record("not for the nearest")
            return
        }
        guard
            case .rename("a", "b") = try CentralRequest(
                line: CentralRequest.rename(lock: "a", name: "b").line.dropLast().map { $0 }),
            case .forget("a") = try CentralRequest(line: CentralRequest.forget(lock: "a").line.dropLast().map { $0 })
        else {
            Issue.record("not what was asked")
            return
        }
        for change in [CentralRequest.NoteChange.show, .set("turn twice"), .clear] {
            guard
                case .note("a", change) = try CentralRequest(
                    line: CentralRequest.note(lock: "a", change).line.dropLast().map { $0 }),
                case .prefer("a", (change == .show)) = try CentralRequest(
                    line: CentralRequest.prefer(lock: "a", change == .show).line.dropLast().map { $0 })
            else {
                Issue.record("\(change)")
                continue
            }
        }
        let own = CentralRequest.Thresholds(near: -60, away: -70)
        guard
            case .calibrate("a") = try CentralRequest(
                line: CentralRequest.calibrate(lock: "a").line.dropLast().map { $0 }),
            case .calibrate(nil) = try request(#"{"request":"calibrate"}"#),
            case .thresholds("a", own) = try CentralRequest(
                line: CentralRequest.thresholds(lock: "a", own).line.dropLast().map { $0 }),
            case .thresholds(nil, nil) = try CentralRequest(
                line: CentralRequest.thresholds(lock: nil, nil).line.dropLast().map { $0 })
        else {
            Issue.record("not what was asked about a walk")
            return
        }
        let command = #"{"request":"command","operation":"#
        for text in [
            #"{"request":"thresholds","near_dbm":-60}"#, #"{"request":"thresholds","away_dbm":-60}"#,
            #"{"request":"thresholds","near_dbm":-60,"away_dbm":-128}"#,
            #"{"request":"thresholds","near_dbm":21,"away_dbm":-70}"#,
            command + #""unlock","relock":255}"#, command + #""unlock","relock":0}"#,
            command + #""unlock","hold":"shut"}"#,
            command + #""unlock","relock":5,"hold":"open"}"#, command + #""lock","relock":5}"#,
            command + #""lock","pick":"nearest"}"#, command + #""unlock","pick":"any"}"#,
            command + #""unlock","pick":"nearest","lock":"a"}"#,
            command + #""unlatch","hold":"open"}"#, command + #""lock-and-go","hold":"open"}"#, command + #""open"}"#,
            #"{"request":"rename","lock":"a"}"#, #"{"request":"rename","name":"a"}"#, #"{"request":"forget"}"#,
            #"{"request":"note","lock":"a"}"#, #"{"request":"note","act":"show"}"#,
            #"{"request":"note","lock":"a","act":"set"}"#, #"{"request":"note","lock":"a","act":"show","text":"b"}"#,
            #"{"request":"note","lock":"a","act":"clear","text":"b"}"#,
            #"{"request":"note","lock":"a","act":"set","text":""}"#, #"{"request":"prefer","lock":"a"}"#,
            #"{"request":"prefer","act":"set"}"#, #"{"request":"prefer","lock":"a","act":"show"}"#,
        ] { #expect(throws: ControlFailure.self, "\(text)") { try request(text) } }
    }

    @Test("a secret does not show in any description")
    func secret() {
        let request = CentralRequest.enroll(code: SecretText("OPENSESAME"), seconds: 60)
        var dumped = ""
        dump(request, to: &dumped)
        #expect(!"\(request) \(String(reflecting: request)) \(dumped)".contains("OPENSESAME"))
    }

    @Test(
        "requests that are none, and what the client hears",
        arguments: [
            ("", ControlFailure.Code.malformed), ("[]", .malformed), ("{}", .malformed),
            (#"{"request":1}"#, .malformed),
            (#"{"request":"open"}"#, .unknownRequest), (#"{"request":"status","x":1}"#, .unknownRequest),
            (#"{"request":"enroll"}"#, .unknownRequest), (#"{"request":"enroll","credential":""}"#, .unknownRequest),
            (#"{"request":"enroll","credential":"a","role":"king"}"#, .unknownRequest),
            (#"{"request":"enroll","credential":"a","method":"justworks"}"#, .unknownRequest),
            (#"{"request":"enroll","credential":"a","seconds":0}"#, .unknownRequest),
            (#"{"request":"enroll","credential":"a","seconds":3601}"#, .unknownRequest),
            (#"{"request":"enroll","credential":"a","seconds":"9"}"#, .unknownRequest),
            (#"{"request":"operate"}"#, .unknownRequest),
            (#"{"request":"operate","operation":"unlatch"}"#, .unknownRequest),
            (#"{"request":"schedule"}"#, .unknownRequest),
            (#"{"request":"schedule","act":"drop","credential":"a"}"#, .unknownRequest),
            (#"{"request":"schedule","act":"clear","credential":"a","from":"x"}"#, .unknownRequest),
            (#"{"request":"schedule","act":"set","credential":"a","weekdays":"x"}"#, .unknownRequest),
            (#"{"request":"schedule","act":"set","credential":"a","weekdays":["x",1]}"#, .unknownRequest),
            (#"{"request":"schedule","act":"set","credential":"a","during":[""]}"#, .unknownRequest),
        ])
    func refused(line: String, code: ControlFailure.Code) {
        let error = #expect(throws: ControlFailure.self) { try PeripheralRequest(line: Array(line.utf8)) }
        #expect(error?.code == code)
    }

    @Test("a text of the greatest length is taken, one octet more is not")
    func textBound() throws {
        let line = { (count: Int) in
            PeripheralRequest.enroll(
                .init(credential: String(repeating: "a", count: count), method: .oob, role: .resident, seconds: 1)
            ).line.dropLast()
        }
        _ = try PeripheralRequest(line: Array(line(RequestFields.maximumTextOctets)))
        #expect(throws: ControlFailure.self) {
            try PeripheralRequest(line: Array(line(RequestFields.maximumTextOctets + 1)))
        }
    }

    @Test("as many schedules of each kind as there may be are taken, one more of either is not")
    func scheduleBound() throws {
        let most = Int(PeripheralRequest.Schedule.maximumCount)
        for count in [most, most + 1] {
            let texts = [String](repeating: "x", count: count)
            for isWeekdays in [true, false] {
                var schedule = PeripheralRequest.Schedule(.set, .credential("a"))
                if isWeekdays { schedule.weekdays = texts } else { schedule.during = texts }
                let line = Array(PeripheralRequest.schedule(schedule).line.dropLast())
                if count == most {
                    #expect(try PeripheralRequest(line: line) == .schedule(schedule))
                } else {
                    #expect(throws: ControlFailure.self) { try PeripheralRequest(line: line) }
                }
            }
        }
    }

    @Test("the longest window and the longest waits are taken, one second more of each is not")
    func timeBounds() throws {
        func enroll(_ seconds: Int64) throws -> PeripheralRequest {
            try PeripheralRequest(line: Array(#"{"request":"enroll","credential":"a","seconds":\#(seconds)}"#.utf8))
        }
        func unlock(_ seconds: Int64) throws -> CentralRequest {
            try CentralRequest(line: Array(#"{"request":"command","operation":"unlock","wait":\#(seconds)}"#.utf8))
        }
        func enrollKey(_ seconds: Int64) throws -> CentralRequest {
            try CentralRequest(line: Array(#"{"request":"enroll","code":"a","seconds":\#(seconds)}"#.utf8))
        }
        _ = try enrollKey(CentralRequest.enrolmentMaximumSeconds)
        for seconds in [0, CentralRequest.enrolmentMaximumSeconds + 1] {
            #expect(throws: ControlFailure.self) { try enrollKey(seconds) }
        }
        _ = try enroll(PeripheralRequest.Enrolment.maximumWindowSeconds)
        #expect(throws: ControlFailure.self) { try enroll(PeripheralRequest.Enrolment.maximumWindowSeconds + 1) }
        _ = try unlock(CentralRequest.Command.maximumWaitSeconds)
        #expect(throws: ControlFailure.self) { try unlock(CentralRequest.Command.maximumWaitSeconds + 1) }
    }

    @Test("a daemon that knows no pages is asked for its status as ever: the key's, and a lock's of an earlier version")
    func statusWithoutPages() throws {
        #expect(PeripheralRequest.status.line == Array("{\"request\":\"status\"}\n".utf8))
        guard case .status = try CentralRequest(line: Array(PeripheralRequest.status.line.dropLast())) else {
            Issue.record("no status")
            return
        }
    }

    @Test("the greatest page of a status is taken, one row more is not, and none is no page")
    func pageBound() throws {
        func status(_ limit: Int64) throws -> PeripheralRequest {
            try PeripheralRequest(line: Array(#"{"request":"status","limit":\#(limit)}"#.utf8))
        }
        let most = PeripheralRequest.StatusPage.maximumRows
        #expect(try status(most) == .status)
        #expect(try PeripheralRequest(line: Array(#"{"request":"status"}"#.utf8)) == .status)
        #expect(throws: ControlFailure.self) { try status(most + 1) }
        #expect(throws: ControlFailure.self) { try status(0) }
    }

    @Test(
        "replies are read back",
        arguments: [
            ControlReply.event("bolt", ["state": "unlocked", "at": 3]), .result([:]), .result(["a": [1, 2]]),
            .error(ControlFailure(.busy, "one\nline")), .error(ControlFailure(.init(rawValue: "newer"), "x")),
        ])
    func replies(reply: ControlReply) {
        #expect(ControlReply(line: reply.line.dropLast().map { $0 }) == reply)
        #expect(reply.line.count { $0 == UInt8(ascii: "\n") } == 1)
    }

    @Test(
        "lines that are no replies",
        arguments: ["", "{}", #"{"error":{}}"#, #"{"error":{"code":"x"}}"#, #"{"result":1}"#])
    func noReplies(line: String) {
        #expect(ControlReply(line: Array(line.utf8)) == nil)
    }
}
