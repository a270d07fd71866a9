import Logging
package import WorkerProtocol
package import NIOCore
import PortConnections
package import Sharing

/// The connections of a port, of which each address has its share. Addresses of this machine and of trusted proxies may have
/// all: many clients may be behind them.
package final class ConnectionShares: Sendable {
    private let shares: FairShares<IPAddress>
    private let all: FairShares<IPAddress>
    private let proxies: TrustedProxies
    private let refusals: RefusalLogger
    private let port: String

    package struct Refusal: Error {}

    /// - Parameters:
    ///   - total: the connections of the port.
    ///   - all: those of all ports together.
    ///   - port: its name in the log.
    package init(
        _ total: Int, of all: FairShares<IPAddress>, proxies: TrustedProxies, refusals: RefusalLogger, port: String
    ) {
        shares = FairShares(total: total)
        self.all = all
        self.proxies = proxies
        self.refusals = refusals
        self.port = port
    }

    /// Counts a connection until it is closed.
    ///
    /// - Throws: ``Refusal`` if its address has its share.
    package func admit(_ channel: any Channel) throws {
        let peer = IPAddress(channel.remoteAddress)
        let holder = peer.flatMap { proxies.mayBeMany($0) ? nil : $0.holder }
        guard shares.take(for: holder) else { throw refuse(peer, limit: shares.total) }
        guard all.take(for: holder) else {
            shares.release(of: holder)
            throw refuse(peer, limit: all.total)
        }
        channel.closeFuture.whenComplete { [shares, all] _ in
            shares.release(of: holder)
            all.release(of: holder)
        }
    }

    /// Lets the port rest while no connection can be accepted, and logs why. Call on the loop of its channel.
    package func watch(_ server: any Channel) throws {
        let pause = AcceptPause { [refusals, port] error in
            refusals.log(
                "connections can't be accepted at the moment", kind: "accept \(port)", of: IPAddress?.none,
                level: .error, now: .now(), ["port": "\(port)", "error": "\(error)"])
        }
        try server.pipeline.syncOperations.addHandler(pause, position: .first)
    }

    private func refuse(_ peer: IPAddress?, limit: Int) -> Refusal {
        refusals.log(
            "a connection was refused", of: peer, level: .warning, now: .now(),
            ["port": "\(port)", "limit": "\(limit)"])
        return Refusal()
    }
}
