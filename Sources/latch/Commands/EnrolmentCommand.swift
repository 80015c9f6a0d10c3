import CommandInterface
import DaemonControl
import Glibc

/// `latch peripheral enroll`: the window, and its setup code as text and as a picture.
enum EnrolmentCommand {
    static let all = [enroll]

    private static let enroll = CommandSpec(
        path: ["peripheral", "enroll"], summary: "Open the enrolment window of a running lock.",
        details: [
            "Prints the setup code (or, with --method passkey, the digits to type at the other side) and waits for the "
                + "outcome. The code opens the door once enrolled: show it only to whom it is meant for. It is burnt by "
                + "the first attempt and dies with the window."
        ],
        options: ControlPlace.options + [
            .value(
                "credential", "NAME", "Your name for the device that enrols; rights belong to it.", isRequired: true),
            .value("user", "NAME", "Whose device it is. Without it the user is called as the credential."),
            .choice(
                "kind", PeripheralRequest.Enrolment.Kind.allCases.map(\.rawValue),
                "Of a new user; ordinary by default. disposable: good for one opening. expiring: good for --minutes from "
                    + "the first opening on. duress: opens, and tells the owner that it was under a threat."),
            .value("minutes", "N", "For the kind expiring: 1 to \(PeripheralRequest.Enrolment.maximumMinutes)."),
            .choice(
                "method", PeripheralRequest.Enrolment.Method.allCases.map(\.rawValue),
                "oob: by the setup code, the default. passkey: by six digits, for phones. program: by the setup code, for one program "
                    + "on a machine whose other users' programs share its Bluetooth; the device opens by that program's key alone."
            ),
            .choice(
                "role", PeripheralRequest.Enrolment.Role.allCases.map(\.rawValue),
                "What it may do; resident by default."),
            .value(
                "seconds", "N",
                "How long the window stays open; \(PeripheralRequest.Enrolment.defaultWindowSeconds) by default."),
            .flag("qr", "Draw the setup code on the terminal, too."),
            .value("svg", "FILE", "Draw it in a new file of mode 0600, which goes with the window."), Commands.json,
        ],
        examples: [
            "latch peripheral enroll --state /var/lib/latch --credential anna --role owner",
            "latch peripheral enroll --state /var/lib/latch --credential anna --qr",
            "latch peripheral enroll --state ./lock --credential phone --method passkey --seconds 60",
            "latch peripheral enroll --state ./lock --credential anna-watch --user anna",
            "latch peripheral enroll --state ./lock --credential courier --role guest --kind expiring --minutes 30",
        ]
    ) { arguments in
        let seconds: Int64? = try arguments.integer(
            "seconds", in: 1...PeripheralRequest.Enrolment.maximumWindowSeconds)
        var enrolment = PeripheralRequest.Enrolment(
            credential: try arguments.required("credential"),
            method: arguments["method"].flatMap(PeripheralRequest.Enrolment.Method.init) ?? .oob,
            role: arguments["role"].flatMap(PeripheralRequest.Enrolment.Role.init) ?? .resident,
            seconds: seconds ?? PeripheralRequest.Enrolment.defaultWindowSeconds)
        enrolment.user = arguments["user"]
        enrolment.kind = arguments["kind"].flatMap(PeripheralRequest.Enrolment.Kind.init)
        enrolment.minutes =
            try arguments.integer("minutes", in: 1...PeripheralRequest.Enrolment.maximumMinutes) ?? 0
        guard enrolment.isWhole else {
            throw Failure(.usage, "option `--minutes` goes with `--kind expiring`, which needs it")
        }
        guard !arguments.has("qr") || !arguments.has("json") else {
            throw Failure(.usage, "option `--qr` draws for people, and `--json` writes for programs: keep one of them")
        }
        let isDrawn = arguments.has("qr") || arguments["svg"] != nil
        guard !isDrawn || enrolment.method != .passkey else {
            throw Failure(
                .usage,
                "a passkey is typed: options `--qr` and `--svg` draw the setup code of `--method oob` and `program`")
        }
        // Who cannot draw says so before there is a window.
        if isDrawn { _ = try QRCode(drawing: "LATCH1:") }
        let picture = try arguments["svg"].map { (path) throws(Failure) in try SetupPicture(path) }
        defer { withExtendedLifetime(picture) {} }
        return try ControlCommand.run(
            PeripheralRequest.enroll(enrolment), role: .peripheral, arguments: arguments,
            waitMilliseconds: UInt64(enrolment.seconds) * 1000 + ControlCommand.answerMilliseconds,
            heard: { _, fields in
                guard let picture, let code = fields["setup_code"]?.string else { return }
                try picture.write(QRCode(drawing: code).svg)
            },
            event: { try show($0, $1, drawing: arguments.has("qr")) }
        ) { _ in Output.line("enrolled: \(Output.shown(enrolment.credential))") }
    }

    private static func show(_ event: String, _ fields: JSONObject, drawing: Bool) throws {
        switch event {
        case "window":
            let seconds = fields["seconds"]?.number ?? 0
            Output.line("enrolment is open for \(seconds) s")
            guard let code = fields["setup_code"]?.string else { return }
            if drawing {
                for line in try QRCode(drawing: code).lines(inColour: isatty(STDOUT_FILENO) == 1) { Output.line(line) }
            }
            Output.line("setup code: \(code)")
        case "passkey": Output.line("passkey: \(fields["passkey"]?.string ?? "")")
        default: Output.line(event + fields.members.map { " \($0.name)=\($0.value.text)" }.joined())
        }
    }
}
