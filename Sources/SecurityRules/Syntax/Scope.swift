/// Where functions and captured names are visible: the file, a service, or a `match` block.
struct Scope {
    var parent: Int?
    var functions: [String: Int] = [:]
    /// The names that the paths of this block and those around it capture, in order.
    var captures: [String] = []
    var captureOffsets: [Int] = []
}

/// What the expressions of a function can name besides what its scope has.
struct FunctionContext {
    /// Parameters and `let`s so far, with the places of their declarations.
    var locals: [(name: String, offset: Int)] = []
    var used: Set<Int> = []
    let function: Int?
}

/// A call of a function by its name, to be resolved when all functions are known.
struct UnresolvedCall {
    var instruction: Int
    var name: String
    var arguments: Int
    var scope: Int
    /// The function whose code has the call; nil in a condition.
    var caller: Int?
    var offset: Int
}
