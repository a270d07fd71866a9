package import StrictJSON

/// A delivery as operators see it. Times are RFC 3339.
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
    /// When the next attempt is or was due, if the delivery is pending.
    package var due: String?
    /// When it was dead-lettered.
    package var died: String?
    /// The number of failed attempts, and of those that reached a handler.
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
    /// The cursor of the next page; nil on the last one.
    package var next: String?

    package init(deliveries: [DeliveryReport] = [], next: String? = nil) {
        self.deliveries = deliveries
        self.next = next
    }
}

/// A delivery with its event.
package struct DeliveryDetails: Codable, Hashable, Sendable {
    package var delivery: DeliveryReport
    package var event: EventReport

    package init(delivery: DeliveryReport, event: EventReport) {
        self.delivery = delivery
        self.event = event
    }
}

/// The result of one page of a manual retry or drop.
package struct DeliveryChange: Codable, Hashable, Sendable {
    /// The number of deliveries that were changed, or would be.
    package var count: Int
    /// The cursor of the next page; nil on the last one.
    package var next: String?

    package init(count: Int = 0, next: String? = nil) {
        self.count = count
        self.next = next
    }
}

/// An event as operators see it.
package struct EventReport: Codable, Hashable, Sendable {
    package struct Auth: Codable, Hashable, Sendable {
        package var type: String
        package var id: String?
    }

    package struct Document: Codable, Hashable, Sendable {
        package var path: String
        /// The document in Firestore's JSON; nil if it didn't exist.
        package var before: JSONValue?
        package var after: JSONValue?
    }

    /// A node of the Realtime Database.
    package struct Reference: Codable, Hashable, Sendable {
        package struct Setting: Codable, Hashable, Sendable {
            /// From the node.
            package var path: String
            /// JSON; nil if it was removed.
            package var value: Payload?
        }

        package var instance: String
        package var path: String
        /// JSON; nil if it didn't exist.
        package var before: Payload?
        /// What was set at or below the node, in order.
        package var changes: [Setting]
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

    /// Bytes, as text if they are valid UTF-8.
    package struct Payload: Codable, Hashable, Sendable {
        package var text: String?
        package var base64: String?
    }

    package var id: String
    package var time: String
    package var auth: Auth
    /// The functions whose event handling led to this event, in order.
    package var chain: [String]
    // Exactly one of these is set.
    package var document: Document?
    package var reference: Reference?
    package var schedule: Schedule?
    package var task: Task?
    package var custom: Custom?
}
