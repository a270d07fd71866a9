@testable import CommitPipeline
import HostTesting
import DocumentModel
import DocumentStore
import HTTPTypes
import StorageEngine
import Testing
import TextFormats

/// Cloud Tasks' REST API, as the Firebase libraries and Google's use it.
struct TaskRESTTests {
    private static let queue = "/projects/demo-shop/locations/us-central1/queues/receipts/tasks"
    private static let name = "projects/demo-shop/locations/us-central1/queues/receipts/tasks"
    private static let body = Base64.encode(Array(#"{"data":{"order":1}}"#.utf8))
    private static let start = "2026-01-02T03:04:05.000001Z"

    /// The request that firebase-admin sends to an emulator.
    private static func task(_ more: String = "") -> String {
        #"{"task":{"httpRequest":{"url":"","oidcToken":{"serviceAccountEmail":"emulated-service-acct@email.com"},"#
            + #""body":"\#(body)","headers":{"Content-Type":"application/json"}}\#(more)}}"#
    }

    @Test func aTaskAtTheEmulatorsPathHasTheEmulatorsResponseAndIsInTheOutbox() async throws {
        let port = try EventExchanges()
        let answer = try await port.send(
            .post, Self.queue, Self.task(), headers: ["Authorization": "Bearer owner"])
        #expect(answer.status == 200)
        let delivery = try #require(try await port.store.outbox.deliveries(areDead: false, limit: 2).first)
        #expect(
            answer.body
                == #"{"task":{"name":"/\#(Self.name)/\#(delivery.id.event)","httpRequest":{"httpMethod":"POST","#
                + #""headers":{"Content-Type":"application/json"}},"createTime":"\#(Self.start)","#
                + #""scheduleTime":"\#(Self.start)","dispatchCount":0,"responseCount":0,"view":"BASIC"}}"#)
        let event = try #require(try await port.events(of: "receipts").first)
        #expect(event.auth == EventAuth(.serviceAccount) && event.chain.isEmpty)
        guard case .task(let task) = event.content else { throw Unexpected() }
        #expect(task.body == Array(#"{"data":{"order":1}}"#.utf8) && task.name == nil && task.scheduleTime == nil)
        #expect(task.headers == ["Content-Type": "application/json"] && task.queue == "receipts")
        await port.shutdown()
    }

    @Test func aTaskAtTheCloudsPathHasTheCloudsResponse() async throws {
        let port = try EventExchanges()
        let more =
            #","name":"\#(Self.name)/order-1","scheduleTime":"2026-01-02T04:00:00.5Z","dispatchDeadline":"30.5s""#
        let answer = try await port.send(.post, "/v2" + Self.queue, Self.task(more))
        let resource =
            #"{"name":"\#(Self.name)/order-1","httpRequest":{"httpMethod":"POST","#
            + #""headers":{"Content-Type":"application/json"}},"createTime":"\#(Self.start)","#
            + #""scheduleTime":"2026-01-02T04:00:00.500Z","dispatchDeadline":"31s","dispatchCount":0,"#
            + #""responseCount":0,"view":"BASIC"}"#
        #expect(answer == RESTAnswer(status: 200, body: resource))
        #expect(try await port.send(.get, "/v2" + Self.queue + "/order-1").body == resource)
        let full = try await port.send(.get, "/v2" + Self.queue + "/order-1?responseView=FULL").body
        #expect(full.contains(#""body":"\#(Self.body)""#) && full.contains(#""view":"FULL""#))
        #expect(try await port.send(.get, "/v2" + Self.queue).body == #"{"tasks":[\#(resource)]}"#)

        // A task's name is unique within its queue.
        #expect(
            try await port.send(.post, "/v2" + Self.queue, Self.task(more))
                == .error(
                    .alreadyExists,
                    "the queue receipts has a task named order-1, or had one until less than a day ago; leave the name "
                        + "out or use another"))
        #expect(try await port.events(of: "receipts").count == 1)
        #expect(try await port.send(.delete, Self.queue + "/order-1") == RESTAnswer(status: 200, body: "{}"))
        #expect(try await port.events(of: "receipts").isEmpty)
        #expect(try await port.send(.delete, Self.queue + "/order-1").status == 404)
        #expect(try await port.send(.get, Self.queue + "/order-1").status == 404)
        #expect(try await port.send(.post, Self.queue, Self.task(more)).status == 409)
        await port.shutdown()
    }

    /// Google's library for Python sends an enum's number instead of its name.
    @Test func numbersStandForEnums() async throws {
        let port = try EventExchanges()
        let options = "%24alt=json%3Benum-encoding%3Dint"
        func task(_ method: Int) -> String {
            #"{"task":{"name":"\#(Self.name)/order-1","httpRequest":{"url":"https://a.example/receipts","#
                + #""httpMethod":\#(method),"body":"\#(Self.body)"}},"responseView":1}"#
        }
        #expect(try await port.send(.post, "/v2\(Self.queue)?\(options)", task(2)).status == 400)
        #expect(try await port.send(.post, "/v2\(Self.queue)?\(options)", task(1)).status == 200)
        for path in ["/v2\(Self.queue)", "/v2\(Self.queue)/order-1"] {
            let full = try await port.send(.get, "\(path)?responseView=2&\(options)").body
            #expect(full.contains(#""body":"\#(Self.body)""#))
            let basic = try await port.send(.get, "\(path)?responseView=1&\(options)").body
            #expect(basic.contains("order-1") && !basic.contains(Self.body))
        }
        await port.shutdown()
    }

    @Test func tasksWithoutANameHaveTheirEventsIDs() async throws {
        let port = try EventExchanges()
        for _ in 1...3 { #expect(try await port.send(.post, Self.queue, Self.task()).status == 200) }
        let ids = try await port.store.outbox.deliveries(areDead: false, limit: 9).map { "\($0.id.event)" }
        let page = try await port.send(.get, Self.queue + "?pageSize=2").body
        #expect(page.contains(#""nextPageToken":"\#(ids[1])""#) && !page.contains(ids[2]))
        let rest = try await port.send(.get, Self.queue + "?pageSize=2&pageToken=\(ids[1])").body
        #expect(rest.contains(ids[2]) && !rest.contains("nextPageToken") && !rest.contains(ids[1]))
        #expect(try await port.send(.delete, Self.queue + "/" + ids[1]).status == 200)
        #expect(
            try await port.store.outbox.deliveries(areDead: false, limit: 9).map { "\($0.id.event)" } == [
                ids[0], ids[2],
            ])
        await port.shutdown()
    }

    @Test func aRunningTaskThatIsDeletedIsNotRetried() async throws {
        let port = try EventExchanges()
        #expect(try await port.send(.post, Self.queue, Self.task()).status == 200)
        let id = try #require(try await port.store.outbox.deliveries(areDead: false, limit: 1).first?.id)
        let lease = try #require(port.store.outbox.lease(id))
        #expect(try await port.send(.delete, Self.queue + "/\(id.event)") == RESTAnswer(status: 200, body: "{}"))
        #expect(try await port.send(.get, Self.queue + "/\(id.event)").status == 404)
        port.store.outbox.release(lease)
        #expect(try await port.events(of: "receipts").isEmpty)
        await port.shutdown()
    }

    /// Its event is lost, so only the delivery can be read.
    @Test func aTaskThatCannotBeReadIsNamedAndTheOthersAreListed() async throws {
        let port = try EventExchanges()
        for _ in 1...3 { #expect(try await port.send(.post, Self.queue, Self.task()).status == 200) }
        let ids = try await port.store.outbox.deliveries(areDead: false, limit: 9).map(\.id)
        try port.engine.write { storage in try storage.put(.events, OutboxKey.event(ids[1].event), [255]) }
        let answer = try await port.send(.get, Self.queue)
        #expect(answer.status == 200)
        #expect(ids.map { answer.body.contains("tasks/\($0.event)") } == [true, false, true])
        #expect(port.log.all.count == 1)
        #expect(port.log.all.allSatisfy { $0.contains("event.id=\(ids[1].event) function=receipts") })
        #expect(try await port.send(.get, Self.queue + "/\(ids[1].event)").body.contains("DATA_LOSS"))
        await port.shutdown()
    }

    @Test func aPageOfLargeTasksIsBoundedInBytes() async throws {
        let port = try EventExchanges(maxPageBytes: 2500)
        let body = Base64.encode(Array(#"{"data":"\#(String(repeating: "x", count: 990))"}"#.utf8))
        for _ in 1...4 {
            let task = #"{"task":{"httpRequest":{"body":"\#(body)"}}}"#
            #expect(try await port.send(.post, Self.queue, task).status == 200)
        }
        func page(_ query: String) async throws -> (count: Int, next: String?) {
            let page = try await port.send(.get, Self.queue + query).body
            let token = page.split(separator: #""nextPageToken":""#).dropFirst().first?.prefix { $0 != "\"" }
            return (page.split(separator: #""httpRequest""#).count - 1, token.map { String($0) })
        }
        let first = try await page("?responseView=FULL")
        #expect(first.count == 3)
        let rest = try await page("?responseView=FULL&pageToken=\(try #require(first.next))")
        #expect(rest.count == 1 && rest.next == nil)
        // Tasks without their bodies are small.
        let basic = try await page("")
        #expect(basic.count == 4 && basic.next == nil)
        await port.shutdown()
    }

    @Test func headersThatTheHostSetsItselfAreIgnored() async throws {
        let port = try EventExchanges()
        let headers =
            #"{"X-Trace":"a","Authorization":"Bearer secret","X-CloudTasks-TaskName":"forged","Host":"x"}"#
        let body = #"{"task":{"httpRequest":{"body":"\#(Self.body)","headers":\#(headers)}}}"#
        #expect(try await port.send(.post, Self.queue, body).status == 200)
        #expect(try await port.events(of: "receipts").tasks.first?.headers == ["X-Trace": "a"])
        await port.shutdown()
    }

    private static let refusals: [(body: String, message: String)] = [
        ("", "a request needs its task"),
        ("{", "the body, line 1, column 2: a key in quotes should be here"),
        (#"{"task":{}}"#, "task: a task needs its httpRequest"),
        (#"{"task":{"httpRequest":{}}}"#, #"task.httpRequest: a request needs its body, {"data":…} in base64"#),
        (#"{"task":{"httpRequest":{"body":"?"}}}"#, "task.httpRequest.body: not valid base64"),
        (
            #"{"task":{"httpRequest":{"body":"bm90IGpzb24="}}}"#,
            "task.httpRequest.body: the body is not JSON: a value should be here"
        ),
        (
            #"{"task":{"httpRequest":{"body":"eyJvcmRlciI6MX0="}}}"#,
            #"task.httpRequest.body: the body of a task must be {"data":…} and nothing else"#
        ),
        (
            #"{"task":{"httpRequest":{"body":"\#(body)","url":"https://example.com/hook"}}}"#,
            #"task.httpRequest.url: "https://example.com/hook" is not the URL of receipts; tasks are delivered to the queue's "#
                + "own function, so omit the url"
        ),
        (
            #"{"task":{"httpRequest":{"body":"\#(body)","httpMethod":"GET"}}}"#,
            #"task.httpRequest.httpMethod: "GET" isn't supported; tasks are sent with POST"#
        ),
        (
            #"{"task":{"httpRequest":{"body":"\#(body)","headers":{"a b":"c"}}}}"#,
            #"task.httpRequest.headers.a b: "a b" is not a header name"#
        ),
        (
            #"{"task":{"httpRequest":{"body":"\#(body)"},"dispatchDeadline":"3s"}}"#,
            "task.dispatchDeadline: a task's dispatch deadline is 3 s; it must be 15 s to 1800 s"
        ),
        (
            #"{"task":{"httpRequest":{"body":"\#(body)"},"dispatchDeadline":"99999999999999999999s"}}"#,
            #"task.dispatchDeadline: "99999999999999999999s" is not a dispatch deadline; write 15s … 1800s"#
        ),
        (
            #"{"task":{"httpRequest":{"body":"\#(body)"},"scheduleTime":"2026-02-01T03:04:06Z"}}"#,
            "task.scheduleTime: a task can't be scheduled for 2026-02-01T03:04:06Z, more than 30 days ahead, the limit"
        ),
        (
            #"{"task":{"httpRequest":{"body":"\#(body)"},"name":"\#(name)/a.b"}}"#,
            #"task.name: "a.b" isn't a valid task name: it has 1 to 500 letters, digits, hyphens and underscores"#
        ),
        (
            #"{"task":{"httpRequest":{"body":"\#(body)"},"name":"other"}}"#,
            #"task.name: "other" is not the name of a task in this queue; write \#(name)/ID"#
        ),
        (#"{"task":{"httpRequest":{"body":"\#(body)"},"retries":1}}"#, "task.retries: unknown key"),
        (
            #"{"task":{"appEngineHttpRequest":{}}}"#,
            "task.appEngineHttpRequest: App Engine isn't supported; use httpRequest"
        ),
    ]

    @Test(arguments: refusals) func invalidTasksAreRefusedWithTheirPath(body: String, message: String) async throws {
        let port = try EventExchanges()
        #expect(try await port.send(.post, Self.queue, body) == .error(.invalidArgument, message))
        #expect(try await port.events(of: "receipts").isEmpty)
        await port.shutdown()
    }

    @Test(arguments: [
        (
            "/projects/demo-shop/locations/us-central1/queues/nothing/tasks",
            "there is no task queue nothing; the queues are receipts"
        ),
        (
            "/projects/demo-shop/locations/europe-west1/queues/receipts/tasks",
            "the task queue receipts is in us-central1, asia-northeast1, not in europe-west1"
        ),
        (
            "/projects/other/locations/us-central1/queues/receipts/tasks",
            "this host serves the project demo-shop, not other"
        ),
        (
            "/v1/projects/demo-shop/locations/us-central1/queues/receipts/tasks",
            "nothing is served at /v1/projects/demo-shop/locations/us-central1/queues/receipts/tasks; tasks are at "
                + "/projects/demo-shop/locations/…/queues/…/tasks, events at /projects/demo-shop/events"
        ),
    ])
    func unknownQueuesAndPathsAreNotFound(path: String, message: String) async throws {
        let port = try EventExchanges()
        #expect(try await port.send(.post, path, Self.task()) == .error(.notFound, message))
        await port.shutdown()
    }

    private struct Unexpected: Error {}
}
