import DocumentModel

// The same with values decoded as `Codable` types. If a value doesn't have the type, the attempt fails with the place in its
// error, and the handler doesn't run.

/// Runs when a matching node is created, with the value decoded as a `Codable` type.
public func onValueCreated<T: Decodable & Sendable>(
    _ name: String, reference: String, _ options: ReferenceOption...,
    handler: @escaping @Sendable (DatabaseEvent<T>) async throws -> Void
) -> Function {
    trigger(.created, name, reference, options) { EventHandler($0.reading { try $0.after.data() }, handler) }
}

/// Runs when a matching node is created, with the value decoded as a `Codable` type; the handler's writes and the event's end are
/// one commit.
public func onValueCreated<T: Decodable & Sendable>(
    _ name: String, reference: String, _ options: ReferenceOption...,
    handler: @escaping @Sendable (DatabaseEvent<T>, Transaction) async throws -> Void
) -> Function {
    trigger(.created, name, reference, options) { EventHandler($0.reading { try $0.after.data() }, handler) }
}

/// Runs when a matching node's value changes, with the value decoded as a `Codable` type.
public func onValueUpdated<T: Decodable & Sendable>(
    _ name: String, reference: String, _ options: ReferenceOption...,
    handler: @escaping @Sendable (DatabaseEvent<Change<T>>) async throws -> Void
) -> Function {
    trigger(.updated, name, reference, options) { EventHandler($0.reading { try $0.typed() }, handler) }
}

/// Runs when a matching node's value changes, with the value decoded as a `Codable` type; the handler's writes and the event's end are
/// one commit.
public func onValueUpdated<T: Decodable & Sendable>(
    _ name: String, reference: String, _ options: ReferenceOption...,
    handler: @escaping @Sendable (DatabaseEvent<Change<T>>, Transaction) async throws -> Void
) -> Function {
    trigger(.updated, name, reference, options) { EventHandler($0.reading { try $0.typed() }, handler) }
}

/// Runs when a matching node is deleted, with the value decoded as a `Codable` type.
public func onValueDeleted<T: Decodable & Sendable>(
    _ name: String, reference: String, _ options: ReferenceOption...,
    handler: @escaping @Sendable (DatabaseEvent<T>) async throws -> Void
) -> Function {
    trigger(.deleted, name, reference, options) { EventHandler($0.reading { try $0.before.data() }, handler) }
}

/// Runs when a matching node is deleted, with the value decoded as a `Codable` type; the handler's writes and the event's end are
/// one commit.
public func onValueDeleted<T: Decodable & Sendable>(
    _ name: String, reference: String, _ options: ReferenceOption...,
    handler: @escaping @Sendable (DatabaseEvent<T>, Transaction) async throws -> Void
) -> Function {
    trigger(.deleted, name, reference, options) { EventHandler($0.reading { try $0.before.data() }, handler) }
}

/// Runs when a matching node is created, updated or deleted, with the value decoded as a `Codable` type.
public func onValueWritten<T: Decodable & Sendable>(
    _ name: String, reference: String, _ options: ReferenceOption...,
    handler: @escaping @Sendable (DatabaseEvent<Change<T?>>) async throws -> Void
) -> Function {
    trigger(.written, name, reference, options) { EventHandler($0.reading { try $0.typed() }, handler) }
}

/// Runs when a matching node is created, updated or deleted, with the value decoded as a `Codable` type; the handler's writes and the event's end are
/// one commit.
public func onValueWritten<T: Decodable & Sendable>(
    _ name: String, reference: String, _ options: ReferenceOption...,
    handler: @escaping @Sendable (DatabaseEvent<Change<T?>>, Transaction) async throws -> Void
) -> Function {
    trigger(.written, name, reference, options) { EventHandler($0.reading { try $0.typed() }, handler) }
}
