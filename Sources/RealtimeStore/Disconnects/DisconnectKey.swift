import StorageEngine

/// What identifies a registration: its namespace and session, and its place among the session's.
struct DisconnectKey: Hashable, Sendable {
    var namespace: String
    var session: String
    var order: UInt64

    var stored: [UInt8] {
        var key = Self.prefix(namespace, session)
        KeyBytes.append(order, to: &key)
        return key
    }

    static func prefix(_ namespace: String, _ session: String) -> [UInt8] { RowKind.disconnect.key(namespace, session) }

    func remove(from storage: any StorageWriter) throws { try storage.delete(.tree, stored) }
}
