public import DocumentModel
import FunctionManifest

/// A change of a node of the Realtime Database.
///
/// - Parameter Payload: The created or deleted node's ``DataSnapshot``, or the ``Change`` of an updated or written one.
public struct DatabaseEvent<Payload: Sendable>: FunctionInput {
    public let data: Payload
    /// The keys that the pattern's wildcards match, by name.
    public let params: [String: String]
    /// The node's path: `rooms/lobby/messages/m1`.
    public let ref: String
    /// The database's name.
    public let instance: String
    private let received: ReceivedEvent
    private let trigger: ReferenceTrigger

    init(
        data: Payload, params: [String: String], ref: String, instance: String, received: ReceivedEvent,
        trigger: ReferenceTrigger
    ) {
        self.data = data
        self.params = params
        self.ref = ref
        self.instance = instance
        self.received = received
        self.trigger = trigger
    }

    /// The key that a wildcard of the pattern matches: `try event.parameter("room")`.
    ///
    /// - Throws: If the pattern has no such wildcard: the event is a dead letter, whose error names the pattern's.
    public func parameter(_ name: String) throws -> String { try params.parameter(name) }

    public var context: FunctionContext { received.context }

    /// The same for all attempts of one event, and unique for the function. Later events have greater ones.
    public var id: String { received.id }
    /// The same as the id.
    public var deliveryID: String { received.id }
    /// When the change was committed.
    public var time: Timestamp { received.event.time }
    /// The number of this attempt, starting with 1.
    public var attempt: Int { received.attempt }

    // MARK: Who

    /// Who made the change: `appUser`, `admin`, `unauthenticated` or `unknown`.
    public var auth: EventAuth {
        switch received.event.auth.type {
        case .serviceAccount, .apiKey, .system: EventAuth(.admin)
        case .admin, .unauthenticated, .unknown, .appUser: received.event.auth
        }
    }
    public var authType: EventAuth.AuthType { auth.type }
    /// The user's id, if a user made the change.
    public var authID: String? { auth.id }

    // MARK: As a CloudEvent

    /// `google.firebase.database.ref.v1.created` and so on.
    public var type: String { trigger.manifest.cloudEventType }
    /// `//firebasedatabase.googleapis.com/projects/_/locations/us-central1/instances/NAME`
    public var source: String {
        "//firebasedatabase.googleapis.com/projects/_/locations/\(location)/instances/\(instance)"
    }
    /// `refs/rooms/lobby/messages/m1`
    public var subject: String { "refs/" + ref }
    /// The function's region.
    public var location: String { trigger.region }
    /// The domain below which Firebase has the region's databases: `firebaseio.com` for us-central1, otherwise such as
    /// `europe-west1.firebasedatabase.app`. This host isn't there: the event's `database` is.
    public var firebaseDatabaseHost: String {
        location == "us-central1" ? "firebaseio.com" : "\(location).firebasedatabase.app"
    }
}

extension [String: String] {
    /// The text that a wildcard of a trigger's pattern matches.
    func parameter(_ name: String) throws -> String {
        guard let text = self[name] else {
            throw PermanentFailure(
                "there is no parameter \"\(name)\": the pattern has \(keys.sorted().joined(separator: ", "))")
        }
        return text
    }
}
