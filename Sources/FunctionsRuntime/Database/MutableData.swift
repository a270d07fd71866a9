import DocumentModel
import RealtimeModel
public import StrictJSON
import WorkerProtocol

/// What a transaction block sees, and changes.
///
/// Each server value that the block has set makes reading and setting parts slower: set many of them in one value.
public final class MutableData {
    /// What the data of all paths in a transaction share.
    private final class Content {
        var value: RealtimeWriteValue
        /// What couldn't be set, and why.
        var problems: [(path: RealtimePath, error: DocumentError)] = []
        let before: DataSnapshot
        let database: Database
        let now: Timestamp

        init(_ before: DataSnapshot, in database: Database) {
            value = RealtimeWriteValue(before.node)
            self.before = before
            self.database = database
            now = database.transport.now
        }
    }

    private let content: Content
    /// From the transaction's place to the data's.
    private let relative: RealtimePath

    private init(_ content: Content, at relative: RealtimePath) {
        self.content = content
        self.relative = relative
    }

    convenience init(_ before: DataSnapshot, in database: Database) {
        self.init(Content(before, in: database), at: .root)
    }

    private var path: RealtimePath { RealtimePath(unchecked: content.before.path.keys + relative.keys) }

    /// Server values as they would be if it were written now.
    private var node: RealtimeNode? {
        content.value.resolved(now: content.now.microseconds / 1_000, existing: content.before.node)?[relative]
    }

    private var snapshot: DataSnapshot { DataSnapshot(node, in: content.database, at: path) }

    /// The last key of the path; nil for the root.
    public var key: String? { path.keys.last?.string }

    /// Without priorities; nil for nothing. A value that can't be set is noticed when the block returns. Server values are
    /// computed when it is written; until then one reads as the database would compute it now.
    public var value: JSONValue? {
        get { node.map { JSONValue($0, as: .plain) } }
        set {
            do {
                try set(try DatabaseReference.json(newValue))
            } catch {
                note("\(error)")
            }
        }
    }

    /// Whether a value couldn't be set.
    var problem: DocumentError? { content.problems.first?.error }

    private func note(_ problem: String) { content.problems.append((relative, .invalidArgument(problem))) }

    private func set(_ json: [UInt8]) throws {
        content.value.set(try RealtimeWriteValue(parsing: json, at: RealtimeTarget(path)), at: relative)
        // What couldn't be set is replaced.
        content.problems.removeAll { relative.contains($0.path) }
    }

    /// A number or a string; nil for none.
    public var priority: JSONValue? {
        get { snapshot.priority }
        set {
            var priority: RealtimePriority?
            switch newValue {
            case nil, .null?: break
            case .string(let text)?: priority = .string(text)
            case .unsigned(let integer)?:
                guard let number = RealtimeNumber(exactly: integer) else {
                    return note("the database would round \(integer), which is beyond Int64's range")
                }
                priority = .number(number)
            default:
                guard let number = newValue?.doubleValue, number.isFinite else {
                    return note("a priority is a number or a string")
                }
                priority =
                    .number(newValue?.intValue.map { RealtimeNumber(Int64($0)) } ?? RealtimeNumber(number))
            }
            content.value.setPriority(priority, at: relative)
        }
    }

    /// Decodes the value as a `Codable` type.
    ///
    /// - Throws: as ``DataSnapshot/data(as:)``.
    public func data<T: Decodable>(as type: T.Type = T.self) throws -> T {
        try snapshot.data(as: type)
    }

    /// Replaces the value by an `Encodable` one.
    public func setValue(from value: some Encodable) throws { try set(try DatabaseReference.json(of: value)) }

    // MARK: Children

    /// The data of a child, or of what is below it: what is set there is set here too.
    ///
    ///     let stars = data.childData(byAppendingPath: "stars")
    ///     stars.value = .integer(Int64((stars.value?.intValue ?? 0) + 1))
    ///
    /// - Parameter path: keys joined by slashes. One that can't be has no value, and what is set there fails the transaction
    ///   when the block returns, unless all of these data are set afterwards.
    public func childData(byAppendingPath path: String) -> MutableData {
        do throws(RealtimeError) {
            let below = try relative.appending(try RealtimePath(path))
            _ = try content.before.path.appending(below)
            return MutableData(content, at: below)
        } catch {
            note("\(error)")
            return MutableData(DataSnapshot(nil, in: content.database, at: self.path), in: content.database)
        }
    }

    /// By priority, then by key.
    public var children: [MutableData] {
        snapshot.children.compactMap { child in
            child.path.relative(to: content.before.path).map { MutableData(content, at: $0) }
        }
    }

    public func hasChild(_ path: String) -> Bool { snapshot.hasChild(path) }
    public func hasChildren() -> Bool { snapshot.hasChildren() }
    public var childrenCount: Int { snapshot.childrenCount }

    // MARK: The whole

    /// Whether the database computes a part of it.
    var hasServerValues: Bool { !content.value.serverValues.isEmpty }

    /// What the block leaves, as JSON with priorities.
    func json() throws(DocumentError) -> [UInt8] {
        if let problem { throw problem }
        return content.value.json
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
                try await database.write(try DatabaseRequest(.set, value: after, at: self, ifHash: hash))
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
