import Foundation

/// A JSON value, read by other code than the host's own.
enum JSON: Equatable, Sendable {
    case null
    case bool(Bool)
    /// A number by its digits: 1 and 1.0 differ.
    case number(String)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    init(parsing text: String) throws {
        self.init(try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed))
    }

    private init(_ value: Any) {
        switch value {
        case let text as String: self = .string(text)
        case let list as [Any]: self = .array(list.map { JSON($0) })
        case let members as [String: Any]: self = .object(members.mapValues { JSON($0) })
        case let number as NSNumber:
            let isBool = CFGetTypeID(number) == CFBooleanGetTypeID()
            self = isBool ? .bool(number.boolValue) : .number(number.stringValue)
        default: self = .null
        }
    }

    subscript(_ key: String) -> JSON? { if case .object(let members) = self { members[key] } else { nil } }

    subscript(_ index: Int) -> JSON? {
        if case .array(let list) = self, list.indices.contains(index) { list[index] } else { nil }
    }

    var text: String? { if case .string(let text) = self { text } else { nil } }

    var list: [JSON] { if case .array(let list) = self { list } else { [] } }

    var integer: Int? {
        switch self {
        case .number(let digits), .string(let digits): Int(digits)
        default: nil
        }
    }
}
