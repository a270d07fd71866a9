import DocumentModel
import FirestoreJSON
import IdentityProvider
import StrictJSON
import UserStore

/// Parses the lines of an export strictly. Errors name the line and the field.
struct ImportReader {
    struct Item {
        var path: DocumentPath
        var fields: [String: Value]
    }

    enum Entry {
        case document(Item)
        case user(UserRecord)
    }

    /// The database of the store that the documents are imported into.
    private let database: DatabaseID
    /// The number of lines read so far.
    private(set) var line = 0
    private(set) var documents = 0
    private(set) var users = 0
    /// Seconds since 1970: the time of what a user lacks.
    private let now: Int64
    private(set) var header: ExportFormat.Header?
    private var isOver = false

    init(into database: DatabaseID, now: Int64) {
        self.database = database
        self.now = now
    }

    /// - Returns: the line's document or user; nil if the line is the header or the end.
    /// - Throws: `invalidArgument` if the line isn't valid at its position.
    mutating func read(_ bytes: [UInt8]) throws(DocumentError) -> Entry? {
        line += 1
        // Editors may add an empty last line.
        if isOver, bytes.allSatisfy({ $0 == 0x20 || $0 == 0x0D }) { return nil }
        let root: JSONNode
        do throws(JSONProblem) { root = try JSONNode(parsing: bytes) } catch {
            let place = JSONPosition(of: error.offset, in: bytes)
            throw .invalidArgument("line \(line), column \(place.column): \(error.message)")
        }
        do throws(JSONProblem) {
            guard !isOver else { throw root.problem("the export ended on the line before") }
            guard let header else {
                self.header = try Self.header(root)
                return nil
            }
            if root["count"] != nil {
                try end(root)
                return nil
            }
            if let user = root["user"] {
                let record = try self.user(root, user, header)
                users += 1
                return .user(record)
            }
            let item = try Self.item(root, from: header.database, to: database)
            documents += 1
            return .document(item)
        } catch {
            let path = root.path(to: error.offset) ?? ""
            throw .invalidArgument("line \(line)\(path.isEmpty ? "" : ", \(path)"): \(error.message)")
        }
    }

    /// - Throws: `invalidArgument` if the export is incomplete.
    func finish() throws(DocumentError) {
        guard header != nil else { throw .invalidArgument("there is nothing to import: the input is empty") }
        guard isOver else {
            throw .invalidArgument(
                "the export is incomplete after line \(line): its last line, with the number of documents, is missing")
        }
    }

    private mutating func end(_ root: JSONNode) throws(JSONProblem) {
        for member in try root.members() {
            let (what, found): (String, Int) =
                switch member.key {
                case "count": ("documents", documents)
                case "users": ("users", users)
                default: throw member.unknown
                }
            let count = try member.value.integer()
            guard count == Int64(found) else {
                throw member.value.problem("the export should have \(count) \(what), but has \(found)")
            }
        }
        isOver = true
    }

    private func user(
        _ root: JSONNode, _ user: JSONNode, _ header: ExportFormat.Header
    ) throws(JSONProblem) -> UserRecord {
        for member in try root.members() where member.key != "user" { throw member.unknown }
        guard header.hasUsers else { throw root.problem("the header announces no users (\"users\": true)") }
        return try UserFormat.record(user, now: now)
    }

    private static func header(_ root: JSONNode) throws(JSONProblem) -> ExportFormat.Header {
        guard case .object = root.kind, case .string(ExportFormat.name)? = root["format"]?.kind else {
            throw root.problem("this is not an export; its first line must have \"format\": \"\(ExportFormat.name)\"")
        }
        guard let version = root["version"] else { throw root.problem("the header has no version") }
        let number = try version.integer()
        guard (1...Int64(ExportFormat.version)).contains(number) else {
            throw version.problem(
                "the export has version \(version.summary); this program reads versions up to \(ExportFormat.version)")
        }
        guard let project = root["project"], let readTime = root["readTime"] else {
            throw root.problem("the header has no project or readTime")
        }
        let database = try root["database"]?.string() ?? "(default)"
        let hasUsers = try root["users"]?.boolean() ?? false
        return ExportFormat.Header(
            database: DatabaseID(project: try project.string(), database: database),
            readTime: try readTime.timestamp(), hasUsers: hasUsers && number > 1)
    }

    private static func item(
        _ root: JSONNode, from: DatabaseID, to: DatabaseID
    ) throws(JSONProblem) -> Item {
        var path: DocumentPath?
        var fields: [String: Value]?
        for member in try root.members() {
            switch member.key {
            case "path":
                let text = try member.value.string()
                do throws(DocumentError) { path = try DocumentPath(text) } catch {
                    throw member.value.problem(error.message)
                }
            case "fields": fields = try member.value.fields()
            case "createTime", "updateTime": _ = try member.value.timestamp()
            default: throw member.unknown
            }
        }
        guard let path, var fields else { throw root.problem("a document needs a path and fields") }
        if from != to { fields = fields.mapValues { $0.moved(from: from, to: to) } }
        return Item(path: path, fields: fields)
    }
}

extension Value {
    /// The value with references to one database replaced by references to another.
    func moved(from: DatabaseID, to: DatabaseID) -> Value {
        switch self {
        case .reference(let name) where name.database == from:
            .reference(DocumentName(database: to, path: name.path))
        case .array(let elements): .array(elements.map { $0.moved(from: from, to: to) })
        case .map(let fields): .map(fields.mapValues { $0.moved(from: from, to: to) })
        default: self
        }
    }
}
