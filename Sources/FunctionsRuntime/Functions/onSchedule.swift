public import DocumentModel
import WorkerProtocol

/// One run of a scheduled job.
public struct ScheduleEvent: Sendable {
    /// The job's name.
    public let jobName: String
    /// The time the run was due, which may lie before the time it starts.
    public let scheduleTime: Timestamp
    /// The documents, as admin.
    public let firestore: Firestore

    package init(jobName: String, scheduleTime: Timestamp, firestore: Firestore) {
        self.jobName = jobName
        self.scheduleTime = scheduleTime
        self.firestore = firestore
    }
}

/// How a failed run of a job is tried again.
public struct ScheduleRetry: Sendable, Hashable {
    /// 0...5; 0 means not at all, unless `maxRetrySeconds` gives a time.
    public var count: Int
    /// The time in which to try; 0 for no bound.
    public var maxRetrySeconds: Int
    public var minBackoffSeconds: Int
    public var maxBackoffSeconds: Int
    /// How often the pause doubles before it grows evenly.
    public var maxDoublings: Int

    public init(
        count: Int = 0, maxRetrySeconds: Int = 0, minBackoffSeconds: Int = 5, maxBackoffSeconds: Int = 3600,
        maxDoublings: Int = 5
    ) {
        self.count = count
        self.maxRetrySeconds = maxRetrySeconds
        self.minBackoffSeconds = minBackoffSeconds
        self.maxBackoffSeconds = maxBackoffSeconds
        self.maxDoublings = maxDoublings
    }
}

/// A scheduled job.
///
///     onSchedule("expireCarts", schedule: "every day 03:00", .timeZone("Asia/Tokyo")) { event in … }
///
/// - Parameter schedule: unix-cron (`0 3 * * *`) or App Engine's syntax (`every day 03:00`).
public func onSchedule(
    _ name: String, schedule: String, _ options: ScheduleOption...,
    handler: @escaping @Sendable (ScheduleEvent) async throws -> Void
) -> Function {
    job(name, schedule, options, .plain(handler))
}

/// A scheduled job whose writes and the end of its run are one commit.
public func onSchedule(
    _ name: String, schedule: String, _ options: ScheduleOption...,
    handler: @escaping @Sendable (ScheduleEvent, Transaction) async throws -> Void
) -> Function {
    job(name, schedule, options, .transactional(handler))
}

private func job(
    _ name: String, _ schedule: String, _ options: [ScheduleOption], _ handler: ScheduleHandler
) -> Function {
    let options = FunctionOptions(options)
    let retry = options.scheduleRetry
    return Function(
        name: name, options: options,
        trigger: .schedule(
            .init(
                schedule: schedule, timeZone: options.timeZone, retryCount: retry.count,
                maxRetrySeconds: retry.maxRetrySeconds, minBackoffSeconds: retry.minBackoffSeconds,
                maxBackoffSeconds: retry.maxBackoffSeconds, maxDoublings: retry.maxDoublings)),
        handler: .schedule(handler))
}

/// A job's handler.
package enum ScheduleHandler: Sendable {
    case plain(@Sendable (ScheduleEvent) async throws -> Void)
    case transactional(@Sendable (ScheduleEvent, Transaction) async throws -> Void)

    /// Runs the handler; a transactional one in a transaction of its own.
    package func run(_ event: ScheduleEvent, transport: any DocumentTransport) async throws {
        switch self {
        case .plain(let handler):
            try await handler(event)
        case .transactional(let handler):
            _ = try await TransactionRunner(transport: transport).run(
                completing: { _ in [] }, { transaction in try await handler(event, transaction) })
        }
    }
}
