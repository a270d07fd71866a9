import DocumentModel
import RealtimeModel
import StorageEngine

/// The key of a registration: by session, operation and path, so that those at and below a path are found without the others.
struct DisconnectKey: Hashable, Sendable {
    var namespace: String
    var session: String
    var operation: RealtimeDisconnect.Operation
    /// The path's bytes, see ``TreeKey``.
    var path: [UInt8]
    /// Among all of the session, in which they are written.
    var order: UInt64

    /// Ends the path. What is below it has other bytes here.
    private static let end = TreeKey.entryMarker

    init(_ disconnect: RealtimeDisconnect, of session: String, in namespace: String, order: UInt64) {
        self.namespace = namespace
        self.session = session
        operation = disconnect.operation
        path = TreeKey.of(disconnect.target.path)
        self.order = order
    }

    /// - Throws: `DecodingFailure` if it isn't the key of a registration.
    init(stored key: [UInt8]) throws(DecodingFailure) {
        guard let (texts, rest) = RowKind.texts(2, in: key), rest.count >= 10, let first = rest.first,
            let operation = RealtimeDisconnect.Operation(rawValue: first), rest.dropLast(8).last == Self.end
        else { throw DecodingFailure("the key of an onDisconnect can't be read") }
        namespace = texts[0]
        session = texts[1]
        self.operation = operation
        path = Array(rest.dropFirst().dropLast(9))
        order = rest.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    }

    var stored: [UInt8] {
        var key = Self.prefix(namespace, session) + [operation.rawValue] + path + [Self.end]
        KeyBytes.append(order, to: &key)
        return key
    }

    static func prefix(_ namespace: String, _ session: String) -> [UInt8] { RowKind.disconnect.key(namespace, session) }

    /// The registrations of an operation at a path and below it.
    static func range(
        of operation: RealtimeDisconnect.Operation, atAndBelow path: RealtimePath, _ namespace: String,
        _ session: String
    ) -> KeyRange {
        KeyRange(prefix: prefix(namespace, session) + [operation.rawValue] + TreeKey.of(path))
    }

    /// The registrations of an operation at a path.
    static func range(
        of operation: RealtimeDisconnect.Operation, at path: RealtimePath, _ namespace: String, _ session: String
    ) -> KeyRange {
        KeyRange(prefix: prefix(namespace, session) + [operation.rawValue] + TreeKey.of(path) + [end])
    }
}
