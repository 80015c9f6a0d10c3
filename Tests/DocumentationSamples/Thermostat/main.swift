import CoreBluetooth

let thermostat = Thermostat()
thermostat.start()
RunLoop.main.run()
