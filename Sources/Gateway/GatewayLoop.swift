import WorkerProtocol
package import TokenVerification
package import Workers
package import Logging
package import NIOCore
import NIOHTTP1
import PortConnections
import Sharing

/// What the connections of one event loop share.
///
/// `@unchecked Sendable`: all members except the constants are used on the loop only.
package final class GatewayLoop: @unchecked Sendable {
    package let invocations: InvocationLoop
    let verifiers: TokenVerifiers
    let consumedTokens: any TokenConsumption
    let limits: GatewayLimits
    /// What the bodies and answers of all ports use.
    let memory: PortMemory
    let caller: PortCaller
    let proxies: TrustedProxies
    /// Which requests are answered.
    let rules: PortRules
    /// Does what takes long with a large body, for which the loop's other connections would wait: for one address after
    /// the other.
    let longWork: @Sendable (_ address: UInt64, _ work: @escaping @Sendable () -> Void) -> Void
    let logger: Logger
    package var routes: RouteTable
    var isStopping = false
    private let refusals: RefusalLogger
    private var connections: [ObjectIdentifier: GatewayHandler] = [:]
    private var dateText = ""
    private var dateSecond: Int64 = 0

    private static let bodies = FairWork("gateway.bodies")

    package var eventLoop: any EventLoop { invocations.eventLoop }

    package init(
        invocations: InvocationLoop, verifiers: TokenVerifiers, consumedTokens: any TokenConsumption,
        limits: GatewayLimits,
        memory: PortMemory = PortMemory(), proxies: TrustedProxies = TrustedProxies(), hosts: LocalHosts? = nil,
        refusals: RefusalLogger? = nil,
        longWork: @escaping @Sendable (UInt64, @escaping @Sendable () -> Void) -> Void = { bodies.add(of: $0, $1) },
        logger: Logger, routes: RouteTable
    ) {
        self.longWork = longWork
        self.invocations = invocations
        self.verifiers = verifiers
        self.consumedTokens = consumedTokens
        self.limits = limits
        self.memory = memory
        self.proxies = proxies
        caller = PortCaller(proxies: proxies, tokens: verifiers.idToken, isDevelopment: hosts != nil)
        rules = PortRules(hosts: hosts, memory: memory, takesAccessTokens: false)
        self.logger = logger
        self.refusals = refusals ?? RefusalLogger(logger)
        self.routes = routes
    }

    /// Two tokens and some cookies fit.
    private static var headLimits: NIOHTTPDecoderLimitConfiguration {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderListSize = 80 * 1024
        return limits
    }

    /// Serves a client's connection. Call on the loop.
    package func serve(_ channel: any Channel) throws {
        let heads = HeadGauge(memory.bodies, caller)
        try channel.pipeline.syncOperations.addHandler(heads)
        // Answers are written as bytes, without an encoder.
        try channel.pipeline.syncOperations.addHandler(
            ByteToMessageHandler(
                HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes, limitConfiguration: Self.headLimits),
                // What follows a request for another protocol is parsed no more, and kept.
                maximumBufferSize: 256 * 1024))
        try channel.pipeline.syncOperations.addHandler(GatewayHandler(loop: self, heads: heads))
        channel.boundUnsentInSystem()
    }

    func add(_ handler: GatewayHandler) { connections[ObjectIdentifier(handler)] = handler }

    func remove(_ handler: GatewayHandler) { connections[ObjectIdentifier(handler)] = nil }

    /// Closes connections that have been idle, or silent within a request or an answer, for too long.
    package func closeStaleConnections() {
        let now = eventLoop.now
        refusals.logLeftOut(now: now)
        for handler in Array(connections.values) { handler.closeIfStale(now: now) }
    }

    /// Logs that a request was refused, unless the caller has had many such lines in the last minute.
    func logRefusal(
        _ message: StaticString, of caller: IPAddress?, level: Logger.Level = .info,
        _ metadata: @autoclosure () -> Logger.Metadata
    ) {
        refusals.log(message, of: caller, level: level, now: eventLoop.now, metadata())
    }

    /// Whether a client waits for an answer, or takes one. A request that isn't whole isn't waited for: once the gateway
    /// stops, it would only be refused.
    package var isBusy: Bool { invocations.isBusy || connections.values.contains { $0.owesAnswer } }

    /// Closes idle connections. The others close after their answer.
    package func beginStopping() {
        isStopping = true
        for handler in Array(connections.values) where handler.isIdle { handler.closeWhenSent() }
    }

    package func closeAll() { for handler in Array(connections.values) { handler.close() } }

    /// The `Date` header, written once a second.
    func date() -> String {
        let now = WallClockDate.now
        if now != dateSecond {
            dateSecond = now
            dateText = WallClockDate.http(now)
        }
        return dateText
    }
}

/// Bounds of the gateway.
package struct GatewayLimits: Sendable {
    /// Bytes of one body.
    var requestBody: Int
    var times: PortTimes

    package init(requestBody: Int = 10 * 1024 * 1024, times: PortTimes = PortTimes()) {
        self.requestBody = requestBody
        self.times = times
    }
}

/// Verifies the tokens of requests.
package struct TokenVerifiers: Sendable {
    package var idToken: TokenVerifier
    package var sessionCookie: TokenVerifier
    package var appCheck: TokenVerifier
    /// Verifies what Google's sign-in asks blocking functions; nil for a host, whose own sign-in asks them without a port.
    package var blockingEvent: TokenVerifier?
    /// What callables demand of apps beside their own options.
    package var appCheckGate: AppCheckGate?

    package init(idToken: TokenVerifier, sessionCookie: TokenVerifier, appCheck: TokenVerifier) {
        self.idToken = idToken
        self.sessionCookie = sessionCookie
        self.appCheck = appCheck
    }
}
