/// A scheduled job as operators see it. Times are RFC 3339 in the job's time zone.
package struct ScheduleReport: Codable, Hashable, Sendable {
    package struct Run: Codable, Hashable, Sendable {
        /// The scheduled time, and when its delivery was created.
        package var due: String
        package var made: String
        package var isManual: Bool
        /// `succeeded`, `failed` or `dead`; nil if the run goes on or its outcome is unknown.
        package var outcome: String?
        package var ended: String?

        package init(due: String, made: String, isManual: Bool, outcome: String? = nil, ended: String? = nil) {
            self.due = due
            self.made = made
            self.isManual = isManual
            self.outcome = outcome
            self.ended = ended
        }
    }

    package struct OpenRun: Codable, Hashable, Sendable {
        /// The delivery's event.
        package var id: String
        package var made: String
        /// The number of failed attempts.
        package var tries: Int
        /// When the next attempt is or was due.
        package var due: String?
        package var lastError: String?

        package init(id: String, made: String, tries: Int, due: String? = nil, lastError: String? = nil) {
            self.id = id
            self.made = made
            self.tries = tries
            self.due = due
            self.lastError = lastError
        }
    }

    package var name: String
    package var schedule: String
    package var timeZone: String
    /// The next runs. An interval that counts from the end of the previous run has only one, and none during a run.
    package var next: [String]
    /// The due time of a run that a pause or the previous run holds back; nil if there is none.
    package var heldSince: String?
    package var lastRun: Run?
    package var openRun: OpenRun?
    package var isPaused: Bool
    /// `once`, `skip`, or `all:` with the limit.
    package var missedRuns: String
    package var overlaps: Bool
    /// Why no run of it is created: its deliveries can't be read.
    package var problem: String?

    package init(
        name: String, schedule: String, timeZone: String, next: [String], heldSince: String? = nil, lastRun: Run? = nil,
        openRun: OpenRun? = nil, isPaused: Bool, missedRuns: String, overlaps: Bool,
        problem: String? = nil
    ) {
        self.name = name
        self.schedule = schedule
        self.timeZone = timeZone
        self.next = next
        self.heldSince = heldSince
        self.lastRun = lastRun
        self.openRun = openRun
        self.isPaused = isPaused
        self.missedRuns = missedRuns
        self.overlaps = overlaps
        self.problem = problem
    }
}

/// The result of `schedules list`.
package struct ScheduleListing: Codable, Hashable, Sendable {
    package var schedules: [ScheduleReport]

    package init(schedules: [ScheduleReport]) {
        self.schedules = schedules
    }
}

/// The result of `schedules run`.
package struct ManualRunReport: Codable, Hashable, Sendable {
    package var name: String
    /// The delivery's event.
    package var id: String
    /// `succeeded`, `failed` or `dead`; nil if the command didn't wait for the run.
    package var outcome: String?
    package var error: String?

    package init(name: String, id: String, outcome: String? = nil, error: String? = nil) {
        self.name = name
        self.id = id
        self.outcome = outcome
        self.error = error
    }
}
