import GRDB
import StorageEngine

/// Values that are kept apart from the keys of a table without row ids.
///
/// SQLite searches such a table by whole rows. One that is longer than a page holds is read from all its pages each time
/// that a search comes by, so a single string of megabytes would slow all its neighbors. Its value is therefore in a
/// second table, under the same key, and the row has the number of its bytes in place of it.
enum LargeValues {
    /// Shorter values stay, however long their key is.
    static let minBytes = 64

    /// The bytes of a key and a value that fit into a row's own page, together with the record's header.
    static func maxRow(pageSize: Int) -> Int { (pageSize - 12) * 64 / 255 - 23 - 9 }

    /// Calls the body with each problem between the tables.
    ///
    /// - Parameter report: returns false to end the search.
    static func findDamage(_ database: Database, _ report: (String) throws -> Bool) throws {
        for table in StorageTable.allCases {
            guard let large = table.largeName, try database.tableExists(large) else { continue }
            let name = table.sqlName
            let counts = try Row.fetchOne(
                database,
                sql: """
                    SELECT
                        (SELECT count(*) FROM \(name) WHERE typeof(value) = 'integer'
                            AND NOT EXISTS (SELECT 1 FROM \(large) WHERE \(large).key = \(name).key)),
                        (SELECT count(*) FROM \(large) WHERE NOT EXISTS
                            (SELECT 1 FROM \(name) WHERE \(name).key = \(large).key AND typeof(value) = 'integer'))
                    """)
            guard let counts else { continue }
            let (missing, needless): (Int, Int) = (counts[0], counts[1])
            if missing > 0, try !report("\(missing) large values of \(name) are missing") { return }
            if needless > 0, try !report("\(needless) large values of \(name) belong to no row") { return }
        }
    }
}

extension StorageTable {
    /// The table of its large values; nil if these are in the rows.
    var largeName: String? { hasLargeValues ? "\(sqlName)_large" : nil }

    var hasLargeValues: Bool {
        switch self {
        case .completions, .tree: true
        case .documents, .index, .meta, .changes, .events, .deliveries, .users: false
        }
    }
}
