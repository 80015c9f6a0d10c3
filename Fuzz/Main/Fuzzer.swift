import FuzzTargets
import Glibc

/// libFuzzer's own, from the toolchain's fuzzer library without `main`.
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ body: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

/// The fuzzer of the target that LATCH_FUZZ_TARGET names; the arguments are libFuzzer's. `--list` names the targets.
@main
struct Fuzzer {
    /// Set once, before the first input.
    nonisolated(unsafe) static var run: ([UInt8]) -> Void = { _ in }

    static func main() {
        if CommandLine.arguments.dropFirst().first == "--list" {
            for target in FuzzTarget.all { print(target.name) }
            return
        }
        guard let name = getenv("LATCH_FUZZ_TARGET").map({ String(cString: $0) }),
            let target = FuzzTarget.all.first(where: { $0.name == name })
        else {
            let line = Array("Fuzzer: LATCH_FUZZ_TARGET names no target; `Fuzzer --list` lists them\n".utf8)
            _ = write(STDERR_FILENO, line, line.count)
            exit(2)
        }
        run = target.run
        var count = CommandLine.argc
        var arguments = CommandLine.unsafeArgv
        exit(
            runDriver(&count, &arguments) { octets, length in
                Fuzzer.run(Array(UnsafeBufferPointer(start: octets, count: length)))
                return 0
            })
    }
}
