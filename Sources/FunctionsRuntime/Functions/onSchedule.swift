public import DocumentModel
package import FunctionManifest

/// One run of a scheduled job.
public struct ScheduleEvent: FunctionInput {
    /// The job's name.
    public let jobName: String
    /// Whether somebody asked for this run, besides those that the schedule has.
    public let isManual: Bool
    private let received: ReceivedEvent

    init(_ received: ReceivedEvent) throws {
        guard case .schedule(let job, let isManual) = received.event.content else {
            throw received.unexpected("runs of a schedule")
        }
        jobName = job
        self.isManual = isManual
        self.received = received
    }

    public var context: FunctionContext { received.context }

    /// The same over all tries of one run, and unique for the job.
    public var id: String { received.id }
    /// The same as the id.
    public var deliveryID: String { received.id }
    /// The time the run was due, which may lie before the time it starts.
    public var scheduleTime: Timestamp { received.event.time }
    /// Which try of the run this is: 1 the first time.
    public var attempt: Int { received.attempt }
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

/// What becomes of a job's runs that could not begin when they were due.
public struct MissedRuns: Sendable, Hashable {
    package let manifest: MissedRunsManifest

    /// One run makes up for all of them: the last one's.
    public static let once = MissedRuns(manifest: .once)

    /// None of them is made up for.
    public static let skip = MissedRuns(manifest: .skip)

    /// Each of them is made up for in order, the latest so many at most. An interval that counts from the end of the run
    /// before (`every 5 minutes`) misses one at most, unless its runs overlap.
    ///
    /// - Parameter max: 1...1000.
    public static func all(max: Int) -> MissedRuns { MissedRuns(manifest: .all(max: max)) }
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
    job(name, schedule, options, EventHandler({ try ScheduleEvent($0) }, handler))
}

/// A scheduled job whose writes and the end of its run are one commit.
public func onSchedule(
    _ name: String, schedule: String, _ options: ScheduleOption...,
    handler: @escaping @Sendable (ScheduleEvent, Transaction) async throws -> Void
) -> Function {
    job(name, schedule, options, EventHandler({ try ScheduleEvent($0) }, handler))
}

private func job(
    _ name: String, _ schedule: String, _ options: [ScheduleOption], _ handler: EventHandler
) -> Function {
    let options = FunctionOptions(options)
    let retry = options.scheduleRetry
    return Function(
        name: name, options: options,
        trigger: .schedule(
            .init(
                schedule: schedule, timeZone: options.timeZone, retryCount: retry.count,
                maxRetrySeconds: retry.maxRetrySeconds, minBackoffSeconds: retry.minBackoffSeconds,
                maxBackoffSeconds: retry.maxBackoffSeconds, maxDoublings: retry.maxDoublings,
                missedRuns: options.missedRuns.manifest, overlaps: options.overlaps)),
        handler: .event(handler))
}
