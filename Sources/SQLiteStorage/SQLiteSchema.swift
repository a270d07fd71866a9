import GRDB

/// The schema of a database file, and the migrations of older files.
enum SQLiteSchema {
    /// "fnst": distinguishes our files from others.
    static let applicationID = 0x666E_7374

    /// The version that the last migration leads to. A file with a higher one is refused.
    static let version = 7

    /// Named and append-only: a migration that has shipped is never changed.
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1 tables") { database in
            // Documents can be large, and rows of a WITHOUT ROWID table should not be.
            try database.execute(
                sql: """
                    CREATE TABLE documents (key BLOB PRIMARY KEY NOT NULL, value BLOB NOT NULL);
                    CREATE TABLE "index" (key BLOB PRIMARY KEY NOT NULL, value BLOB NOT NULL) WITHOUT ROWID;
                    CREATE TABLE completions (key BLOB PRIMARY KEY NOT NULL, value BLOB NOT NULL) WITHOUT ROWID;
                    CREATE TABLE meta (key BLOB PRIMARY KEY NOT NULL, value BLOB NOT NULL) WITHOUT ROWID;
                    PRAGMA application_id = \(applicationID);
                    PRAGMA user_version = 1;
                    """)
        }
        migrator.registerMigration("2 changes") { database in
            // Also scanned by key alone, so the values are stored apart.
            try database.execute(
                sql: """
                    CREATE TABLE changes (key BLOB PRIMARY KEY NOT NULL, value BLOB NOT NULL);
                    PRAGMA user_version = 2;
                    """)
        }
        migrator.registerMigration("3 outbox") { database in
            try database.execute(
                sql: """
                    CREATE TABLE events (key BLOB PRIMARY KEY NOT NULL, value BLOB NOT NULL);
                    CREATE TABLE deliveries (key BLOB PRIMARY KEY NOT NULL, value BLOB NOT NULL) WITHOUT ROWID;
                    PRAGMA user_version = 3;
                    """)
        }
        migrator.registerMigration("4 revived deliveries") { database in
            // Their rows have a format of their own; a program that doesn't know it must not open the file.
            try database.execute(sql: "PRAGMA user_version = 4")
        }
        migrator.registerMigration("5 users") { database in
            try database.execute(
                sql: """
                    CREATE TABLE users (key BLOB PRIMARY KEY NOT NULL, value BLOB NOT NULL) WITHOUT ROWID;
                    PRAGMA user_version = 5;
                    """)
        }
        migrator.registerMigration("6 tree") { database in
            try database.execute(
                sql: """
                    CREATE TABLE tree (key BLOB PRIMARY KEY NOT NULL, value BLOB NOT NULL) WITHOUT ROWID;
                    PRAGMA user_version = 6;
                    """)
        }
        migrator.registerMigration("7 large values") { database in
            let pageSize = try Int.fetchOne(database, sql: "PRAGMA page_size") ?? 4096
            for table in ["completions", "tree"] {
                let isLarge = """
                    length(value) > \(LargeValues.minBytes)
                    AND length(key) + length(value) > \(LargeValues.maxRow(pageSize: pageSize))
                    """
                try database.execute(
                    sql: """
                        CREATE TABLE \(table)_large (key BLOB PRIMARY KEY NOT NULL, value BLOB NOT NULL);
                        INSERT INTO \(table)_large SELECT key, value FROM \(table) WHERE \(isLarge);
                        UPDATE \(table) SET value = length(value) WHERE \(isLarge);
                        """)
            }
            try database.execute(sql: "PRAGMA user_version = 7")
        }
        return migrator
    }
}
