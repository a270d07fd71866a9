package import FunctionManifest

/// A function that a schedule starts.
package struct ScheduledJob: Sendable {
    package let name: String
    /// The schedule and its zone as the author wrote them.
    package let text: String
    package let zone: String
    package let schedule: Schedule
    package let clock: ZoneClock
    package let missedRuns: MissedRunsManifest
    /// Whether a run may begin while the one before goes on.
    package let overlaps: Bool

    /// - Returns: nil for a function that no schedule starts.
    /// - Throws: what is wrong with the schedule.
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

    /// Whether the next run is known only once the one before has ended.
    package var countsFromEnd: Bool { schedule.pause != nil && !overlaps }
}
