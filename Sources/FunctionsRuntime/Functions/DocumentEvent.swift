public import DocumentModel
import FunctionManifest

/// A change of a document.
///
/// - Parameter Payload: The created or deleted document, or the ``Change`` of an updated or written one.
public struct DocumentEvent<Payload: Sendable>: FunctionInput {
    public let data: Payload
    /// The text that the pattern's wildcards match, by name.
    public let params: [String: String]
    private let change: ChangedDocument
    private let received: ReceivedEvent
    private let trigger: DocumentTrigger

    init(
        data: Payload, params: [String: String], change: ChangedDocument, received: ReceivedEvent,
        trigger: DocumentTrigger
    ) {
        self.data = data
        self.params = params
        self.change = change
        self.received = received
        self.trigger = trigger
    }

    /// The text that a wildcard of the pattern matches: `try event.parameter("userID")`.
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

    /// The document's path relative to the database: `users/ada/orders/o1`.
    public var document: String { reference.path }
    public var reference: DocumentReference { change.reference }

    /// The fields that an update changed, sorted, down to the entries of maps: `address.city`. Nil for a creation or a
    /// deletion.
    public var updateMask: [FieldPath]? { change.updateMask }

    // MARK: Who

    /// Who made the change.
    public var auth: EventAuth { received.event.auth }
    public var authType: EventAuth.AuthType { auth.type }
    /// The user's id, if a user made the change.
    public var authID: String? { auth.id }

    // MARK: As a CloudEvent

    /// `google.cloud.firestore.document.v1.created` and so on. With the option ``FunctionOption/withAuthContext()`` it
    /// ends in `.withAuthContext`.
    public var type: String { trigger.manifest.cloudEventType }
    /// `//firestore.googleapis.com/projects/P/databases/(default)`
    public var source: String { "//firestore.googleapis.com/" + databaseID.resourceName }
    /// `documents/users/ada`
    public var subject: String { "documents/" + document }
    public var project: String { databaseID.project }
    /// The function's region.
    public var location: String { trigger.region }
    public var database: String { databaseID.database }
    public var namespace: String { "(default)" }

    private var databaseID: DatabaseID { firestore.transport.database }
}

/// A document before and after a change.
///
/// - Parameter State: ``DocumentSnapshot``, which says whether the document exists; ``Document`` for an update; or an
///   optional `Document`, which is nil before a creation and after a deletion.
public struct Change<State: Sendable>: Sendable {
    public let before: State
    public let after: State

    public init(before: State, after: State) {
        self.before = before
        self.after = after
    }
}

extension Change: Equatable where State: Equatable {}
extension Change: Hashable where State: Hashable {}
