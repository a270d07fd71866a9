/// What is known of a value's type before a rule is evaluated.
enum DatabaseType: Equatable {
    case boolean, number, string, null, snapshot, query
    /// A string, a number, a boolean or null; or an object, which has no members: what `val()` returns.
    case primitive
    /// Any of these, or an object with members: `auth` and what it has.
    case any

    var isFuzzy: Bool { self == .primitive || self == .any }

    /// The type of `c ? a : b`; nil if there is none.
    static func common(_ a: DatabaseType, _ b: DatabaseType) -> DatabaseType? {
        if a == b { return a }
        for type in [a, b] where type == .snapshot || type == .query { return nil }
        return a == .any || b == .any ? .any : .primitive
    }
}

/// The methods of snapshots and strings.
struct DatabaseMethod {
    var name: String
    var operation: DatabaseInstruction.Operation
    /// Arguments, all of them strings; nil for those that are read in a way of their own.
    var arguments: Int?
    var result: DatabaseType

    static let ofSnapshots = [
        DatabaseMethod(name: "val", operation: .val, arguments: 0, result: .primitive),
        DatabaseMethod(name: "child", operation: .child, arguments: 1, result: .snapshot),
        DatabaseMethod(name: "parent", operation: .parent, arguments: 0, result: .snapshot),
        DatabaseMethod(name: "hasChild", operation: .hasChild, arguments: 1, result: .boolean),
        DatabaseMethod(name: "hasChildren", operation: .hasChildren, arguments: nil, result: .boolean),
        DatabaseMethod(name: "exists", operation: .exists, arguments: 0, result: .boolean),
        DatabaseMethod(name: "getPriority", operation: .getPriority, arguments: 0, result: .primitive),
        DatabaseMethod(name: "isString", operation: .isString, arguments: 0, result: .boolean),
        DatabaseMethod(name: "isNumber", operation: .isNumber, arguments: 0, result: .boolean),
        DatabaseMethod(name: "isBoolean", operation: .isBoolean, arguments: 0, result: .boolean),
    ]

    static let ofStrings = [
        DatabaseMethod(name: "contains", operation: .contains, arguments: 1, result: .boolean),
        DatabaseMethod(name: "beginsWith", operation: .beginsWith, arguments: 1, result: .boolean),
        DatabaseMethod(name: "endsWith", operation: .endsWith, arguments: 1, result: .boolean),
        DatabaseMethod(name: "replace", operation: .replace, arguments: 2, result: .string),
        DatabaseMethod(name: "toLowerCase", operation: .toLowerCase, arguments: 0, result: .string),
        DatabaseMethod(name: "toUpperCase", operation: .toUpperCase, arguments: 0, result: .string),
        DatabaseMethod(name: "matches", operation: .matches, arguments: nil, result: .boolean),
    ]
}
