/// The events, each as the host gets it if its masks let it through.
extension Controller {
    /// Core 5.4, Vol 4, Part E, 7.7.14 (Command Complete event)
    mutating func commandComplete(
        _ opcode: UInt16, _ status: Status, at now: UInt64, _ returns: (inout OctetWriter) -> Void = { _ in }
    ) {
        outbox.event(.commandComplete, at: now) {
            $0.u8(configuration.commandCredits)
            $0.u16(opcode)
            $0.u8(status.rawValue)
            returns(&$0)
        }
    }

    /// Core 5.4, Vol 4, Part E, 7.7.15 (Command Status event)
    mutating func commandStatus(_ opcode: UInt16, _ status: Status, at now: UInt64) {
        outbox.event(.commandStatus, at: now) {
            $0.u8(status.rawValue)
            $0.u8(configuration.commandCredits)
            $0.u16(opcode)
        }
    }

    /// Core 5.4, Vol 4, Part E, 7.7.16 (Hardware Error event)
    mutating func hardwareError(_ code: HardwareCode, at now: UInt64) { hardwareError(code.rawValue, at: now) }

    mutating func hardwareError(_ code: UInt8, at now: UInt64) {
        guard isUnmasked(bit: 15) else { return }
        outbox.event(.hardwareError, at: now) { $0.u8(code) }
    }

    /// Core 5.4, Vol 4, Part E, 7.7.19 (Number Of Completed Packets event), which no mask stops.
    mutating func numberOfCompletedPackets(handle: UInt16, count: UInt16, at now: UInt64) {
        outbox.event(.numberOfCompletedPackets, at: now) {
            $0.u8(1)
            $0.u16(handle)
            $0.u16(count)
        }
    }

    /// Core 5.4, Vol 4, Part E, 7.7.26 (Data Buffer Overflow event)
    mutating func dataBufferOverflow(at now: UInt64) {
        guard isUnmasked(bit: 25) else { return }
        let aclLinkType: UInt8 = 0x01
        outbox.event(.dataBufferOverflow, at: now) { $0.u8(aclLinkType) }
    }

    /// Core 5.4, Vol 4, Part E, 7.7.5 (Disconnection Complete event)
    mutating func disconnectionComplete(handle: UInt16, reason: Status, at now: UInt64) {
        guard isUnmasked(bit: 4) else { return }
        outbox.event(.disconnectionComplete, at: now) {
            $0.u8(Status.success.rawValue)
            $0.u16(handle)
            $0.u8(reason.rawValue)
        }
    }

    /// Core 5.4, Vol 4, Part E, 7.7.8 (Encryption Change event)
    mutating func encryptionChange(_ status: Status, handle: UInt16, isOn: Bool, at now: UInt64) {
        guard isUnmasked(bit: 7) else { return }
        outbox.event(.encryptionChange, at: now) {
            $0.u8(status.rawValue)
            $0.u16(handle)
            $0.u8(isOn ? 1 : 0)
        }
    }

    /// Core 5.4, Vol 4, Part E, 7.7.39 (Encryption Key Refresh Complete event)
    mutating func encryptionKeyRefreshComplete(_ status: Status, handle: UInt16, at now: UInt64) {
        guard isUnmasked(bit: 47) else { return }
        outbox.event(.encryptionKeyRefreshComplete, at: now) {
            $0.u8(status.rawValue)
            $0.u16(handle)
        }
    }

    /// Core 5.4, Vol 4, Part E, 7.7.12 (Read Remote Version Information Complete event)
    mutating func readRemoteVersionComplete(handle: UInt16, version: UInt8, at now: UInt64) {
        guard isUnmasked(bit: 11) else { return }
        outbox.event(.readRemoteVersionComplete, at: now) {
            $0.u8(Status.success.rawValue)
            $0.u16(handle)
            $0.u8(version)
            $0.u16(Capabilities.companyIdentifier)
            $0.u16(Capabilities.subversion)
        }
    }

    /// Core 5.4, Vol 4, Part E, 7.7.65.3 (LE Connection Update Complete event)
    mutating func connectionUpdateComplete(
        _ status: Status, handle: UInt16, _ parameters: ConnectionParameters, at now: UInt64
    ) {
        leEvent(.connectionUpdateComplete, at: now) {
            $0.u8(status.rawValue)
            $0.u16(handle)
            $0.u16(parameters.interval)
            $0.u16(parameters.latency)
            $0.u16(parameters.supervisionTimeout)
        }
    }

    /// Core 5.4, Vol 4, Part E, 7.7.65.4 (LE Read Remote Features Complete event)
    mutating func readRemoteFeaturesComplete(handle: UInt16, _ features: LEFeatures, at now: UInt64) {
        leEvent(.readRemoteFeaturesComplete, at: now) {
            $0.u8(Status.success.rawValue)
            $0.u16(handle)
            $0.u64(features.rawValue)
        }
    }

    /// Core 5.4, Vol 4, Part E, 7.7.65.5 (LE Long Term Key Request event). False when the host's masks stop it.
    mutating func longTermKeyRequest(handle: UInt16, random: UInt64, diversifier: UInt16, at now: UInt64) -> Bool {
        leEvent(.longTermKeyRequest, at: now) {
            $0.u16(handle)
            $0.u64(random)
            $0.u16(diversifier)
        }
    }

    /// Core 5.4, Vol 4, Part E, 7.7.65.6 (LE Remote Connection Parameter Request event). False when the host's masks stop
    /// it.
    mutating func remoteConnectionParameterRequest(handle: UInt16, _ octets: [UInt8], at now: UInt64) -> Bool {
        leEvent(.remoteConnectionParameterRequest, at: now) {
            $0.u16(handle)
            $0.bytes(octets)
        }
    }

    /// Core 5.4, Vol 4, Part E, 7.7.65.12 (LE PHY Update Complete event)
    mutating func phyUpdateComplete(_ status: Status, handle: UInt16, tx: PHY, rx: PHY, at now: UInt64) {
        leEvent(.phyUpdateComplete, at: now) {
            $0.u8(status.rawValue)
            $0.u16(handle)
            $0.u8(tx.rawValue)
            $0.u8(rx.rawValue)
        }
    }

    /// Core 5.4, Vol 4, Part E, 7.7.65.7 (LE Data Length Change event)
    mutating func dataLengthChange(handle: UInt16, tx: UInt16, rx: UInt16, at now: UInt64) {
        leEvent(.dataLengthChange, at: now) {
            $0.u16(handle)
            for octets in [tx, rx] {
                $0.u16(octets)
                $0.u16(DataLength.microseconds(octets: octets))
            }
        }
    }

    private func isUnmasked(bit: UInt64) -> Bool { host.eventMask & 1 << bit != 0 }

    func isUnmasked(_ code: LEEventCode) -> Bool { isUnmasked(bit: 61) && host.leEventMask & code.maskBit != 0 }

    @discardableResult
    mutating func leEvent(
        _ code: LEEventCode, at now: UInt64, _ parameters: (inout OctetWriter) -> Void
    ) -> Bool {
        guard isUnmasked(code) else { return false }
        outbox.event(.leMeta, at: now) {
            $0.u8(code.rawValue)
            parameters(&$0)
        }
        return true
    }
}
