import DocumentModel
import FunctionManifest

/// Runs when a document that matches the pattern is created.
///
///     onDocumentCreated("recordSale", document: "users/{userID}/orders/{orderID}") { event in … }
///
/// - Parameters:
///   - name: matches `^[a-zA-Z][a-zA-Z0-9_-]{0,62}$`.
///   - options: What differs from the bundle's defaults.
///   - document: A path in which `{x}` matches one segment and `{x=**}` any number of segments.
///   - handler: Runs at least once for every matching change. If it throws, the attempt has failed; see
///     ``FunctionOption/retry(_:)``.
public func onDocumentCreated(
    _ name: String, document: String, _ options: DocumentOption...,
    handler: @escaping @Sendable (DocumentEvent<DocumentSnapshot>) async throws -> Void
) -> Function {
    trigger(.created, name, document, options) { EventHandler($0.reading { $0.snapshotAfter }, handler) }
}

/// Runs when a matching document is created; its writes and the event's end are one commit.
public func onDocumentCreated(
    _ name: String, document: String, _ options: DocumentOption...,
    handler: @escaping @Sendable (DocumentEvent<DocumentSnapshot>, Transaction) async throws -> Void
) -> Function {
    trigger(.created, name, document, options) { EventHandler($0.reading { $0.snapshotAfter }, handler) }
}

/// Runs when a matching document's fields change.
public func onDocumentUpdated(
    _ name: String, document: String, _ options: DocumentOption...,
    handler: @escaping @Sendable (DocumentEvent<Change<DocumentSnapshot>>) async throws -> Void
) -> Function {
    trigger(.updated, name, document, options) { EventHandler($0.reading { $0.change }, handler) }
}

/// Runs when a matching document's fields change; its writes and the event's end are one commit.
public func onDocumentUpdated(
    _ name: String, document: String, _ options: DocumentOption...,
    handler: @escaping @Sendable (DocumentEvent<Change<DocumentSnapshot>>, Transaction) async throws -> Void
) -> Function {
    trigger(.updated, name, document, options) { EventHandler($0.reading { $0.change }, handler) }
}

/// Runs when a matching document is deleted.
public func onDocumentDeleted(
    _ name: String, document: String, _ options: DocumentOption...,
    handler: @escaping @Sendable (DocumentEvent<DocumentSnapshot>) async throws -> Void
) -> Function {
    trigger(.deleted, name, document, options) { EventHandler($0.reading { $0.snapshotBefore }, handler) }
}

/// Runs when a matching document is deleted; its writes and the event's end are one commit.
public func onDocumentDeleted(
    _ name: String, document: String, _ options: DocumentOption...,
    handler: @escaping @Sendable (DocumentEvent<DocumentSnapshot>, Transaction) async throws -> Void
) -> Function {
    trigger(.deleted, name, document, options) { EventHandler($0.reading { $0.snapshotBefore }, handler) }
}

/// Runs when a matching document is created, updated or deleted.
public func onDocumentWritten(
    _ name: String, document: String, _ options: DocumentOption...,
    handler: @escaping @Sendable (DocumentEvent<Change<DocumentSnapshot>>) async throws -> Void
) -> Function {
    trigger(.written, name, document, options) { EventHandler($0.reading { $0.change }, handler) }
}

/// Runs when a matching document is created, updated or deleted; its writes and the event's end are one commit.
public func onDocumentWritten(
    _ name: String, document: String, _ options: DocumentOption...,
    handler: @escaping @Sendable (DocumentEvent<Change<DocumentSnapshot>>, Transaction) async throws -> Void
) -> Function {
    trigger(.written, name, document, options) { EventHandler($0.reading { $0.change }, handler) }
}

func trigger(
    _ type: ChangeEventType, _ name: String, _ document: String, _ options: [DocumentOption],
    _ handler: @escaping @Sendable (DocumentTrigger) -> EventHandler
) -> Function {
    Function(name, options) { options in
        let trigger = DocumentTrigger(type, document, options)
        return (.document(trigger.manifest), .event(handler(trigger)))
    }
}
