import CommitPipeline
import DocumentModel
import DocumentStore
import GoogleREST
import Logging
import NIOCore
import StrictJSON
import TextFormats

/// Cloud Tasks' REST API, under its own paths and under those that the Firebase libraries use for an emulator.
extension EventREST {
    private static let maxPage = 1000

    func createTask(
        _ queue: TaskQueuePath, _ body: ByteBuffer, _ auth: EventAuth, isEmulated: Bool
    ) async throws(DocumentError) -> JSONWriter {
        try check(queue)
        let reader = TaskReader(queue: queue, now: now())
        let task = try RESTBody(body).read { (root) throws(JSONProblem) in try reader.request(root) }
        let time = try await commit([.enqueue(task)], auth)
        let id = task.name ?? EventID(version: time.microseconds, ordinal: 0).description
        let resource = TaskResource(
            name: queue.name(of: id), task: task, created: time, due: max(task.scheduleTime ?? time, time),
            failedAttempts: 0,
            executions: 0)
        var text = JSONWriter()
        guard isEmulated else {
            text.task(resource, isFull: false)
            return text
        }
        // The Firebase libraries expect the emulator's format: the task is nested, and its name begins with a slash.
        text.raw("{\"task\":")
        text.task(resource, isFull: false, namePrefix: "/")
        text.raw("}")
        return text
    }

    func task(_ queue: TaskQueuePath, _ id: String, _ query: String?) async throws(DocumentError) -> JSONWriter {
        let parameters = try RESTParameters(query, known: ["responseView"])
        try check(queue)
        let resource = try resource(try await pendingTask(queue, id), in: queue)
        var text = JSONWriter()
        text.task(resource, isFull: Self.isFull(parameters))
        return text
    }

    /// Lists a page of pending tasks, in the order in which they were enqueued, without those that can't be read: the
    /// log names them.
    func listTasks(_ queue: TaskQueuePath, _ query: String?) async throws(DocumentError) -> JSONWriter {
        let parameters = try RESTParameters(query, known: ["responseView", "pageSize", "pageToken"])
        try check(queue)
        var size = Self.maxPage
        if let text = parameters["pageSize"], text != "0" {
            guard let number = Int(text), number > 0 else {
                throw .invalidArgument("pageSize: \"\(text)\" is not a page size; write 1 … \(Self.maxPage)")
            }
            size = min(number, Self.maxPage)
        }
        var last: DeliveryID?
        if let token = parameters["pageToken"], !token.isEmpty {
            guard let event = EventID(token) else {
                throw .invalidArgument("pageToken: \"\(token)\" is not the nextPageToken of an earlier response")
            }
            last = DeliveryID(event: event, function: queue.queue)
        }
        let isFull = Self.isFull(parameters)
        let page = try await store.outbox.deliveries(areDead: false, function: queue.queue, after: last, limit: size)
        var end = page.count == size ? page.last : nil
        var resources: [TaskResource] = []
        var bytes = 0
        for delivery in page {
            guard var resource = try await readableTask(delivery.id, in: queue) else { continue }
            if !isFull { resource.task.body = [] }
            bytes += resource.task.body.count + resource.task.headers.reduce(0) { $0 + $1.value.utf8.count }
            resources.append(resource)
            if bytes >= maxPageBytes, delivery.id != page.last?.id {
                end = delivery
                break
            }
        }
        var text = JSONWriter()
        text.raw("{\"tasks\":")
        text.array(resources) { $0.task($1, isFull: isFull) }
        if let end {
            text.raw(",\"nextPageToken\":")
            text.string("\(end.id.event)")
        }
        text.raw("}")
        return text
    }

    /// Deletes a task. If its handler is running, it runs to its end, but isn't retried.
    func deleteTask(_ queue: TaskQueuePath, _ id: String, _ auth: EventAuth) async throws(DocumentError) -> JSONWriter {
        try check(queue)
        _ = try await pendingTask(queue, id)
        _ = try await commit([.deleteTask(id, queue: queue.queue)], auth)
        return .emptyObject
    }

    /// Whether tasks are requested with their bodies: by the view's name, or by its number.
    private static func isFull(_ parameters: RESTParameters) -> Bool {
        parameters["responseView"].map { $0 == "FULL" || $0 == "2" } ?? false
    }

    // MARK: Finding

    private func check(_ queue: TaskQueuePath) throws(DocumentError) {
        let queues = queues()
        guard let regions = queues[queue.queue] else {
            let known = queues.keys.sorted().joined(separator: ", ")
            throw DocumentError(
                .notFound,
                "there is no task queue \(queue.queue); "
                    + (known.isEmpty ? "no function has a task queue" : "the queues are \(known)"))
        }
        guard regions.contains(queue.location) else {
            throw DocumentError(
                .notFound,
                "the task queue \(queue.queue) is in \(regions.joined(separator: ", ")), not in \(queue.location)")
        }
    }

    /// Finds a task by its name, or by its event's id if it has no name.
    private func pendingTask(_ queue: TaskQueuePath, _ id: String) async throws(DocumentError) -> StoredDelivery {
        if let stored = try await store.outbox.delivery(ofTask: id, in: queue.queue) { return stored }
        throw DocumentError(.notFound, "the queue \(queue.queue) has no pending task \(id)")
    }

    /// - Returns: nil if the task has ended in the meantime, or can't be read.
    private func readableTask(
        _ id: DeliveryID, in queue: TaskQueuePath
    ) async throws(DocumentError) -> TaskResource? {
        do throws(DocumentError) {
            guard let stored = try await store.outbox.delivery(id) else { return nil }
            return try resource(stored, in: queue)
        } catch {
            guard error.code == .dataLoss else { throw error }
            logger.error(
                "a task can't be read and isn't listed; \"functions-host data check --repair\" restores or removes it",
                metadata: ["function": "\(id.function)", "event.id": "\(id.event)", "error": "\(error.message)"])
            return nil
        }
    }

    private func resource(_ stored: StoredDelivery, in queue: TaskQueuePath) throws(DocumentError) -> TaskResource {
        let delivery = stored.delivery
        guard let event = try? Event(decoding: stored.event), case .task(let task) = event.content else {
            throw DocumentError(.dataLoss, "the task \(delivery.id.event) can't be read; run functions-host data check")
        }
        return TaskResource(
            name: queue.name(of: delivery.taskName ?? "\(delivery.id.event)"), task: task, created: event.time,
            due: delivery.due ?? event.time, failedAttempts: delivery.failedAttempts, executions: delivery.executions)
    }
}

/// A task in Cloud Tasks' JSON format.
private struct TaskResource {
    var name: String
    var task: TaskDraft
    var created: Timestamp
    var due: Timestamp
    var failedAttempts: Int
    var executions: Int
}

extension JSONWriter {
    /// - Parameter isFull: whether the body is included.
    fileprivate mutating func task(_ resource: TaskResource, isFull: Bool, namePrefix: String = "") {
        raw("{\"name\":")
        string(namePrefix + resource.name)
        raw(",\"httpRequest\":{\"httpMethod\":\"POST\",\"headers\":{")
        list(resource.task.headers.sorted { $0.key < $1.key }) { text, header in
            text.key(header.key)
            text.string(header.value)
        }
        raw("}")
        if isFull {
            raw(",\"body\":")
            string(Base64.encode(resource.task.body))
        }
        raw("},\"createTime\":")
        string(resource.created.rfc3339)
        raw(",\"scheduleTime\":")
        string(resource.due.rfc3339)
        if let deadline = resource.task.dispatchDeadline {
            raw(",\"dispatchDeadline\":")
            string("\(deadline)s")
        }
        raw(",\"dispatchCount\":")
        integer(resource.failedAttempts)
        raw(",\"responseCount\":")
        integer(resource.executions)
        raw(",\"view\":")
        string(isFull ? "FULL" : "BASIC")
        raw("}")
    }
}
