/// A word of an expression.
struct DatabaseToken {
    enum Kind: Equatable {
        case name(String)
        case integer(Int64)
        case double(Double)
        case string(String)
        case symbol(Symbol)
        case end
    }

    enum Symbol: String, CaseIterable {
        case leftParenthesis = "(", rightParenthesis = ")", leftBracket = "[", rightBracket = "]"
        case dot = ".", comma = ",", question = "?", colon = ":"
        case not = "!", minus = "-", plus = "+", times = "*", slash = "/", percent = "%"
        case less = "<", lessOrEqual = "<=", greater = ">", greaterOrEqual = ">="
        case equal = "==", identical = "===", notEqual = "!=", notIdentical = "!=="
        case and = "&&", or = "||"
    }

    var kind: Kind
    /// In bytes of the expression.
    var start: Int
    var end: Int

    var symbol: Symbol? {
        guard case .symbol(let symbol) = kind else { return nil }
        return symbol
    }

    /// The token for a message.
    var shown: String {
        switch kind {
        case .name(let name): "'\(name)'"
        case .integer(let value): "\(value)"
        case .double(let value): "\(value)"
        case .string: "a string"
        case .symbol(let symbol): "'\(symbol.rawValue)'"
        case .end: "the end"
        }
    }
}

/// Why an expression can't be compiled.
struct DatabaseExpressionProblem: Error {
    /// In bytes of the expression.
    var offset: Int
    var message: String
}
