/// A step of a compiled expression. Expressions are in postfix order, as those of documents are, so evaluating them doesn't
/// recurse. Types are known where the language demands them: what `!`, `&&`, `||` and `?:` get is boolean.
struct DatabaseInstruction {
    enum Operation: UInt8 {
        /// Values: a constant, a segment of the path that a `$name` stands for, the variables.
        case constant, capture, auth, now, root, data, newData
        /// `query.name`, with the index of ``DatabaseQueryMember``.
        case query
        /// `x.name`, `x[…]` and `x.length`; the last is also a member of claims.
        case member, index, length
        /// Methods of snapshots. Names with `Literal` have a path that was known when they were compiled.
        case val, child, childLiteral, parent, hasChild, hasChildLiteral, hasAnyChild, hasChildren
        case exists, getPriority, isString, isNumber, isBoolean
        /// Methods of strings.
        case contains, beginsWith, endsWith, replace, toLowerCase, toUpperCase, matches
        case not, negate
        case add, subtract, multiply, divide, remainder
        case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual
        /// The end of `a && b` and `a || b`, whose operands are both on the stack.
        case and, or
        /// Skips the right operand if the left one decides, and leaves it.
        case skipIfFalse, skipIfTrue
        /// The condition of `c ? a : b`: goes on, or goes to `a` if it is false.
        case select
        case jump
        case end
    }

    var operation: Operation
    var a: Int32 = 0
    /// Whether the value is boolean and depends on something: what coverage counts.
    var isCondition = false
    /// What it was compiled from, in bytes of the expression.
    var start: Int32 = 0
    var end: Int32 = 0
}

/// What `query` has.
enum DatabaseQueryMember: String, CaseIterable {
    case orderByKey, orderByValue, orderByPriority, orderByChild, startAt, endAt, equalTo, limitToFirst, limitToLast

    var index: Int32 { Int32(Self.allCases.firstIndex(of: self) ?? 0) }

    static let all = allCases
}

/// The code of all expressions of a file.
struct DatabaseProgram {
    var instructions: [DatabaseInstruction] = []
    var constants: [DatabaseOperand] = []
    /// Names of members of `auth`.
    var names: [String] = []
    /// The segments of paths that were known when they were compiled.
    var paths: [[String]] = []
    var patterns: [RegularExpression] = []
}
