import DaemonControl

// What is asked of both sides: movements, and enrolments.

// MARK: Commands

extension Scenario {
    /// Asks the key for a movement. Without a key there is nobody to ask.
    func ask(_ opens: Bool) throws -> (exchange: DaemonExchange?, index: Int) {
        let request = CentralRequest.Command(
            operation: opens ? .unlock : .lock, lock: nil, waitSeconds: Self.commandWaitSeconds)
        let index = history.asked.count
        history.asked.append(History.Asked(opens: opens, at: Clock.now, answeredAt: nil, verdict: nil))
        return (household.ask(.key, CentralRequest.command(request)), index)
    }

    /// What became of a command while somebody died; whoever died with the answer says nothing.
    func hear(_ asked: (exchange: DaemonExchange?, index: Int)) throws {
        let answer = try? asked.exchange?.finish(until: Clock.now + Clock.milliseconds(20))
        note(answer ?? nil, asked.index)
    }

    func note(_ answer: Result<JSONObject, ControlFailure>?, _ index: Int) {
        guard let answer else { return }
        history.asked[index].answeredAt = Clock.now
        switch answer {
        case .success(let result): history.asked[index].verdict = result["outcome"]?.string ?? "done"
        case .failure(let failure): history.asked[index].verdict = "\(failure.code.rawValue): \(failure.message)"
        }
    }

    /// An accepted command, and then the attacker: what follows every restart.
    func settle() throws {
        try finishEnrolment()
        guard !unfollowed.isEmpty else { return }
        try commandToItsEnd()
        for index in unfollowed { history.restarts[index].commandFollowed = true }
        // The key lets go by itself; out of range first, its last word would be lost and the link hang on.
        try awaitQuiet()
        try household.setKeyNear(false)
        try replayEverything()
        for index in unfollowed { history.restarts[index].replaysFollowed = true }
        unfollowed = []
        if history.restarts.count % Self.delayedEvery == 1 { try delayPastChallenge() }
        progress.show(history)
    }

    /// Asks until something is accepted.
    func commandToItsEnd() throws {
        let deadline = Clock.now + Clock.milliseconds(30_000)
        try household.setKeyNear(true)
        while true {
            let opens = try household.movements().last.map { !$0.opens } ?? true
            let asked = try ask(opens)
            let answer = try? asked.exchange?.finish(until: min(deadline, Clock.now + Clock.milliseconds(12_000)))
            note(answer ?? nil, asked.index)
            if history.asked[asked.index].isAccepted { return }
            guard Clock.now < deadline else {
                let last = history.asked[asked.index].verdict ?? "no answer"
                throw DrillError(.stuck, "no command is accepted any more; the last answer: \(last)")
            }
            try waiter.sleep(milliseconds: 200)
        }
    }
}

// MARK: Enrolment

extension Scenario {
    /// Opens the window at the lock and gives its code to the key.
    func openEnrolment() throws {
        endEnrolmentAttempt()
        observer.forgetSubscriptions()
        let request = PeripheralRequest.enroll(
            .init(credential: "drill", method: .oob, role: .owner, seconds: 60))
        guard let window = household.ask(.lock, request) else { return }
        let deadline = Clock.now + Clock.milliseconds(3_000)
        while let reply = try? window.next(until: deadline) {
            if case .event("window", let fields) = reply, let code = fields["setup_code"]?.string {
                enrolment = (window, try household.enrolmentCommand(code: code))
                return
            }
            if case .event = reply { continue }
            return
        }
    }

    func endEnrolmentAttempt() {
        guard let enrolment else { return }
        if enrolment.command.hasEnded, enrolment.command.end == .exited(0) { isEnrolled = true }
        enrolment.command.kill()
        self.enrolment = nil
    }

    /// What an interrupted enrolment left is confirmed, or its lock has been asked often enough to know that it has nothing
    /// of it.
    func awaitEnrolmentLeft() throws {
        guard !isEnrolled else { return }
        try household.setKeyNear(true)
        try waiter.until("an interrupted enrolment ends", seconds: 40) {
            guard let status = try household.status(of: .key) else { return false }
            isEnrolled = status["locks"]?.array?.isEmpty == false
            let waiting = status["unconfirmed_locks"]?.array ?? []
            return isEnrolled
                || status["enrolling"]?.bool == false && waiting.allSatisfy { $0.object?["resting"]?.bool == true }
        }
    }

    /// Enrols, as often as it takes.
    func finishEnrolment() throws {
        let deadline = Clock.now + Clock.milliseconds(90_000)
        try awaitEnrolmentLeft()
        while !isEnrolled {
            guard Clock.now < deadline else { throw DrillError(.stuck, "the key cannot be enrolled") }
            try openEnrolment()
            if let command = enrolment?.command {
                _ = try command.wait(waiter, until: Clock.now + Clock.milliseconds(25_000))
            }
            endEnrolmentAttempt()
            if !isEnrolled {
                try waiter.sleep(milliseconds: 100)
                try awaitEnrolmentLeft()
            }
        }
    }
}
