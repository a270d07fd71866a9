@testable import Gateway
import HostTesting
import NIOCore
import NIOPosix
import TestSupport
import Testing
import TokenVerification
import WorkerProtocol
import WorkerTesting
import Workers

/// The functions port on a socket.
@Suite(.endsHangs) struct GatewayPortTests {
    /// The loop's other connections are served before more of a large body is read, and one that pauses reads no more.
    @Test func aConnectionIsReadOnceAtATime() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let logger = LogLines().logger
        let limits = HostLimits()
        let loop = GatewayLoop(
            invocations: InvocationLoop(index: 0, eventLoop: group.next(), idSource: InvocationIDSource()),
            verifiers: GatewayRing.developmentVerifiers, consumedTokens: ConsumedTokens(),
            limits: GatewayLimits(requestBody: limits.requestBody), logger: logger,
            routes: RouteTable(project: GatewayRing.project, functions: []))
        let services = InvocationServices(FunctionBackends(documents: ScriptedDocuments()), limits: limits)
        let (found, find) = AsyncStream.makeStream(of: UInt?.self)
        let gateway = try await Gateway.start(
            group: group, loops: [loop], services: services, host: "127.0.0.1", port: 0, grace: .seconds(0),
            watch: { _ in }
        ) { channel in find.yield(try channel.syncOptions?.getOption(.maxMessagesPerRead)) }
        let client = try await ClientBootstrap(group: group).connect(host: "127.0.0.1", port: gateway.port).get()
        for await reads in found {
            #expect(reads == 1)
            break
        }
        try await client.close()
        try await group.shutdownGracefully()
    }
}
