import DocumentModel

/// A step of a compiled expression. Expressions are in postfix order: operands come first and leave their values on a stack,
/// so that neither compiling nor evaluating recurses as deep as they are nested.
struct Instruction {
    enum Operation: UInt8 {
        /// Values: a constant, a parameter or `let` (of this call), a captured segment, `request`, `resource`.
        case constant, local, capture, request, resource
        /// A name that nothing declares.
        case undefined
        /// `x.name`, `x[index]`, `x[from:to]`; the last has bits for the bounds that are there.
        case member, index, slice
        /// `x.name(…)`, a function of the file, a function of the language.
        case method, call, builtin
        case not, negate
        case add, subtract, multiply, divide, remainder
        case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual
        case contains, hasType
        /// The end of `a && b` and `a || b`, whose operands are both on the stack.
        case and, or
        /// Skips the right operand if the left one decides, and leaves it.
        case skipIfFalse, skipIfTrue
        /// The condition of `c ? a : b`: goes on, goes to `a` if it is false, to `b` if it is neither.
        case select
        case jump
        /// `[…]`, `{…}` and `/…` of as many values as `a`.
        case list, map, path
        /// Ends a function, a condition, or what a parameter or `let` stands for.
        case end
    }

    var operation: Operation
    var a: Int32 = 0
    var b: Int32 = 0
}

/// The code of all expressions of a file.
struct Program {
    var instructions: [Instruction] = []
    /// What each instruction was compiled from.
    var ranges: [SourceRange] = []
    var constants: [RuleValue] = []
    /// Names of members, methods and types.
    var names: [String] = []
    var functions: [CompiledFunction] = []
    var patterns: [PatternText: RegularExpression] = [:]
}

/// The text of a regular expression, compared by its bytes.
struct PatternText: Hashable {
    var text: String

    static func == (a: PatternText, b: PatternText) -> Bool { TextBytes.equal(a.text, b.text) }

    func hash(into hasher: inout Hasher) { for byte in text.utf8 { hasher.combine(byte) } }
}

struct CompiledFunction {
    var name: String
    var parameters: Int
    /// The code of the `let`s, in their order, and of what is returned.
    var lets: [Int32] = []
    var code: Int32 = 0
}
