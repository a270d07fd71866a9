import DocumentModel
import StorageEngine

/// What identifies a registration: its namespace and session, and its place among the session's.
struct DisconnectKey: Hashable, Sendable {
    var namespace: String
    var session: String
    var order: UInt64

    init(namespace: String, session: String, order: UInt64) {
        self.namespace = namespace
        self.session = session
        self.order = order
    }

    /// - Throws: `DecodingFailure` if it isn't the key of a registration.
    init(stored key: [UInt8]) throws(DecodingFailure) {
        guard let (texts, rest) = RowKind.texts(2, in: key), rest.count == 8 else {
            throw DecodingFailure("the key of an onDisconnect can't be read")
        }
        self.init(
            namespace: texts[0], session: texts[1], order: rest.reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }

    var stored: [UInt8] {
        var key = Self.prefix(namespace, session)
        KeyBytes.append(order, to: &key)
        return key
    }

    static func prefix(_ namespace: String, _ session: String) -> [UInt8] { RowKind.disconnect.key(namespace, session) }
}
