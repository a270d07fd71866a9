public import DocumentModel

/// A user who was created or deleted, as a function receives it.
public struct UserEvent: FunctionInput {
    /// The user as created, or as it was before its deletion.
    public let data: UserRecord
    private let event: CustomEvent<UserRecord>

    init(_ received: ReceivedEvent) throws {
        event = try CustomEvent(received) { event, firestore in
            try event.json(as: UserRecord.self, firestore: firestore)
        }
        data = event.data
    }

    /// `google.firebase.auth.user.v1.created`
    package static let created = "google.firebase.auth.user.v1.created"
    /// `google.firebase.auth.user.v1.deleted`
    package static let deleted = "google.firebase.auth.user.v1.deleted"

    public var context: FunctionContext { event.context }

    /// The same for all attempts, and unique for the function. Later events have greater ids.
    public var id: String { event.deliveryID }
    /// The same as the id.
    public var deliveryID: String { id }
    /// When the user was created or deleted.
    public var time: Timestamp { event.time }
    /// `google.firebase.auth.user.v1.created`, or `….deleted`.
    public var type: String { event.type }
    /// `//firebaseauth.googleapis.com/projects/P`
    public var source: String { event.source }
    /// Who did it: `api_key` for a client that signed up, `service_account` for server code and functions.
    public var auth: EventAuth { event.auth }
    /// The number of this attempt, starting with 1.
    public var attempt: Int { event.attempt }
}
