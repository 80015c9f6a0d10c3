import BluetoothCore
import SecurityManager

// MARK: What apps are to hear

extension HostCore {
    mutating func announce(_ news: CentralNews, to manager: ManagerID) { tellings.append(.central(manager, news)) }

    mutating func announce(_ news: PeripheralNews, to manager: ManagerID) {
        tellings.append(.peripheral(manager, news))
    }

    /// To every peripheral manager.
    mutating func announce(_ news: PeripheralNews) {
        for manager in managers.peripherals { announce(news, to: manager) }
    }

    /// To the central managers that have asked for a peer.
    mutating func announce(_ news: CentralNews, toThoseWanting peer: PeerIdentifier) {
        for owner in ledger.owners(of: .central) where ledger.wants(owner, peer) {
            if let manager = managers.manager(of: owner) { announce(news, to: manager) }
        }
    }

    /// To the central managers that are clients over a link.
    mutating func announce(_ news: CentralNews, toClientsOf link: Link) {
        if link.isClient { announce(news, toThoseWanting: link.peer) }
    }

    /// To the central managers that look at every link.
    mutating func announceToObservers(_ news: @autoclosure () -> CentralNews) {
        for manager in managers.centrals where managers[manager]?.options.contains(.observesLinks) == true {
            announce(news(), to: manager)
        }
    }

    /// To whoever speaks with the user.
    mutating func announce(_ news: AgentNews, of link: Link) { tellings.append(.agent(news, link.info)) }
}

// MARK: What an operator is to hear

extension HostCore {
    mutating func tell(_ notice: @autoclosure () -> HostNotice) {
        guard tellsNotices else { return }
        let notice = notice()
        acts.append(notice)
    }

    /// A fault of the controller that nothing has to be done about.
    mutating func noteFault() {
        faults += 1
        let total = faults
        tell(.controllerFault(total: total))
    }
}
