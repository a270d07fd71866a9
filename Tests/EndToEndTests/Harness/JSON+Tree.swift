import Crypto
import Foundation

/// JSON as a tree of the Realtime Database.
extension JSON {
    /// The value at a path, such as `a/b`; null if there is none.
    func value(at path: String) -> JSON {
        path.split(separator: "/").reduce(self) { value, key in value[String(key)] ?? .null }
    }

    /// Sets the value at a path. Null deletes it, and what is empty then.
    mutating func set(_ path: String, to value: JSON) {
        set(path.split(separator: "/").map(String.init)[...], to: value)
    }

    private mutating func set(_ path: ArraySlice<String>, to value: JSON) {
        guard let key = path.first else {
            self = value == .object([:]) ? .null : value
            return
        }
        var members: [String: JSON] = if case .object(let members) = self { members } else { [:] }
        var child = members[key] ?? .null
        child.set(path.dropFirst(), to: value)
        members[key] = child == .null ? nil : child
        self = members.isEmpty ? .null : .object(members)
    }

    /// Sets the values at several paths below this value.
    ///
    /// - Parameter update: an object whose keys are paths.
    mutating func merge(_ update: JSON) {
        guard case .object(let members) = update else { return }
        for (path, value) in members { set(path, to: value) }
    }

    /// The hash by which clients and the database compare values. Keys must not be integers, which have an order of their own,
    /// and nothing has a priority.
    var databaseHash: String {
        switch self {
        case .null: ""
        case .bool(let value): Self.hash("boolean:\(value)")
        case .integer(let value): Self.hash("number:" + Self.hexadecimal(Double(value)))
        case .double(let value): Self.hash("number:" + Self.hexadecimal(value))
        case .string(let value): Self.hash("string:" + value)
        case .array: preconditionFailure("the database sends objects by WebSocket")
        case .object(let members):
            Self.hash(
                members.sorted { $0.key.utf16.lexicographicallyPrecedes($1.key.utf16) }
                    .map { ":\($0.key):\($0.value.databaseHash)" }.joined())
        }
    }

    private static func hash(_ text: String) -> String {
        Data(Insecure.SHA1.hash(data: Data(text.utf8))).base64EncodedString()
    }

    private static func hexadecimal(_ value: Double) -> String {
        let digits = String(value.bitPattern, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
