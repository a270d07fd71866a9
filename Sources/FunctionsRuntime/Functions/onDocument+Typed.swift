import DocumentModel
import WorkerProtocol

// The same with documents decoded as `Codable` types. If a document doesn't have the type, the attempt fails with the
// document and the field in its error, and the handler doesn't run.

/// Runs when a matching document is created, with the document read decoded as a `Codable` type.
public func onDocumentCreated<T: Decodable & Sendable>(
    _ name: String, document: String, _ options: DocumentOption...,
    handler: @escaping @Sendable (DocumentEvent<Document<T>>) async throws -> Void
) -> Function {
    trigger(.created, name, document, options) { EventHandler($0.reading { try $0.typed($0.after) }, handler) }
}

/// Runs when a matching document is created, with the document read decoded as a `Codable` type; its writes and the
/// event's end are one commit.
public func onDocumentCreated<T: Decodable & Sendable>(
    _ name: String, document: String, _ options: DocumentOption...,
    handler: @escaping @Sendable (DocumentEvent<Document<T>>, Transaction) async throws -> Void
) -> Function {
    trigger(.created, name, document, options) { EventHandler($0.reading { try $0.typed($0.after) }, handler) }
}

/// Runs when a matching document's fields change, with the documents read decoded as a `Codable` type.
public func onDocumentUpdated<T: Decodable & Sendable>(
    _ name: String, document: String, _ options: DocumentOption...,
    handler: @escaping @Sendable (DocumentEvent<Change<Document<T>>>) async throws -> Void
) -> Function {
    trigger(.updated, name, document, options) { EventHandler($0.reading { try $0.typedChange() }, handler) }
}

/// Runs when a matching document's fields change, with the documents read decoded as a `Codable` type; its writes and
/// the event's end are one commit.
public func onDocumentUpdated<T: Decodable & Sendable>(
    _ name: String, document: String, _ options: DocumentOption...,
    handler: @escaping @Sendable (DocumentEvent<Change<Document<T>>>, Transaction) async throws -> Void
) -> Function {
    trigger(.updated, name, document, options) { EventHandler($0.reading { try $0.typedChange() }, handler) }
}

/// Runs when a matching document is deleted, with the document read decoded as a `Codable` type.
public func onDocumentDeleted<T: Decodable & Sendable>(
    _ name: String, document: String, _ options: DocumentOption...,
    handler: @escaping @Sendable (DocumentEvent<Document<T>>) async throws -> Void
) -> Function {
    trigger(.deleted, name, document, options) { EventHandler($0.reading { try $0.typed($0.before) }, handler) }
}

/// Runs when a matching document is deleted, with the document read decoded as a `Codable` type; its writes and the
/// event's end are one commit.
public func onDocumentDeleted<T: Decodable & Sendable>(
    _ name: String, document: String, _ options: DocumentOption...,
    handler: @escaping @Sendable (DocumentEvent<Document<T>>, Transaction) async throws -> Void
) -> Function {
    trigger(.deleted, name, document, options) { EventHandler($0.reading { try $0.typed($0.before) }, handler) }
}

/// Runs when a matching document is created, updated or deleted, with the documents read decoded as a `Codable` type.
public func onDocumentWritten<T: Decodable & Sendable>(
    _ name: String, document: String, _ options: DocumentOption...,
    handler: @escaping @Sendable (DocumentEvent<Change<Document<T>?>>) async throws -> Void
) -> Function {
    trigger(.written, name, document, options) { EventHandler($0.reading { try $0.writtenChange() }, handler) }
}

/// Runs when a matching document is created, updated or deleted, with the documents read decoded as a `Codable` type;
/// its writes and the event's end are one commit.
public func onDocumentWritten<T: Decodable & Sendable>(
    _ name: String, document: String, _ options: DocumentOption...,
    handler: @escaping @Sendable (DocumentEvent<Change<Document<T>?>>, Transaction) async throws -> Void
) -> Function {
    trigger(.written, name, document, options) { EventHandler($0.reading { try $0.writtenChange() }, handler) }
}
