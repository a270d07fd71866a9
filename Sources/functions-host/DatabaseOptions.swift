import ControlProtocol
import ArgumentParser

/// The options of `data export` and `data import` for a Realtime Database.
struct DatabaseOptions: ParsableArguments {
    @Option(help: "The name of a Realtime Database, such as demo-shop-default-rtdb, instead of documents and users.")
    var database: String?

    @Option(help: "With --database: the node to export or import, such as /rooms/r1, instead of the whole database.")
    var path: String?

    @Option(
        help: "With --database: json or jsonl. By default what the file's name ends with, else json.")
    var format: DatabasePlace.Format?

    static let exportDiscussion = """
        With --database, the file is one JSON value as Firebase's console exports it, priorities included (json), or a line \
        of JSON for each leaf (jsonl). Both are of one moment.
        """

    static let importDiscussion = """
        With --database, the data replaces what exists at the path, in one change; null or {} deletes it. A file that is \
        cut off or invalid changes nothing. With --in-steps, each value of the file is written in one of many commits, and \
        what exists beside them stays; null in the file changes nothing. If that is interrupted, what was written stays, \
        and the import may be repeated. Changes trigger functions, unless --disable-triggers is given or no host runs.
        """

    func validateUse() throws {
        guard database != nil || (path == nil && format == nil) else {
            throw ValidationError("--path and --format need --database")
        }
    }

    /// - Returns: nil if no database was named.
    func place(for file: String) throws -> DatabasePlace? {
        guard let database else { return nil }
        let isLines = [".jsonl", ".ndjson"].contains { file.hasSuffix($0) }
        return try DatabasePlace(database, path: path ?? "", format: format ?? (isLines ? .jsonl : .json))
    }
}

extension DatabasePlace.Format: ExpressibleByArgument {}

extension DataOutcome {
    /// The values of a database's export or import, such as `12 values (1.5 KiB)`.
    var databaseContent: String {
        let nodes = self["nodes"]
        return "\(nodes) value\(nodes == 1 ? "" : "s") (\(CommandReport.size(self["bytes"])))"
    }
}
