import ATT
import BluetoothCore

/// What a client asks of a server: the one vocabulary for it from the apps' calls down to ATT. Operations of one link run
/// in the order in which they were asked, one at a time; the two that have no response go at once.
///
/// Whether one can be run as it was asked, and in which PDUs, ``procedure(mtu:)`` decides and nobody else.
///
/// Core 5.4, Vol 3, Part G, 4.2 (Feature support and procedure mapping)
package enum GATTClientOperation: Hashable, Sendable {
    case exchangeMTU
    /// The whole tree: services, included services, characteristics and descriptors.
    case discoverDatabase
    case discoverPrimaryServices
    case discoverPrimaryServicesByUUID(BluetoothUUID)
    case findIncludedServices(ATTHandleRange)
    /// The range is a service's; `uuid` keeps only the characteristics of that type.
    case discoverCharacteristics(ATTHandleRange, uuid: BluetoothUUID? = nil)
    /// From behind a characteristic's value to its end.
    case discoverDescriptors(ATTHandleRange)
    /// From the offset to the value's end, in as many parts as that takes.
    case read(AttributeHandle, offset: Int = 0)
    /// In the whole tree, unless a range is given.
    case readByUUID(BluetoothUUID, ATTHandleRange = ATTHandleRange())
    case readMultiple([AttributeHandle])
    case readMultipleVariable([AttributeHandle])
    /// By prepare and execute if the value is longer than a Write Request takes.
    case write(AttributeHandle, [UInt8])
    /// By prepare and execute, whatever its length.
    case writeLong(AttributeHandle, offset: Int, [UInt8])
    /// All of them or none, each checked on its way.
    case reliableWrites([AttributeWrite])
    case writeWithoutResponse(AttributeHandle, [UInt8])
    /// The host signs: see ``GATTOutput/sign(token:message:)``.
    case signedWriteWithoutResponse(AttributeHandle, [UInt8])
    /// Writes a CCC descriptor.
    case configure(AttributeHandle, ClientCharacteristicConfiguration)
}

/// A value on its way into an attribute.
package struct AttributeWrite: Hashable, Sendable {
    package var handle: AttributeHandle
    package var offset: Int
    package var value: [UInt8]

    package init(handle: AttributeHandle, offset: Int = 0, value: [UInt8]) {
        self.handle = handle
        self.offset = offset
        self.value = value
    }
}

/// What a procedure yields.
package enum GATTClientResult: Hashable, Sendable {
    /// Written, configured, or handed to the link.
    case done
    case mtu(Int)
    case database(RemoteDatabase)
    case services([RemoteService])
    case includedServices([RemoteIncludedService])
    case characteristics([RemoteCharacteristic])
    case descriptors([RemoteDescriptor])
    case value([UInt8])
    /// By Read Using Characteristic UUID and Read Multiple Variable Length.
    case values([RemoteValue])
}

package struct RemoteValue: Hashable, Sendable {
    package var handle: AttributeHandle
    package var value: [UInt8]

    package init(handle: AttributeHandle, value: [UInt8]) {
        self.handle = handle
        self.value = value
    }
}

/// Why a procedure yields nothing.
package enum GATTClientError: Error, Hashable, Sendable {
    /// The peer refused, in an Error Response. Reaches as far as the procedure.
    case refused(ATTErrorCode, handle: AttributeHandle)
    /// The peer's answer makes no sense. Its fault; reaches as far as the procedure.
    case malformedAnswer(GATTAnswerFault)
    /// A local fault: the procedure cannot be sent as it was asked.
    case invalidOperation
    /// A local fault: too many procedures are waiting on this link.
    case queueFull
    /// The bearer failed, or was closed with the link, before the procedure ended. For a write: it may have taken effect.
    case bearerClosed
}

/// What was wrong with a peer's answer.
package enum GATTAnswerFault: Hashable, Sendable {
    /// It could not be decoded.
    case undecodable
    /// It answers outside the range that was asked for, or goes backwards: endless discovery.
    case handleOutOfOrder
    /// A list without entries, or entries of a length that their type does not have.
    case wrongLength
    /// More attributes, or a longer value, than a server can have.
    case tooMuch
    /// A reliable write came back different.
    case echoDiffers
}
