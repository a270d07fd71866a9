public import DocumentModel
import FunctionManifest

/// Something that happened to a document.
///
/// - Parameter Payload: the document created or deleted, or the ``Change`` of one updated or written; typed ones are
///   ``Document``, ``TypedChange`` and ``WrittenChange``.
public struct DocumentEvent<Payload: Sendable>: FunctionInput {
    public let data: Payload
    /// What the pattern's wildcards stand for, by name.
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

    public var context: FunctionContext { received.context }

    /// The same over all tries of one event, and unique for the function. Later events have greater ones.
    public var id: String { received.id }
    /// The same as the id.
    public var deliveryID: String { received.id }
    /// When the change was committed.
    public var time: Timestamp { received.event.time }
    /// Which try this is: 1 the first time.
    public var attempt: Int { received.attempt }

    /// The document, relative to its database: `users/ada/orders/o1`.
    public var document: String { reference.path }
    public var reference: DocumentReference { change.reference }

    /// The fields that an update changed, sorted, down to the entries of maps: `address.city`. Nil of a creation and of
    /// a deletion.
    public var updateMask: [FieldPath]? { change.updateMask }

    // MARK: Who

    /// Who made the change.
    public var auth: EventAuth { received.event.auth }
    public var authType: EventAuth.AuthType { auth.type }
    /// The user's id, where a user made the change.
    public var authID: String? { auth.id }

    // MARK: As a CloudEvent

    /// `google.cloud.firestore.document.v1.created` and its kin; with the option ``FunctionOption/withAuthContext()``
    /// it ends in `.withAuthContext`.
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

/// A document before and after a change. Before a creation, and after a deletion, the snapshot doesn't exist.
public struct Change: Sendable {
    public let before: DocumentSnapshot
    public let after: DocumentSnapshot

    public init(before: DocumentSnapshot, after: DocumentSnapshot) {
        self.before = before
        self.after = after
    }
}

/// A document of a type of one's own before and after an update.
public struct TypedChange<Data: Sendable>: Sendable {
    public let before: Document<Data>
    public let after: Document<Data>
}

/// A document of a type of one's own before and after a change: nil before a creation, and after a deletion.
public struct WrittenChange<Data: Sendable>: Sendable {
    public let before: Document<Data>?
    public let after: Document<Data>?
}
