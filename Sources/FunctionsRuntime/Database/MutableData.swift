import DocumentModel
import RealtimeModel
public import StrictJSON
import WorkerProtocol

/// What a transaction block sees, and changes.
public final class MutableData {
    private var content: RealtimeWriteValue
    private let before: RealtimeNode?
    private let database: Database
    private let path: RealtimePath
    private let now: Timestamp

    init(_ snapshot: DataSnapshot, in database: Database) {
        content = RealtimeWriteValue(snapshot.node)
        before = snapshot.node
        self.database = database
        path = snapshot.path
        now = database.transport.now
    }

    /// Server values as they would be if it were written now.
    private var node: RealtimeNode? { content.resolved(now: now.microseconds / 1_000, existing: before) }

    private var snapshot: DataSnapshot { DataSnapshot(node, in: database, at: path) }

    /// The last key of the path; nil for the root.
    public var key: String? { path.keys.last?.string }

    /// Without priorities; nil for nothing. A value that can't be set is noticed when the block returns. Server values are
    /// computed when it is written; until then one reads as the database would compute it now.
    public var value: JSONValue? {
        get { node.map { JSONValue($0, as: .plain) } }
        set { set(newValue) }
    }

    /// Whether a value couldn't be set.
    private(set) var problem: DocumentError?

    private func set(_ value: JSONValue?) {
        do {
            let json = try DatabaseReference.json(value)
            content = try RealtimeWriteValue(parsing: json, at: RealtimeTarget(path))
            problem = nil
        } catch {
            problem = .invalidArgument("\(error)")
        }
    }

    /// A number or a string; nil for none.
    public var priority: JSONValue? {
        get { snapshot.priority }
        set {
            switch newValue {
            case nil, .null?: content.setPriority(nil)
            case .string(let text)?: content.setPriority(.string(text))
            default:
                guard let number = newValue?.doubleValue, number.isFinite else {
                    return problem = .invalidArgument("a priority is a number or a string")
                }
                content.setPriority(
                    .number(newValue?.intValue.map { RealtimeNumber(Int64($0)) } ?? RealtimeNumber(number)))
            }
        }
    }

    /// Decodes the value as a `Codable` type.
    ///
    /// - Throws: as ``DataSnapshot/data(as:)``.
    public func data<T: Decodable>(as type: T.Type = T.self) throws -> T {
        try snapshot.data(as: type)
    }

    /// Replaces the value by an `Encodable` one.
    public func setValue(from value: some Encodable) throws {
        content = try RealtimeWriteValue(parsing: try DatabaseReference.json(of: value), at: RealtimeTarget(path))
        problem = nil
    }

    public func hasChild(_ path: String) -> Bool { snapshot.hasChild(path) }
    public func hasChildren() -> Bool { snapshot.hasChildren() }
    public var childrenCount: Int { snapshot.childrenCount }

    /// Whether the database computes a part of it.
    var hasServerValues: Bool { !content.serverValues.isEmpty }

    /// What the block leaves, as JSON with priorities.
    func json() throws(DocumentError) -> [UInt8] {
        if let problem { throw problem }
        return content.json
    }
}

/// How a transaction block ends.
public struct TransactionResult: Sendable {
    let isSuccess: Bool

    /// Writes what the data have become.
    public static func success(withValue data: MutableData) -> TransactionResult { TransactionResult(isSuccess: true) }

    /// Writes nothing.
    public static func abort() -> TransactionResult { TransactionResult(isSuccess: false) }
}

extension DatabaseReference {
    /// Changes the value depending on what it is, and again if another client was faster.
    ///
    ///     try await ref.runTransactionBlock { data in
    ///         data.value = .integer(Int64((data.value?.intValue ?? 0) + 1))
    ///         return .success(withValue: data)
    ///     }
    ///
    /// - Parameter block: may run several times, so it has no effects besides.
    /// - Returns: whether it was written, and what exists then.
    /// - Throws: what the block throws; `aborted` if others were faster 25 times.
    @discardableResult
    public func runTransactionBlock(
        _ block: (MutableData) throws -> TransactionResult
    ) async throws -> (committed: Bool, snapshot: DataSnapshot) {
        var last: DocumentError?
        for _ in 0..<Self.maxAttempts {
            try Task.checkCancellation()
            guard case .value(let json, let hash, _) = try await database.send(try query.request(.get, wantsHash: true))
            else {
                throw DatabaseAnswer.unexpected
            }
            let before = try query.snapshot(json)
            let data = MutableData(before, in: database)
            guard try block(data).isSuccess else { return (false, before) }
            let after = try data.json()
            do throws(DocumentError) {
                try await database.write(DatabaseRequest(.set, value: after, at: self, ifHash: hash))
                return (true, data.hasServerValues ? try await query.getData() : try query.snapshot(after))
            } catch {
                guard error.code == .aborted else { throw error }
                last = error
            }
        }
        throw last ?? DocumentError(.aborted, "others were faster")
    }

    /// As Firebase's SDKs.
    static let maxAttempts = 25
}
