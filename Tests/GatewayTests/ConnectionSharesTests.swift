import Logging
import NIOCore
import NIOEmbedded
import Sharing
import Testing
import Workers
import WorkerProtocol

@testable import Gateway

@Suite struct ConnectionSharesTests {
    private func shares(
        _ proxies: [String], of all: FairShares<IPAddress> = FairShares(total: .max)
    ) -> ConnectionShares {
        ConnectionShares(
            8, of: all, proxies: TrustedProxies(proxies.compactMap { AddressPrefix($0) }),
            refusals: RefusalLogger(Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })), port: "p")
    }

    private func connect(_ shares: ConnectionShares, _ address: String) throws -> EmbeddedChannel? {
        let channel = EmbeddedChannel()
        channel.remoteAddress = try SocketAddress(ipAddress: address, port: 1)
        do { try shares.admit(channel) } catch { return nil }
        return channel
    }

    @Test func anAddressHasItsShare() throws {
        let shares = shares([])
        var open: [EmbeddedChannel] = []
        while let channel = try connect(shares, "192.0.2.1") { open.append(channel) }
        #expect(open.count == 4)
        #expect(try connect(shares, "192.0.2.2") != nil)
        #expect(try connect(shares, "192.0.2.1") == nil)
        for channel in open { _ = try? channel.finish(acceptAlreadyClosed: true) }
        #expect(try connect(shares, "192.0.2.1") != nil)
    }

    /// Who has a network of IPv6 has as many addresses as wanted.
    @Test func aNetworkIsOneAddress() throws {
        let shares = shares([])
        #expect(try (1..<9).count { try connect(shares, "2001:db8::\($0)") != nil } == 4)
    }

    @Test func thePortsShareWhatTheProcessMayHave() throws {
        let all = FairShares<IPAddress>(total: 10)
        let (one, other) = (shares(["10.0.0.0/8"], of: all), shares(["10.0.0.0/8"], of: all))
        let open = try (0..<8).compactMap { _ in try connect(one, "10.0.0.7") }
        #expect(open.count == 8)
        #expect(try connect(other, "192.0.2.1") != nil)
        // One is left, and not for the same address.
        #expect(try connect(other, "192.0.2.1") == nil)
        #expect(try connect(other, "192.0.2.2") != nil)
        #expect(try connect(other, "10.0.0.7") == nil)
        for channel in open { _ = try? channel.finish(acceptAlreadyClosed: true) }
        // What was refused counts on neither.
        #expect(try (0..<9).count { _ in try connect(other, "10.0.0.7") != nil } == 6)
    }

    @Test(arguments: ["127.0.0.1", "::1", "10.0.0.7"]) func manyMayBeBehindAProxy(address: String) throws {
        let shares = shares(["10.0.0.0/8"])
        #expect(try (0..<9).count { _ in try connect(shares, address) != nil } == 8)
    }
}
