package import HostJSON

/// What an operator is told of a delivery. Times are RFC 3339.
package struct DeliveryReport: Codable, Hashable, Sendable {
    package var function: String
    /// The event's id.
    package var event: String
    /// `pending`, `waiting`, `running` or `dead`.
    package var state: String
    /// When the event happened.
    package var created: String
    /// Seconds since then.
    package var age: Int
    /// When it is told next, or was to be; of a pending one.
    package var due: String?
    /// When it was given up; of a dead one.
    package var died: String?
    /// Failed tries: all, and those that a handler answered.
    package var tries: Int
    package var executions: Int
    package var firstTry: String?
    package var lastError: String?
    /// The HTTP status that stands for the last error.
    package var lastStatus: Int?
    package var taskName: String?

    package init(
        function: String, event: String, state: String, created: String, age: Int, due: String? = nil,
        died: String? = nil, tries: Int, executions: Int, firstTry: String? = nil, lastError: String? = nil,
        lastStatus: Int? = nil, taskName: String? = nil
    ) {
        self.function = function
        self.event = event
        self.state = state
        self.created = created
        self.age = age
        self.due = due
        self.died = died
        self.tries = tries
        self.executions = executions
        self.firstTry = firstTry
        self.lastError = lastError
        self.lastStatus = lastStatus
        self.taskName = taskName
    }
}

/// A page of deliveries.
package struct DeliveryListing: Codable, Hashable, Sendable {
    package var deliveries: [DeliveryReport]
    /// Where to go on; nil at the end.
    package var next: String?

    package init(deliveries: [DeliveryReport] = [], next: String? = nil) {
        self.deliveries = deliveries
        self.next = next
    }
}

/// One delivery with all that its function is told.
package struct DeliveryDetails: Codable, Hashable, Sendable {
    package var delivery: DeliveryReport
    package var event: EventReport

    package init(delivery: DeliveryReport, event: EventReport) {
        self.delivery = delivery
        self.event = event
    }
}

/// What a page of work by hand came to.
package struct DeliveryChange: Codable, Hashable, Sendable {
    /// Deliveries that were changed, or that would be.
    package var count: Int
    /// Where to go on; nil at the end.
    package var next: String?

    package init(count: Int = 0, next: String? = nil) {
        self.count = count
        self.next = next
    }
}

/// An event as it is shown.
package struct EventReport: Codable, Hashable, Sendable {
    package struct Auth: Codable, Hashable, Sendable {
        package var type: String
        package var id: String?
    }

    package struct Document: Codable, Hashable, Sendable {
        package var path: String
        /// As Firestore's JSON has a document; nil where there is none.
        package var before: JSONTree?
        package var after: JSONTree?
    }

    package struct Schedule: Codable, Hashable, Sendable {
        package var job: String
        package var isManual: Bool
    }

    package struct Task: Codable, Hashable, Sendable {
        package var queue: String
        package var name: String?
        package var headers: [String: String]
        package var scheduleTime: String?
        /// Seconds.
        package var dispatchDeadline: Int?
        package var body: Payload
    }

    package struct Custom: Codable, Hashable, Sendable {
        package var id: String?
        package var type: String
        package var source: String
        package var subject: String?
        package var time: String?
        package var dataContentType: String?
        package var dataSchema: String?
        package var attributes: [String: String]
        package var data: Payload
    }

    /// Bytes: as text where they are one.
    package struct Payload: Codable, Hashable, Sendable {
        package var text: String?
        package var base64: String?
    }

    package var id: String
    package var time: String
    package var auth: Auth
    /// The functions whose handling of events led here, the first one first.
    package var chain: [String]
    // One of these.
    package var document: Document?
    package var schedule: Schedule?
    package var task: Task?
    package var custom: Custom?
}
