import DocumentModel
import FunctionManifest
import WorkerProtocol
import FunctionsRuntime
import FunctionsRuntime
import Testing

@Suite struct TaskRequestTests {
    private struct Receipt: Codable, Sendable, Equatable {
        var order: String
        var amount: Int64
    }

    private func draft(_ body: String) -> TaskDraft {
        TaskDraft(
            queue: "q", name: "o1", body: Array(body.utf8), headers: ["X-Own": "1", "x-cloudtasks-taskname": "forged"],
            scheduleTime: Timestamp(seconds: 1_767_323_100, nanoseconds: 50_000))
    }

    @Test func handlerGetsDataAndHeaders() async throws {
        let kept = Kept<TaskRequest<Receipt>>()
        let function = onTaskDispatched("q") { (request: TaskRequest<Receipt>) in kept.keep(request) }
        let wide = #"{"@type":"type.googleapis.com/google.protobuf.Int64Value","value":"9007199254740993"}"#
        let task = draft(#"{"data":{"order":"o1","amount":\#(wide)}}"#)
        try await function.deliver(
            .of(.task(task)), retryCount: 3, executionCount: 2, previousResponse: 503, retryReason: "it failed")
        let request = try #require(kept.all.first)
        #expect(request.data == Receipt(order: "o1", amount: 9_007_199_254_740_993))
        #expect(request.queueName == "q")
        #expect(request.id == "o1")
        #expect(request.deliveryID == Event.id.description)
        #expect(request.retryCount == 3)
        #expect(request.executionCount == 2)
        #expect(request.previousResponse == 503)
        #expect(request.retryReason == "it failed")
        #expect(request.scheduledTime == task.scheduleTime)
        #expect(request.auth == EventAuth(.appUser, id: "ada"))
        #expect(
            request.headers.all.map { "\($0.name): \($0.value)" } == [
                "X-Own: 1", "X-CloudTasks-QueueName: q", "X-CloudTasks-TaskName: o1", "X-CloudTasks-TaskRetryCount: 3",
                "X-CloudTasks-TaskExecutionCount: 2", "X-CloudTasks-TaskETA: 1767323100.000050",
                "X-CloudTasks-TaskPreviousResponse: 503", "X-CloudTasks-TaskRetryReason: it failed",
            ])
    }

    @Test func taskWithoutNameAndTimeHasThoseOfItsEvent() async throws {
        let kept = Kept<TaskRequest<NoData>>()
        let function = onTaskDispatched("q") { (request: TaskRequest<NoData>) in kept.keep(request) }
        try await function.deliver(.of(.task(TaskDraft(queue: "q", body: Array(#"{"data":null}"#.utf8)))))
        let request = try #require(kept.all.first)
        #expect(request.id == Event.id.description)
        #expect(request.scheduledTime == Event.time)
        #expect(request.headers["x-cloudtasks-taskexecutioncount"] == "0")
        #expect(request.headers["X-CloudTasks-TaskPreviousResponse"] == nil)
    }

    @Test(arguments: [
        (#"{"data":{"order":"o1"}}"#, "data.amount: missing"),
        (#"{"data":{"order":1,"amount":1}}"#, "data.order: expected a string, found an integer"),
        (#"{}"#, "data: missing"),
        (#"{"data":{"order":"o1","amount":1},"more":1}"#, "more: a task's body must contain only \"data\""),
        (#"[1]"#, "expected an object, found an array"),
        (#"{"data":"#, "data: the text ends where a value should be, at byte 8"),
    ])
    func bodyThatDoesNotFitFails(body: String, reason: String) async throws {
        let function = onTaskDispatched("q") { (request: TaskRequest<Receipt>, transaction: Transaction) in }
        let failure = await failure { try await function.deliver(.of(.task(draft(body)))) }
        #expect(failure?.code == .invalidArgument)
        #expect(failure?.message == "The task's body can't be decoded: " + reason)
    }

    @Test func optionsAreInTheManifest() {
        let function = onTaskDispatched(
            "q", .retry(.exponential(from: .milliseconds(500), for: .seconds(60), attempts: 7, doublings: 3)),
            .rateLimits(maxConcurrentDispatches: 2, maxDispatchesPerSecond: 0.5)
        ) { (request: TaskRequest<NoData>) in }
        #expect(
            function.manifest.trigger
                == .task(
                    .init(
                        maxAttempts: 7, maxRetrySeconds: 60, minBackoffSeconds: 0.5, maxBackoffSeconds: 3600,
                        maxDoublings: 3, maxConcurrentDispatches: 2, maxDispatchesPerSecond: 0.5)))
        let plain = onTaskDispatched("q") { (request: TaskRequest<NoData>) in }
        #expect(plain.manifest.trigger == .task(.init()))
    }
}
