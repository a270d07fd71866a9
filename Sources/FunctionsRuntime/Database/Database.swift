import DocumentModel
import RealtimeModel
public import StrictJSON
import WorkerProtocol

/// A Realtime Database, with admin access: rules don't apply to functions.
///
///     let ref = request.database.reference(withPath: "posts/\(id)")
///     try await ref.child("stars").setValue(ServerValue.increment(1))
///
/// Each call is one commit of its own. In a transaction use ``Transaction/database``: documents and the tree change together
/// or not at all. A change has happened when its call returns; if the call throws `DocumentError` with `unavailable`, it may
/// have. What a path or a value can't be is refused with `invalidArgument` by the call that uses it.
public struct Database: Sendable {
    let transport: any DocumentTransport
    /// The database's name; empty for the project's own.
    let instance: String

    package init(transport: any DocumentTransport, instance: String = "") {
        self.transport = transport
        self.instance = instance
    }

    /// Another database of the project, by its name.
    public func database(_ name: String) -> Database { Database(transport: transport, instance: name) }

    /// The root.
    public func reference() -> DatabaseReference { DatabaseReference(database: self, path: "") }

    /// - Parameter path: keys joined by slashes.
    public func reference(withPath path: String) -> DatabaseReference {
        DatabaseReference(database: self, path: path)
    }

    func send(_ request: DatabaseRequest) async throws(DocumentError) -> DatabaseAnswer {
        let response = try await transport.send(.database(request))
        guard case .database(let answer) = response else { throw .unexpected(response, to: "the database") }
        return answer
    }

    func write(_ request: DatabaseRequest) async throws(DocumentError) {
        guard case .written = try await send(request) else { throw DatabaseAnswer.unexpected }
    }
}

extension DatabaseAnswer {
    static let unexpected = DocumentError(.internal, "the database answered something else than what was asked")
}

extension FunctionContext {
    /// The project's Realtime Database, with admin access.
    public var database: Database { Database(transport: invocation.transport) }
}

extension FunctionInput {
    /// The project's Realtime Database, with admin access.
    public var database: Database { context.database }
}

extension DatabaseEvent {
    /// The database that the event is of.
    public var database: Database { context.database.database(instance) }

    /// The node that has changed.
    public var reference: DatabaseReference { database.reference(withPath: ref) }
}

/// Values that the database computes when it writes them.
public enum ServerValue {
    /// The commit's time in milliseconds since 1970.
    public static func timestamp() -> JSONValue { [".sv": "timestamp"] }

    /// Adds to the number that is there, or sets it if there is none.
    public static func increment(_ delta: Int) -> JSONValue { [".sv": ["increment": .integer(Int64(delta))]] }

    /// Adds to the number that is there, or sets it if there is none.
    public static func increment(_ delta: Double) -> JSONValue { [".sv": ["increment": .double(delta)]] }
}
