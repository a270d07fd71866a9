package import TokenVerification
package import Workers
package import Logging
package import NIOCore

/// What the connections of one event loop share.
///
/// `@unchecked Sendable`: all members except the constants are used on the loop only.
package final class GatewayLoop: @unchecked Sendable {
    package let invocations: InvocationLoop
    let verifiers: TokenVerifiers
    let consumedTokens: ConsumedTokens
    let limits: GatewayLimits
    let proxies: TrustedProxies
    /// Which requests are answered.
    let rules: PortRules
    let logger: Logger
    package var routes: RouteTable
    /// Bytes of request bodies held by the loop's connections.
    var bodyBytes = 0
    /// Bytes of large answers that clients haven't received yet.
    var answerBytes = 0
    var isStopping = false
    private var refusals = RefusalLog()
    private var connections: [ObjectIdentifier: GatewayHandler] = [:]
    private var dateText = ""
    private var dateSecond: Int64 = 0

    package var eventLoop: any EventLoop { invocations.eventLoop }

    package init(
        invocations: InvocationLoop, verifiers: TokenVerifiers, consumedTokens: ConsumedTokens, limits: GatewayLimits,
        proxies: TrustedProxies = TrustedProxies(), hosts: LocalHosts? = nil, logger: Logger, routes: RouteTable
    ) {
        self.invocations = invocations
        self.verifiers = verifiers
        self.consumedTokens = consumedTokens
        self.limits = limits
        self.proxies = proxies
        rules = PortRules(hosts: hosts)
        self.logger = logger
        self.routes = routes
    }

    var connectionCount: Int { connections.count }

    func add(_ handler: GatewayHandler) { connections[ObjectIdentifier(handler)] = handler }

    func remove(_ handler: GatewayHandler) { connections[ObjectIdentifier(handler)] = nil }

    /// Closes connections that have been idle, or silent within a request or an answer, for too long.
    package func closeStaleConnections() {
        let now = eventLoop.now
        for (subject, count) in refusals.takeLeftOut(now: now) {
            logger.warning(
                "more requests were refused than are logged",
                metadata: ["kind": "\(subject.kind)", "left.out": "\(count)"])
        }
        for handler in Array(connections.values) where handler.deadline <= now { handler.closeStale() }
    }

    /// Logs that a request was refused, unless the caller has had many such lines in the last minute.
    func logRefusal(
        _ message: StaticString, of caller: IPAddress?, level: Logger.Level = .info,
        _ metadata: @autoclosure () -> Logger.Metadata
    ) {
        guard logger.logLevel <= level, refusals.admits("\(message)", of: caller, now: eventLoop.now) else { return }
        logger.log(level: level, "\(message)", metadata: metadata())
    }

    /// Closes idle connections. The others close after their answer.
    package func beginStopping() {
        isStopping = true
        for handler in Array(connections.values) where handler.isIdle { handler.closeWhenSent() }
    }

    package func closeAll() { for handler in Array(connections.values) { handler.closeStale() } }

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
    /// Bytes of all bodies that are held on one loop.
    var allBodies: Int
    /// Bytes of all large answers that wait on one loop for their clients.
    var allAnswers: Int
    /// Connections on one loop.
    var connections: Int
    /// How long a request may take to arrive, and an answer to be read.
    var transferTimeout: TimeAmount
    /// How long a connection without a request is kept.
    var idleTimeout: TimeAmount
    /// How long the rest of a refused request is read and discarded.
    var discardTimeout: TimeAmount

    package init(
        requestBody: Int = 10 * 1024 * 1024, allBodies: Int = 256 * 1024 * 1024, allAnswers: Int = 256 * 1024 * 1024,
        connections: Int = 10_000,
        transferTimeout: TimeAmount = .seconds(60), idleTimeout: TimeAmount = .seconds(75),
        discardTimeout: TimeAmount = .seconds(10)
    ) {
        self.requestBody = requestBody
        self.allBodies = allBodies
        self.allAnswers = allAnswers
        self.connections = connections
        self.transferTimeout = transferTimeout
        self.idleTimeout = idleTimeout
        self.discardTimeout = discardTimeout
    }
}

/// Verifies the tokens of requests.
package struct TokenVerifiers: Sendable {
    package var idToken: TokenVerifier
    package var sessionCookie: TokenVerifier
    package var appCheck: TokenVerifier

    package init(idToken: TokenVerifier, sessionCookie: TokenVerifier, appCheck: TokenVerifier) {
        self.idToken = idToken
        self.sessionCookie = sessionCookie
        self.appCheck = appCheck
    }
}
