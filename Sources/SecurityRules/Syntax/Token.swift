/// A word of the language.
struct Token: Equatable {
    enum Kind: Equatable {
        case name(String)
        case string(String)
        case bytes([UInt8])
        case integer(Int64)
        case float(Double)
        /// An operator or a bracket.
        case symbol(Symbol)
        /// What isn't a word; it was reported.
        case invalid
        case end
    }

    enum Symbol: String {
        case leftBrace = "{", rightBrace = "}", leftParenthesis = "(", rightParenthesis = ")"
        case leftBracket = "[", rightBracket = "]"
        case semicolon = ";", colon = ":", comma = ",", dot = ".", question = "?", slash = "/", dollar = "$"
        case plus = "+", minus = "-", times = "*", glob = "**", percent = "%"
        case and = "&&", or = "||", not = "!", assign = "="
        case equal = "==", notEqual = "!=", less = "<", lessOrEqual = "<=", greater = ">", greaterOrEqual = ">="
    }

    var kind: Kind
    var range: SourceRange

    var symbol: Symbol? { if case .symbol(let symbol) = kind { symbol } else { nil } }
    var name: String? { if case .name(let name) = kind { name } else { nil } }

    /// For errors.
    var shown: String {
        switch kind {
        case .name(let name): "'\(name)'"
        case .string: "a string"
        case .bytes: "bytes"
        case .integer, .float: "a number"
        case .symbol(let symbol): "'\(symbol.rawValue)'"
        case .invalid: "something unreadable"
        case .end: "the end of the file"
        }
    }
}
