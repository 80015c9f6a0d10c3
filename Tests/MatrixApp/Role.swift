import CoreBluetooth
import Dispatch
import Glibc

/// One side of the air. Everything of it runs on the main queue.
protocol Role: AnyObject, Sendable {
    /// Makes the manager whose name something may be kept under.
    func open()
    /// Does what `command` says; `operand` is the rest of the line.
    func obey(_ command: String, _ operand: String)
}

enum Attribute {
    static let service = CBUUID(string: "5B1E0001-2C77-4E0B-8A55-0D6C1F3B9A20")
    /// Read over any link, and answered by the app.
    static let greeting = CBUUID(string: "5B1E0002-2C77-4E0B-8A55-0D6C1F3B9A20")
    /// Notified over encrypted links.
    static let news = CBUUID(string: "5B1E0003-2C77-4E0B-8A55-0D6C1F3B9A20")
}

/// Says `kept` once everything that was asked before is on the disk: callbacks wait for that, those of another manager too.
///
/// Used on the main queue only.
final class Barrier: NSObject, CBCentralManagerDelegate, @unchecked Sendable {
    private var manager: CBCentralManager?

    func raise() { manager = CBCentralManager(delegate: self, queue: nil) }
    func centralManagerDidUpdateState(_ central: CBCentralManager) {
        say("kept")
        manager = nil
    }
}

/// Takes SIGTERM, as apps do that have something to put away.
///
/// Used on the main queue only.
final class Handler: @unchecked Sendable {
    private var source: (any DispatchSourceSignal)?

    func install() {
        signal(SIGTERM, SIG_IGN)
        source = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .main)
        source?.setEventHandler { say("terminated") }
        source?.resume()
        say("handling")
    }
}

/// Prints one line.
func say(_ line: String) { try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8)) }

func text(_ error: (any Error)?) -> String { (error as? CBError).map { "\($0.code.rawValue)" } ?? "none" }

/// Hands each line of the standard input to `role`, on the main queue.
func listen(for role: any Role) {
    Thread {
        let (barrier, handler) = (Barrier(), Handler())
        while let line = readLine() {
            DispatchQueue.main.async {
                let words = line.split(separator: " ", maxSplits: 1).map(String.init)
                switch words.first {
                case "crash": abort()
                case "handle": handler.install()
                case "sync": barrier.raise()
                case "time": say("time: \(Int(Date().timeIntervalSince1970))")
                case let command?: role.obey(command, words.count > 1 ? words[1] : "")
                case nil: break
                }
            }
        }
    }.start()
}
