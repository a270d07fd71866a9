import Foundation

/// A JSON value, parsed by Foundation and not by the host's own code.
enum JSON: Equatable, Sendable, Decodable {
    case null
    case bool(Bool)
    case integer(Int64)
    case double(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    init(parsing text: String) throws {
        self = try JSONDecoder().decode(JSON.self, from: Data(text.utf8))
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .double(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSON].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSON].self))
        }
    }

    subscript(_ key: String) -> JSON? { if case .object(let members) = self { members[key] } else { nil } }

    subscript(_ index: Int) -> JSON? {
        if case .array(let list) = self, list.indices.contains(index) { list[index] } else { nil }
    }

    var text: String? { if case .string(let text) = self { text } else { nil } }

    var list: [JSON] { if case .array(let list) = self { list } else { [] } }

    /// The keys of an object.
    var keys: [String] { if case .object(let members) = self { Array(members.keys) } else { [] } }

    /// An integer, or a string with an integer.
    var integer: Int? {
        switch self {
        case .integer(let value): Int(value)
        case .string(let digits): Int(digits)
        default: nil
        }
    }
}
