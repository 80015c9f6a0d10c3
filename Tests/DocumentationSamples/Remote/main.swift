import CoreBluetooth

let home = ProcessInfo.processInfo.environment["HOME"] ?? "."
let remote = Remote(memory: URL(fileURLWithPath: home + "/thermostat.identifier"))
remote.start()
RunLoop.main.run()
