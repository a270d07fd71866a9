import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import TestSupport
import Testing

/// A function's budget, and the operator's URL that is notified of it.
@Suite(.endsHangs) struct BudgetAlertTests {
    @Test func aBudgetWarnsPausesAndIsLiftedByHand() async throws {
        // A new day gives the budget again, so none may begin in between.
        try await Bound.wait("midnight is past") {
            Int(Date().timeIntervalSince1970) % 86_400 < 86_400 - 120
        }
        let hook = try await Hook.open()
        let extra = """
            "functions": { "work": { "budget": { "invocationsPerDay": 2, "warnAt": 0.5 } } },
            "alerts": { "webhook": "http://127.0.0.1:\(hook.port)/hook?key=1" }
            """
        try await RunningHost.serving(extra: extra) { host in
            let body = Data(#"{"data":{"does":"nothing"}}"#.utf8).base64EncodedString()
            for _ in 1...3 {
                let answer = try await host.events.send(
                    "POST", "/projects/demo-shop/locations/us-central1/queues/work/tasks",
                    #"{"task":{"httpRequest":{"body":"\#(body)"}}}"#)
                #expect(answer.status == 200, "\(answer.text)")
            }
            try await Bound.wait("both alerts are sent") { hook.bodies.count == 2 }
            let alerts = hook.bodies.compactMap { try? JSON(parsing: $0) }
            #expect(alerts.map { $0["kind"]?.text } == ["warning", "paused"])
            #expect(alerts.map { $0["used"]?.integer } == [1, 2])
            for alert in alerts {
                #expect(alert["function"]?.text == "work" && alert["project"]?.text == "demo-shop")
                #expect(alert["budget"]?.text == "invocations" && alert["limit"]?.integer == 2)
                #expect(alert["day"]?.text?.count == 10)
            }
            try await Bound.wait("one is left") {
                try await host.command(["deliveries", "list", "--json"]).json?["deliveries"]?.list.count == 1
            }
            #expect(try await host.command(["pause"]).output == "work: budget used up\n")
            #expect(try await host.command(["resume", "work"]).output == "nothing is paused\n")
            try await Bound.wait("it is done") {
                try await host.command(["deliveries", "list"]).output == "there are no deliveries\n"
            }
            #expect(hook.bodies.count == 2)
        }
        try await hook.close()
    }
}

/// A server that takes whatever it is sent.
private final class Hook: Sendable {
    private let channel: any Channel
    private let received: Received

    fileprivate final class Received: Sendable {
        let bodies = Mutex<[String]>([])
    }

    static func open() async throws -> Hook {
        let received = Received()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(BodyCollector(received))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return Hook(channel, received)
    }

    private init(_ channel: any Channel, _ received: Received) {
        self.channel = channel
        self.received = received
    }

    var port: Int { channel.localAddress?.port ?? 0 }
    var bodies: [String] { received.bodies.withLock { $0 } }

    func close() async throws { try await channel.close() }
}

private final class BodyCollector: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let received: Hook.Received
    private var body = ""

    init(_ received: Hook.Received) { self.received = received }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head: body = ""
        case .body(let bytes): body += String(buffer: bytes)
        case .end:
            received.bodies.withLock { $0.append(body) }
            let head = HTTPResponseHead(version: .http1_1, status: .noContent)
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
    }
}
