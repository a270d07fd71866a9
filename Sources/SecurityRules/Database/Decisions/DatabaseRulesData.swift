import DocumentModel

/// A tree of the Realtime Database as rules read it: one before a write, and one as the write would leave it.
///
/// Nodes are read when a rule looks at them, each when it is first looked at. What these functions throw ends the decision,
/// and is thrown by it.
package protocol DatabaseRulesData {
    /// What is at a path.
    ///
    /// - Parameter path: keys that nodes can have, at most 32. Empty for the root.
    func value(at path: ArraySlice<String>) throws -> DatabaseRulesValue

    /// The priority of the node at a path: a number or a string, or null.
    func priority(at path: ArraySlice<String>) throws -> DatabaseRulesValue

    /// The names of the children of the node at a path, in any order, at most `limit`.
    func childNames(at path: ArraySlice<String>, limit: Int) throws -> [String]
}

/// What is at a path, or what a parameter of a query is.
package enum DatabaseRulesValue: Sendable {
    /// Nothing.
    case null
    case boolean(Bool)
    case integer(Int64)
    case double(Double)
    case string(String)
    /// A node with children.
    case object
}

extension DatabaseRulesValue: Equatable {
    /// Strings are compared by their bytes, as the store compares them.
    package static func == (a: DatabaseRulesValue, b: DatabaseRulesValue) -> Bool {
        switch (a, b) {
        case (.null, .null), (.object, .object): true
        case (.boolean(let a), .boolean(let b)): a == b
        case (.integer(let a), .integer(let b)): a == b
        case (.double(let a), .double(let b)): a == b
        case (.string(let a), .string(let b)): TextBytes.equal(a, b)
        default: false
        }
    }
}
