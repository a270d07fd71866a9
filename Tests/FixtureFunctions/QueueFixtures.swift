import FunctionsRuntime

/// Functions that handle tasks, events and messages, and callables that send them.
extension FixtureFunctions {
    @FunctionsBuilder var queues: [Function] {
        onTaskDispatched("work", .retry(Self.tasksQuickly)) { (request: TaskRequest<Work>) in
            try await log("work", request)
            switch request.data.does {
            case "fail": throw HttpsError(.unavailable, "It failed.")
            case "failOnce" where request.retryCount == 0: throw HttpsError(.unavailable, "It failed once.")
            case "trap": _ = [1][request.retryCount + 1]
            default: break
            }
        }
        // Adds up its input exactly, regardless of the number of attempts.
        onTaskDispatched("add", .retry(.exponential(from: .milliseconds(10), to: .milliseconds(100), attempts: .max))) {
            (request: TaskRequest<Counted>, transaction) in
            let tally = transaction.firestore.document("tallies/tasks")
            let known = try await transaction.getDocument(tally)
            let sum = known.exists ? try known.data(as: Counted.self).n : 0
            try transaction.setData(["n": sum + request.data.n], forDocument: tally)
        }
        onTaskDispatched("crawl", .rateLimits(maxConcurrentDispatches: 1, maxDispatchesPerSecond: 20)) {
            (request: TaskRequest<Work>) in
            try await log("crawl", request)
        }
    }

    static let tasksQuickly = Retry.exponential(from: .milliseconds(10), to: .milliseconds(40))

    @FunctionsBuilder var eventListeners: [Function] {
        onCustomEventPublished("hear", type: "fixture.said", .retry(Self.quickly)) {
            (event: CustomEvent<JSONValue>) in
            try await log("hear", event)
        }
        onCustomEventPublished("hearLoud", type: "fixture.said", filters: ["volume": "loud"]) { event in
            try await log("hearLoud", event)
        }
        onMessagePublished("receive", topic: "fixture-topic", .retry(Self.quickly)) { event in
            try await Self.log(
                "receive", event, event.id, event.attempt,
                [
                    "text": event.data.message.text, "attributes": event.data.message.attributes, "topic": event.topic,
                    "orderingKey": event.data.message.orderingKey, "messageID": event.data.message.messageID,
                    "subscription": event.data.subscription, "source": event.source,
                ])
        }
        // Never due during a test; tests run it manually.
        onSchedule("job", schedule: "0 4 29 2 *", .retry(.exponential(from: .zero, attempts: 3))) { event in
            try await Self.log(
                "job", event, event.id, event.attempt,
                ["time": event.scheduleTime, "isManual": event.isManual, "name": event.jobName])
            let orders = try await event.firestore.document("jobs/job").getDocument()
            if orders["fails"] == .boolean(true) { throw HttpsError(.unavailable, "The job failed.") }
            if case .string(let reason)? = orders["fails"] { throw HttpsError(.unavailable, reason) }
        }
    }

    @FunctionsBuilder var senders: [Function] {
        onCall("enqueue") { (request: CallableRequest<Enqueue>) in
            let options = request.data.options
            try await request.taskQueue(request.data.queue).enqueue(request.data.data, options: options)
        }
        onCall("enqueueInTransaction") { (request: CallableRequest<Enqueue>, transaction) in
            try transaction.setData(["n": 1], forDocument: transaction.firestore.document("enqueued/last"))
            try transaction.enqueue(request.data.data, to: request.data.queue, options: request.data.options)
            if request.data.refuses == true { throw HttpsError(.failedPrecondition, "It was to fail.") }
        }
        onCall("say") { (request: CallableRequest<Said>) in
            try await request.eventChannel().publish(try request.data.event)
        }
        onCall("sayInTransaction") { (request: CallableRequest<Said>, transaction) in
            try transaction.publish(try request.data.event)
            if request.data.refuses == true { throw HttpsError(.failedPrecondition, "It was to fail.") }
        }
        onCall("sendMessage") { (request: CallableRequest<JSONValue>) in
            try await request.topic("fixture-topic").publish(
                json: request.data, attributes: ["from": "sendMessage"], orderingKey: "k")
        }
    }

    struct Work: Codable, Sendable {
        var does: String
    }

    struct Enqueue: Codable, Sendable {
        var queue: String
        var data: JSONValue
        var id: String?
        var delay: Int?
        var refuses: Bool?

        var options: TaskOptions {
            delay.map { TaskOptions(scheduleDelay: .milliseconds($0), id: id) }
                ?? TaskOptions(id: id, headers: ["X-Fixture": "1"])
        }
    }

    struct Said: Codable, Sendable {
        var words: JSONValue
        var volume: String?
        var id: String?
        var refuses: Bool?

        var event: CloudEvent {
            get throws {
                try CloudEvent(
                    type: "fixture.said", source: "//fixture/senders", id: id, subject: "words",
                    attributes: volume.map { ["volume": $0] } ?? [:], json: words)
            }
        }
    }

    private func log(_ function: String, _ request: TaskRequest<Work>) async throws {
        var headers: [String: String] = [:]
        for (name, value) in request.headers { headers[name] = value }
        try await Self.log(
            function, request, request.id, request.retryCount + 1,
            [
                "does": request.data.does, "headers": headers, "queue": request.queueName,
                "executionCount": request.executionCount, "scheduled": request.scheduledTime,
                "previousResponse": request.previousResponse, "retryReason": request.retryReason,
            ])
    }

    private func log(_ function: String, _ event: CustomEvent<some Sendable>) async throws {
        try await Self.log(
            function, event, event.id, event.attempt,
            [
                "data": String(decoding: event.cloudEvent.data, as: UTF8.self), "source": event.source,
                "subject": event.subject, "attributes": event.attributes, "authType": event.auth.type.rawValue,
                "time": event.time,
            ])
    }
}
