import DocumentModel
import RealtimeModel
public import StrictJSON
package import WorkerProtocol

/// A place in a Realtime Database.
public struct DatabaseReference: Sendable, DatabaseQueryable {
    public let database: Database
    /// Keys joined by slashes, without one at either end; empty for the root.
    public let path: String

    init(database: Database, path: String) {
        self.database = database
        self.path = Self.keys(of: path).joined(separator: "/")
    }

    /// The last key; nil for the root.
    public var key: String? { Self.keys(of: path).last.map(String.init) }

    /// Nil for the root.
    public var parent: DatabaseReference? {
        guard !path.isEmpty else { return nil }
        return DatabaseReference(database: database, path: Self.keys(of: path).dropLast().joined(separator: "/"))
    }

    /// As the database splits them, by bytes: a key may begin with a mark, which makes one character with the slash.
    private static func keys(of path: String) -> [Substring] {
        path.utf8.split(separator: UInt8(ascii: "/")).map { Substring($0) }
    }

    public var root: DatabaseReference { DatabaseReference(database: database, path: "") }

    /// - Parameter path: one key, or several joined by slashes; the place itself if it is empty. Check that a text of a
    ///   client is one key.
    public func child(_ path: String) -> DatabaseReference {
        DatabaseReference(database: database, path: self.path + "/" + path)
    }

    /// A new child, whose key sorts after those that were made earlier. Nothing is written.
    public func childByAutoId() -> DatabaseReference { child(AutoID.next(at: database.transport.now)) }

    /// All that exists at the reference, as a query.
    public var query: DatabaseQuery { DatabaseQuery(self, RealtimeQuery()) }

    // MARK: Writing

    /// Replaces what exists; nil and `.null` remove it.
    ///
    ///     try await ref.setValue(["name": "Ada", "joined": ServerValue.timestamp()])
    ///
    /// Numbers are doubles, and integers within Int64's range stay exact. A larger integer that isn't a double is
    /// refused: it would be rounded.
    public func setValue(_ value: JSONValue?) async throws(DocumentError) {
        try await database.write(try set(value))
    }

    /// Replaces what exists by an object of values of different types:
    ///
    ///     try await ref.setValue(["author": uid, "text": text, "sent": ServerValue.timestamp()])
    ///
    /// - Parameter members: Values that can be encoded, nil, and arrays and dictionaries of these.
    /// - Throws: `invalidArgument` also for a value that can't be encoded.
    @_disfavoredOverload
    public func setValue(_ members: KeyValuePairs<String, Any?>) async throws(DocumentError) {
        try await database.write(try set(try Self.object(members)))
    }

    /// Replaces what exists by a value of any type that can be encoded: `try await ref.setValue(count + 1)`.
    ///
    /// - Throws: `invalidArgument` also for a value that can't be encoded.
    @_disfavoredOverload
    public func setValue(_ value: some Encodable) async throws(DocumentError) {
        try await database.write(try set(encoding: value))
    }

    /// Replaces what exists, with a priority: a number or a string.
    public func setValue(_ value: JSONValue?, andPriority priority: JSONValue?) async throws(DocumentError) {
        try await database.write(try set(value.map { $0.withPriority(priority) }))
    }

    /// Replaces what exists by an `Encodable` value.
    ///
    /// - Throws: `EncodingError`, or `DocumentError` if the value is refused.
    public func setValue(from value: some Encodable) async throws {
        try await database.write(try DatabaseRequest(.set, value: try Self.json(of: value), at: self))
    }

    /// Changes some children, and leaves the others. Keys may be paths of several keys; all are changed, or none.
    ///
    ///     try await database.reference().updateChildValues(["posts/\(id)": post, "user-posts/\(uid)/\(id)": post])
    public func updateChildValues(_ values: [String: JSONValue?]) async throws(DocumentError) {
        try await database.write(try update(values))
    }

    /// Changes some children to values of different types, which can be encoded. Nil removes a child.
    ///
    /// - Throws: `invalidArgument` also for a value that can't be encoded.
    @_disfavoredOverload
    public func updateChildValues(_ values: KeyValuePairs<String, Any?>) async throws(DocumentError) {
        try await database.write(try update(mixed: values))
    }

    public func removeValue() async throws(DocumentError) { try await setValue(nil) }

    /// Changes the priority alone: a number or a string; nil removes it. Nothing happens if nothing exists.
    public func setPriority(_ priority: JSONValue?) async throws(DocumentError) {
        try await database.write(try self.priority(priority))
    }

    // MARK: Requests

    package func set(_ value: JSONValue?) throws(DocumentError) -> DatabaseRequest {
        try DatabaseRequest(.set, value: try Self.json(value), at: self)
    }

    package func update(_ values: [String: JSONValue?]) throws(DocumentError) -> DatabaseRequest {
        let members = values.sorted { $0.key < $1.key }.map { ($0.key, $0.value ?? .null) }
        return try DatabaseRequest(.update, value: try Self.json(.object(JSONObject(members))), at: self)
    }

    func set(encoding value: some Encodable) throws(DocumentError) -> DatabaseRequest {
        try DatabaseRequest(.set, value: try Self.encoded { try Self.json(of: value) }, at: self)
    }

    func update(mixed values: KeyValuePairs<String, Any?>) throws(DocumentError) -> DatabaseRequest {
        try DatabaseRequest(.update, value: try Self.json(try Self.object(values)), at: self)
    }

    /// Values of different types as JSON.
    static func object(_ members: KeyValuePairs<String, Any?>) throws(DocumentError) -> JSONValue {
        try encoded { try MixedJSON.object(members, isRealtime: true) }
    }

    private static func encoded<Result>(_ encode: () throws -> Result) throws(DocumentError) -> Result {
        do {
            return try encode()
        } catch let error as EncodingError {
            throw .invalidArgument(error.explanation)
        } catch {
            throw .invalidArgument("\(error)")
        }
    }

    func priority(_ priority: JSONValue?) throws(DocumentError) -> DatabaseRequest {
        var request = try DatabaseRequest(.set, value: try Self.json(priority), at: self)
        request.target = path.isEmpty ? Self.priorityKey : "\(path)/\(Self.priorityKey)"
        return request
    }

    /// What stands for the priority in a request's target.
    fileprivate static let priorityKey = ".priority"

    static func json(_ value: JSONValue?) throws(DocumentError) -> [UInt8] {
        let value = value ?? .null
        do throws(JSONError) {
            try value.requireExactIntegers()
            return try value.serialized()
        } catch {
            throw .invalidArgument("\(error)")
        }
    }

    static func json(of value: some Encodable) throws -> [UInt8] {
        try CallableEncoder(root: "value", wrapsIntegers: false, isRealtime: true).encode(value)
    }
}

extension DatabaseReference: Equatable {
    public static func == (a: DatabaseReference, b: DatabaseReference) -> Bool {
        a.path.utf8.elementsEqual(b.path.utf8) && a.database.instance.utf8.elementsEqual(b.database.instance.utf8)
    }
}

extension DatabaseReference: CustomStringConvertible {
    public var description: String { "/" + path }
}

extension DatabaseRequest {
    /// - Throws: `invalidArgument` for a reference to `.priority`, which isn't a child: a client may have sent it as a key.
    init(
        _ operation: Operation, value: [UInt8], at reference: DatabaseReference, ifHash hash: String? = nil
    ) throws(DocumentError) {
        guard reference.key != DatabaseReference.priorityKey else {
            throw .invalidArgument("\(reference.path) isn't a place of values; set a priority with setPriority")
        }
        self.init(
            operation, instance: reference.database.instance, target: reference.path, value: value, ifHash: hash)
    }
}

extension JSONValue {
    /// - Throws: `JSONError`, with the path from here, if the database would store another number: its numbers are
    ///   doubles, but for integers within Int64's range.
    func requireExactIntegers() throws(JSONError) {
        switch self {
        case .unsigned(let integer):
            guard RealtimeNumber(exactly: integer) != nil else {
                throw JSONError(
                    .unrepresentable(
                        "the database would round \(integer), which is beyond Int64's range; store it as a string"))
            }
        case .array(let elements):
            for (index, element) in elements.enumerated() {
                do throws(JSONError) { try element.requireExactIntegers() } catch { throw error.inside(.index(index)) }
            }
        case .object(let members):
            for (key, member) in members {
                do throws(JSONError) { try member.requireExactIntegers() } catch { throw error.inside(.name(key)) }
            }
        default: break
        }
    }

    /// The value in the form in which Firebase exports values with priorities.
    func withPriority(_ priority: JSONValue?) -> JSONValue {
        guard let priority, priority != .null else { return self }
        var object: JSONObject
        switch self {
        // A server value is a leaf: nothing may stand beside it.
        case .object(let members) where members[".sv"] == nil: object = members
        case .array(let elements):
            object = JSONObject(elements.enumerated().filter { $1 != .null }.map { ("\($0)", $1) })
        default: return [".value": self, ".priority": priority]
        }
        object[".priority"] = priority
        return .object(object)
    }
}
