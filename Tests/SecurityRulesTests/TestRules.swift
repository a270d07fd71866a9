import DocumentModel
import FirestoreJSON
import StrictJSON

@testable import SecurityRules

/// Rules, documents and requests of tests.
enum TestRules {
    static let time = Timestamp(seconds: 1_795_000_000, nanoseconds: 0)

    /// A file with these blocks below the documents.
    static func file(_ blocks: String, version: Int = 2) -> String {
        """
        rules_version = '\(version)';
        service cloud.firestore {
          match /databases/{database}/documents {
              \(blocks)
          }
        }
        """
    }

    static func document(_ path: String, _ fields: [String: Value]) throws -> Document {
        Document(path: try DocumentPath(path), fields: fields, createTime: time, updateTime: time)
    }

    static func documents(_ all: [Document] = []) -> RulesDocuments {
        let all = Dictionary(all.map { ($0.path, $0) }, uniquingKeysWith: { $1 })
        return RulesDocuments(before: { all[$0] }, after: { all[$0] })
    }

    static func claims(_ json: String) throws -> [String: Value] {
        guard case .object(let object) = try JSONValue(parsing: Array(json.utf8)) else { return [:] }
        return Dictionary(object.map { ($0.key, value($0.value)) }, uniquingKeysWith: { $1 })
    }

    private static func value(_ json: JSONValue) -> Value {
        switch json {
        case .null: .null
        case .bool(let value): .boolean(value)
        case .integer(let value): .integer(value)
        case .unsigned(let value): .double(Double(value))
        case .double(let value): .double(value)
        case .string(let value): .string(value)
        case .array(let values): .array(values.map(value))
        case .object(let object): .map(Dictionary(object.map { ($0.key, value($0.value)) }, uniquingKeysWith: { $1 }))
        }
    }

    static func user(_ uid: String? = "ada", _ claims: [String: Value] = [:]) -> RuleValue {
        RulesRequest.auth(uid.map { ClientIdentity(uid: $0, claims: claims) })
    }

    static func get(_ path: String, _ auth: RuleValue = user(), _ document: Document? = nil) -> RulesRequest {
        RulesRequest(
            .get, database: "(default)", path: path.split(separator: "/").map(String.init), auth: auth, time: time,
            resource: document)
    }

    /// A list; `query` is a `StructuredQuery`, `parent` as in a URL.
    static func list(_ query: String, below parent: String = "", _ auth: RuleValue = user()) throws -> RulesRequest {
        let above = parent.isEmpty ? nil : try DocumentPath(String(parent.dropFirst()))
        let query = try JSONNode(parsing: Array(query.utf8)).structuredQuery(parent: above)
        return RulesRequest(
            .list, database: "(default)",
            path: (above?.segments.map(String.init) ?? []) + [query.collectionID], auth: auth, time: time, query: query)
    }
}
