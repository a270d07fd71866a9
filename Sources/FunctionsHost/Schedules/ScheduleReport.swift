/// What an operator is told of a job. Times are RFC 3339 in the job's zone.
package struct ScheduleReport: Codable, Hashable, Sendable {
    package struct Run: Codable, Hashable, Sendable {
        /// The time it was for, and when its delivery was made.
        package var due: String
        package var made: String
        package var isManual: Bool
        /// `succeeded`, `failed` or `dead`; nil where it goes on, or isn't known.
        package var outcome: String?
        package var ended: String?
    }

    package struct OpenRun: Codable, Hashable, Sendable {
        /// The delivery's event.
        package var id: String
        package var made: String
        /// Failed tries.
        package var tries: Int
        /// When it is tried next, or was.
        package var due: String?
        package var lastError: String?
    }

    package var name: String
    package var schedule: String
    package var timeZone: String
    /// The next runs. Of an interval that counts from the end of the run before only the first one is known, and none
    /// while that goes on.
    package var next: [String]
    /// Since when a run is due that may not begin yet.
    package var heldSince: String?
    package var lastRun: Run?
    package var openRun: OpenRun?
    package var isPaused: Bool
    /// `once`, `skip`, or `all:` with their bound.
    package var missedRuns: String
    package var overlaps: Bool
}

/// What `schedules list` is answered.
package struct ScheduleListing: Codable, Hashable, Sendable {
    package var schedules: [ScheduleReport]
}

/// What `schedules run` is answered.
package struct ManualRunReport: Codable, Hashable, Sendable {
    package var name: String
    /// The delivery's event.
    package var id: String
    /// `succeeded`, `failed` or `dead`; nil where nobody waited for it.
    package var outcome: String?
    package var error: String?
}
