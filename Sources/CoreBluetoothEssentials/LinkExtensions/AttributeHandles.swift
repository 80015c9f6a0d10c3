import BluetoothCore

extension CBCharacteristic {
    /// The value's handle in its server: part of what a receipt is sealed to. nil while it is not published, or not known
    /// any more.
    package var valueHandle: AttributeHandle? { handles?.value }
}
