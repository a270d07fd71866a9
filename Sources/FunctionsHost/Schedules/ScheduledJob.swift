import WorkerProtocol

/// A function that a schedule starts.
struct ScheduledJob: Sendable {
    let name: String
    /// The schedule and its zone as the author wrote them.
    let text: String
    let zone: String
    let schedule: Schedule
    let clock: ZoneClock
    let missedRuns: MissedRunsManifest
    /// Whether a run may begin while the one before goes on.
    let overlaps: Bool

    /// - Returns: nil for a function that no schedule starts.
    /// - Throws: what is wrong with the schedule.
    init?(_ function: FunctionManifest) throws(ScheduleError) {
        guard case .schedule(let trigger) = function.trigger else { return nil }
        name = function.name
        text = trigger.schedule
        zone = trigger.timeZone
        schedule = try Schedule(trigger.schedule)
        clock = try ZoneClock(zone: trigger.timeZone)
        missedRuns = trigger.missedRuns
        overlaps = trigger.overlaps
    }

    /// Whether the next run is known only once the one before has ended.
    var countsFromEnd: Bool { schedule.pause != nil && !overlaps }
}
