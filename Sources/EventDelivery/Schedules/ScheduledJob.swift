package import FunctionManifest

/// A function with a schedule trigger.
package struct ScheduledJob: Sendable {
    package let name: String
    /// The schedule and time zone as the author wrote them.
    package let text: String
    package let zone: String
    package let schedule: Schedule
    package let clock: ZoneClock
    package let missedRuns: MissedRunsManifest
    /// Whether a run may start while the previous one is in progress.
    package let overlaps: Bool

    /// - Returns: Nil for a function without a schedule.
    /// - Throws: The error of an invalid schedule.
    package init?(_ function: FunctionManifest) throws(ScheduleError) {
        guard case .schedule(let trigger) = function.trigger else { return nil }
        name = function.name
        text = trigger.schedule
        zone = trigger.timeZone
        schedule = try Schedule(trigger.schedule)
        clock = try ZoneClock(zone: trigger.timeZone)
        missedRuns = trigger.missedRuns
        overlaps = trigger.overlaps
    }

    /// Whether the next run is known only once the previous one has ended.
    package var countsFromEnd: Bool { schedule.pause != nil && !overlaps }
}
