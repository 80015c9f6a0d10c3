/// What a command sets off once it has been answered.
enum FollowUp: Sendable {
    case nothing
    /// Packets wait on this link.
    case wake(LinkID)
    case connectionCancelled
}

extension Air {
    /// Checks, runs and answers one command.
    ///
    /// Core 5.4, Vol 4, Part E, 4.4 (Command flow control) and 4.5 (Command error handling)
    mutating func execute(opcode: UInt16, _ parameters: borrowing CommandParameters, of index: Int) {
        guard let description = CommandDescription.of(opcode),
            controllers[index].capabilities.leFeatures.isSuperset(of: description.features)
        else {
            return controllers[index].commandComplete(opcode, .unknownCommand, at: now)
        }
        var returns = OctetWriter()
        do throws(Status) {
            guard description.length.fits(parameters) else { throw .invalidParameters }
            try join(description.family, index)
            let next = try run(opcode, parameters, of: index, &returns)
            switch description.answer {
            case .complete, .completeWithHandle:
                controllers[index].commandComplete(opcode, .success, at: now) { $0.bytes(returns.octets) }
            case .status:
                controllers[index].commandStatus(opcode, .success, at: now)
            }
            follow(next, index)
        } catch {
            switch description.answer {
            case .complete: controllers[index].commandComplete(opcode, error, at: now)
            case .completeWithHandle:
                let handle = parameters.u16(0)
                controllers[index].commandComplete(opcode, error, at: now) { $0.u16(handle) }
            case .status: controllers[index].commandStatus(opcode, error, at: now)
            }
        }
    }

    /// Core 5.4, Vol 4, Part E, 3.1.1 (Legacy and extended advertising): a host that has used the commands of one family
    /// may not use those of the other.
    private mutating func join(_ family: CommandFamily?, _ index: Int) throws(Status) {
        guard let family else { return }
        let chosen = controllers[index].host.family ?? family
        guard family == chosen else { throw .commandDisallowed }
        controllers[index].host.family = chosen
    }

    private mutating func follow(_ next: FollowUp, _ index: Int) {
        switch next {
        case .nothing: break
        case .wake(let link):
            if let slot = slot(of: link) { wake(slot) }
        case .connectionCancelled:
            controllers[index].connectionFailed(.unknownConnection, role: .central, at: now)
        }
    }

    private mutating func run(
        _ opcode: UInt16, _ parameters: borrowing CommandParameters, of index: Int, _ returns: inout OctetWriter
    ) throws(Status) -> FollowUp {
        switch opcode {
        case Opcode.reset: forgetState(of: index)

        case Opcode.leSetRandomAddress: try setRandomAddress(parameters, of: index)
        case Opcode.leSetAdvertisingEnable: try setAdvertisingEnable(parameters, of: index)
        case Opcode.leSetScanEnable: try setScanEnable(parameters, of: index)
        case Opcode.leSetExtendedAdvertisingEnable: try setExtendedAdvertisingEnable(parameters, of: index)
        case Opcode.leSetExtendedScanEnable: try setExtendedScanEnable(parameters, of: index)
        case Opcode.leCreateConnection: try createConnection(parameters, of: index)
        case Opcode.leExtendedCreateConnection: try extendedCreateConnection(parameters, of: index)
        case Opcode.leCreateConnectionCancel: return try createConnectionCancel(of: index)

        case Opcode.disconnect: return try disconnect(parameters, of: index)
        case Opcode.readRSSI: try readRSSI(parameters, of: index, &returns)
        case Opcode.readRemoteVersionInformation:
            return try startProcedure(.versionRequest, parameters, of: index)
        case Opcode.leReadRemoteFeatures: return try readRemoteFeatures(parameters, of: index)
        case Opcode.leConnectionUpdate: return try connectionUpdate(parameters, of: index)
        case Opcode.leRemoteConnectionParameterRequestReply:
            return try parameterRequestReply(parameters, of: index, &returns)
        case Opcode.leRemoteConnectionParameterRequestNegativeReply:
            return try parameterRequestNegativeReply(parameters, of: index, &returns)
        case Opcode.leReadPHY: try readPHY(parameters, of: index, &returns)
        case Opcode.leSetDefaultPHY: try setDefaultPHY(parameters, of: index)
        case Opcode.leSetPHY: return try setPHY(parameters, of: index)
        case Opcode.leSetHostChannelClassification: try setHostChannelClassification(parameters, of: index)
        case Opcode.leReadChannelMap: try readChannelMap(parameters, of: index, &returns)
        case Opcode.leSetDataLength: return try setDataLength(parameters, of: index, &returns)

        case Opcode.leEnableEncryption: return try enableEncryption(parameters, of: index)
        case Opcode.leLongTermKeyRequestReply: return try longTermKeyReply(parameters, of: index, &returns)
        case Opcode.leLongTermKeyRequestNegativeReply:
            return try longTermKeyNegativeReply(parameters, of: index, &returns)

        case Opcode.leRand: returns.u64(random.next())
        default: try controllers[index].run(opcode, parameters, &returns)
        }
        return .nothing
    }
}
