import FoundationEssentials

/// What a peripheral's delegate may also be: one that tells what the peripheral sent by itself from what a read
/// brought. Apple's delegate method says both in the same way, and a notification may carry less of the value than a
/// read.
package protocol CBPeripheralReceiving: CBPeripheralCallbacks {
    /// The peripheral sent a notification or an indication. Called in place of
    /// `peripheral(_:didUpdateValueFor:error:)`.
    func peripheral(_ peripheral: CBPeripheral, didReceive value: Data, for characteristic: CBCharacteristic)
}
