import CommandInterface
import Drills

/// `latch-lab disk`: a program of somebody's on a disk whose power can be cut.
enum DiskCommand {
    static let disk = CommandSpec(
        path: ["disk"], summary: "Run a program on a disk whose power can be cut.",
        details: [
            "The program finds DIR on an ext4 of its own, which lies in FILE and is made where there is none. Nobody else sees it "
                + "there. SIGPWR to this command cuts the power: the program is killed, and writes that no flush has confirmed are "
                + "lost, or kept in part. FILE has what the medium has then, and the next start finds that. When the program ends "
                + "by itself the disk is put away in order. SIGINT and SIGTERM kill the program and leave FILE as it was.",
            "Needs root, /dev/fuse, loop devices, ext4 and e2fsprogs.",
        ],
        options: [
            .value("image", "FILE", "The file with the disk's octets.", isRequired: true),
            .value("at", "DIR", "Where the program finds the disk.", isRequired: true),
            .choice(
                "keep", ProgramOnDisk.Keeps.allCases.map(\.rawValue),
                "What a cut leaves of the writes that no flush has confirmed: nothing, the default; everything; or what chance "
                    + "leaves, torn writes among it."),
            .value("seed", "N", "Of chance; a fresh one by default."),
        ],
        operands: .program("PROGRAM [ARGUMENTS]"),
        examples: [
            "latch-lab disk --image ./disk.img --at ./state -- ./my-app",
            "latch-lab disk --image ./disk.img --at ./state --keep chance --seed 1 -- ./my-app --verbose",
        ]
    ) { arguments in
        let program = ProgramOnDisk(
            image: try arguments.required("image"), mountPoint: try arguments.required("at"),
            keeps: arguments["keep"].flatMap(ProgramOnDisk.Keeps.init) ?? .nothing,
            seed: try arguments.integer("seed", in: 0...UInt64.max), words: arguments.operands)
        do {
            switch try program.run() {
            case .ended(0): return .ok
            case .ended(let status): throw Failure(.refused, "the program ended with exit status \(status)")
            case .killed(let signal): throw Failure(.refused, "signal \(signal) ended the program")
            case .cut(let writes, let octets, let keptOctets):
                Output.prompt(
                    "the power was cut: no flush had confirmed \(octets) octets in \(writes) writes; \(keptOctets) of them are "
                        + "kept\n")
                return .ok
            }
        } catch let error as DrillError {
            throw Failure(.state, error.description)
        }
    }
}
