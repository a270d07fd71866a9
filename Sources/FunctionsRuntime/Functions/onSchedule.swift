public import DocumentModel
package import FunctionManifest

/// A run of a scheduled job.
public struct ScheduleEvent: FunctionInput {
    /// The job's name.
    public let jobName: String
    /// Whether the run was requested manually, in addition to the schedule.
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

    /// The same for all attempts of one run, and unique for the job.
    public var id: String { received.id }
    /// The same as the id.
    public var deliveryID: String { received.id }
    /// When the run was due, which may be earlier than its start.
    public var scheduleTime: Timestamp { received.event.time }
    /// The number of this attempt, starting with 1.
    public var attempt: Int { received.attempt }
}

/// What happens to a job's runs that couldn't start when they were due.
public struct MissedRuns: Sendable, Hashable {
    package let manifest: MissedRunsManifest

    /// One run replaces all of them, with the due time of the last one.
    public static let once = MissedRuns(manifest: .once)

    /// They are skipped.
    public static let skip = MissedRuns(manifest: .skip)

    /// Each of them runs, in order, up to the latest `max`. An interval that counts from the end of the previous run
    /// (`every 5 minutes`) misses at most one, unless its runs overlap.
    ///
    /// - Parameter max: 1...1000.
    public static func all(max: Int) -> MissedRuns { MissedRuns(manifest: .all(max: max)) }
}

/// A scheduled job.
///
///     onSchedule("expireCarts", schedule: "every day 03:00", .timeZone("Asia/Tokyo")) { event in … }
///
/// - Parameters:
///   - schedule: unix-cron (`0 3 * * *`) or App Engine's syntax (`every day 03:00`).
///   - name: Matches `^[a-zA-Z][a-zA-Z0-9_-]{0,62}$`.
///   - options: What differs from the bundle's defaults.
///   - handler: Runs when it is due. If it throws, the attempt has failed.
public func onSchedule(
    _ name: String, schedule: String, _ options: ScheduleOption...,
    handler: @escaping @Sendable (ScheduleEvent) async throws -> Void
) -> Function {
    job(name, schedule, options, EventHandler({ try ScheduleEvent($0) }, handler))
}

/// A transactional scheduled job: its writes and the end of its run are one commit.
public func onSchedule(
    _ name: String, schedule: String, _ options: ScheduleOption...,
    handler: @escaping @Sendable (ScheduleEvent, Transaction) async throws -> Void
) -> Function {
    job(name, schedule, options, EventHandler({ try ScheduleEvent($0) }, handler))
}

private func job(
    _ name: String, _ schedule: String, _ options: [ScheduleOption], _ handler: EventHandler
) -> Function {
    Function(name, options) { options in
        (.schedule((options.retry ?? .never).schedule(schedule, options)), .event(handler))
    }
}
