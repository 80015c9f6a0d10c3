// An app for the restoration matrix, written as for Apple's Core Bluetooth: `MatrixApp central` or `MatrixApp peripheral`. It does what the
// lines on its standard input tell it and nothing of its own accord, so that what happens after a restart was restored.
import CoreBluetooth

let role: any Role = CommandLine.arguments.dropFirst().first == "central" ? Central() : Peripheral()
role.open()
listen(for: role)
RunLoop.main.run()
