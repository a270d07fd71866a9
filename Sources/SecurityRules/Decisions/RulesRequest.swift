package import DocumentModel

/// What a client wants to do, as rules see it.
package struct RulesRequest: Sendable {
    /// One of them.
    package var method: RulesMethods
    package var database: String
    /// The segments of the document's path, or for a list of the collection's.
    package var path: [String]
    /// `request.auth`: null without a user.
    package var auth: RuleValue
    package var time: Timestamp
    /// The document before; nil if there is none. For a list the one that is decided on, nil for all that the query could
    /// return.
    package var resource: Document?
    /// The document as a write would leave it.
    package var written: Document?
    /// For a list.
    package var query: Query?

    package init(
        _ method: RulesMethods, database: String, path: [String], auth: RuleValue, time: Timestamp,
        resource: Document? = nil, written: Document? = nil, query: Query? = nil
    ) {
        self.method = method
        self.database = database
        self.path = path
        self.auth = auth
        self.time = time
        self.resource = resource
        self.written = written
        self.query = query
    }

    init(_ access: Access, auth: RuleValue, in database: String, at time: Timestamp) {
        func make(_ method: RulesMethods, _ path: [Substring], _ old: Document? = nil, _ new: Document? = nil) -> Self {
            Self(
                method, database: database, path: path.map(String.init), auth: auth, time: time, resource: old,
                written: new)
        }
        func list(_ query: Query, _ document: Document? = nil) -> Self {
            var request = make(.list, (query.parent?.segments ?? []) + [Substring(query.collectionID)], document)
            request.query = query
            return request
        }
        switch access {
        case .get(let path, let document): self = make(.get, path.segments, document)
        case .create(let document, let old): self = make(.create, document.path.segments, old, document)
        case .update(let old, let new): self = make(.update, new.path.segments, old, new)
        case .delete(let path, let document): self = make(.delete, path.segments, document)
        case .list(let query): self = list(query)
        case .listed(let document, let query): self = list(query, document)
        }
    }

    /// `request.auth` of a signed-in user.
    package static func auth(_ client: ClientIdentity?) -> RuleValue {
        guard let client else { return .null }
        var claims = client.claims
        if claims["sub"] == nil { claims["sub"] = .string(client.uid) }
        return .map(["uid": .string(client.uid), "token": .storedMap(claims)])
    }

    /// Segments from the root on: `databases`, the database, `documents`, and the path.
    var fullPath: [String] { ["databases", database, "documents"] + path }

    /// A document as `resource` and the result of `get`.
    static func resource(_ document: Document, in database: String) -> RuleValue {
        .map([
            "data": .storedMap(document.fields), "id": .string(document.path.id),
            "__name__": .path(RuleValue.path(of: document.path, in: database)),
        ])
    }

    var methodName: String {
        switch method {
        case .get: "get"
        case .list: "list"
        case .create: "create"
        case .update: "update"
        default: "delete"
        }
    }
}

/// What rules read besides the request's own document.
package struct RulesDocuments {
    /// A document before and after the request's writes; nil if it doesn't exist.
    let before: (DocumentPath) throws -> Document?
    let after: (DocumentPath) throws -> Document?
    /// A document that a query names.
    let named: (DocumentPath) throws -> Document?
    /// Whether the request writes a document: reading that isn't counted.
    let isWritten: (DocumentPath) -> Bool

    /// - Parameter named: reads a document that a query names; nil for `before`.
    package init(
        before: @escaping (DocumentPath) throws -> Document?, after: @escaping (DocumentPath) throws -> Document?,
        named: ((DocumentPath) throws -> Document?)? = nil,
        isWritten: @escaping (DocumentPath) -> Bool = { _ in false }
    ) {
        self.before = before
        self.after = after
        self.named = named ?? before
        self.isWritten = isWritten
    }
}
