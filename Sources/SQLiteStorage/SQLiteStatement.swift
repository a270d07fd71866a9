import StorageEngine

/// The statements on a table of keys and values.
///
/// Numbered, so that a compiled statement is found without comparing its text.
enum SQLiteStatement: Int, CaseIterable {
    case get, put, delete
    case scan, scanOpen, scanDown, scanDownOpen
    case keys, keysOpen, keysDown, keysDownOpen
    case count, countOpen
    case skip, skipOpen
    case remove, removeOpen
    /// Of the table's large values.
    case getLarge, putLarge, deleteLarge
    case removeLarge, removeLargeOpen

    static let kinds = allCases.count

    /// Keys and values of a range; an open range has no upper bound.
    static func scan(_ range: KeyRange, reverse: Bool) -> Self {
        range.upper == nil ? (reverse ? .scanDownOpen : .scanOpen) : (reverse ? .scanDown : .scan)
    }

    static func keys(_ range: KeyRange, reverse: Bool) -> Self {
        range.upper == nil ? (reverse ? .keysDownOpen : .keysOpen) : (reverse ? .keysDown : .keys)
    }

    static func count(_ range: KeyRange) -> Self { range.upper == nil ? .countOpen : .count }

    static func remove(_ range: KeyRange) -> Self { range.upper == nil ? .removeOpen : .remove }

    static func removeLarge(_ range: KeyRange) -> Self { range.upper == nil ? .removeLargeOpen : .removeLarge }

    /// The key of a range after as many others as the third parameter says.
    static func skip(_ range: KeyRange) -> Self { range.upper == nil ? .skipOpen : .skip }

    func sql(of table: StorageTable) -> String {
        let (name, large) = (table.sqlName, table.largeName ?? table.sqlName)
        let (from, to) = ("WHERE key >= ?1", "WHERE key >= ?1 AND key < ?2")
        let (open, bounded) = ("FROM \(name) \(from)", "FROM \(name) \(to)")
        return switch self {
        case .get: "SELECT value FROM \(name) WHERE key = ?1"
        case .put: Self.put(table)
        case .delete: "DELETE FROM \(name) WHERE key = ?1"
        case .scan: "SELECT key, value \(bounded) ORDER BY key"
        case .scanOpen: "SELECT key, value \(open) ORDER BY key"
        case .scanDown: "SELECT key, value \(bounded) ORDER BY key DESC"
        case .scanDownOpen: "SELECT key, value \(open) ORDER BY key DESC"
        case .keys: "SELECT key \(bounded) ORDER BY key"
        case .keysOpen: "SELECT key \(open) ORDER BY key"
        case .keysDown: "SELECT key \(bounded) ORDER BY key DESC"
        case .keysDownOpen: "SELECT key \(open) ORDER BY key DESC"
        case .count: "SELECT count(*) \(bounded)"
        case .countOpen: "SELECT count(*) \(open)"
        case .skip: "SELECT key \(bounded) ORDER BY key LIMIT 1 OFFSET ?3"
        case .skipOpen: "SELECT key \(open) ORDER BY key LIMIT 1 OFFSET ?3"
        case .remove: "DELETE \(bounded)"
        case .removeOpen: "DELETE \(open)"
        case .getLarge: "SELECT value FROM \(large) WHERE key = ?1"
        case .putLarge: Self.upsert(large)
        case .deleteLarge: "DELETE FROM \(large) WHERE key = ?1"
        case .removeLarge: "DELETE FROM \(large) \(to)"
        case .removeLargeOpen: "DELETE FROM \(large) \(from)"
        }
    }

    private static func put(_ table: StorageTable) -> String {
        // In a table without row ids SQLite writes a replacement in place, without looking for the key first. In one
        // with row ids it would delete the old row, and its entry among the keys.
        guard table.hasRowIDs else { return "INSERT OR REPLACE INTO \(table.sqlName) (key, value) VALUES (?1, ?2)" }
        return upsert(table.sqlName)
    }

    private static func upsert(_ name: String) -> String {
        """
        INSERT INTO \(name) (key, value) VALUES (?1, ?2)
        ON CONFLICT (key) DO UPDATE SET value = excluded.value
        """
    }
}

extension StorageTable {
    /// The table's name in SQL.
    var sqlName: String {
        switch self {
        case .documents: "documents"
        case .index: "\"index\""
        case .completions: "completions"
        case .meta: "meta"
        case .changes: "changes"
        case .events: "events"
        case .deliveries: "deliveries"
        case .users: "users"
        case .tree: "tree"
        }
    }

    /// Whether values are stored apart from the keys, as ``SQLiteSchema`` defines it.
    var hasRowIDs: Bool {
        switch self {
        case .documents, .changes, .events: true
        case .index, .completions, .meta, .deliveries, .users, .tree: false
        }
    }
}
