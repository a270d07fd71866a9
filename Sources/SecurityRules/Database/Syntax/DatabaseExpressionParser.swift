import DocumentModel
import TextFormats

/// Compiles the expressions of a file, one after the other.
///
/// Types are checked on the way. What is nested recurses, at most ``RulesLimits/nesting`` deep; chains of operators and
/// members don't.
struct DatabaseExpressionParser {
    typealias Problem = DatabaseExpressionProblem
    typealias Operation = DatabaseInstruction.Operation

    /// A compiled operand.
    struct Operand {
        var type: DatabaseType
        /// The value of a boolean, if it has one at all.
        var constant: Bool?
        /// In bytes of the expression.
        var start: Int
    }

    var program = DatabaseProgram()
    /// The names that begin with `$`, from the root on.
    var captures: [(name: String, depth: Int)] = []
    var kind: DatabaseRuleKind = .read
    /// Doubts about the current expression.
    private(set) var warnings: [Problem] = []
    private(set) var token = DatabaseToken(kind: .end, start: 0, end: 0)

    private var lexer = DatabaseLexer([])
    private var lastEnd = 0
    private var nesting = 0
    private var strings: [PatternText: Int32] = [:]
    private var patterns: [PatternText: Int32] = [:]
    private var patternSteps = 0

    /// Compiles an expression, which must be boolean.
    mutating func compile(_ bytes: [UInt8]) throws(Problem) -> (code: Range<Int>, constant: Bool?, isLiteral: Bool) {
        lexer = DatabaseLexer(bytes)
        warnings = []
        (nesting, lastEnd) = (0, 0)
        let start = program.instructions.count
        token = try lexer.next()
        if token.kind == .end { throw Problem(offset: 0, message: "The expression is empty; write true or false.") }
        let value = try parseExpression()
        if token.kind != .end { throw Problem(offset: token.start, message: "Unexpected \(token.shown).") }
        guard value.type == .boolean else {
            throw Problem(
                offset: value.start,
                message:
                    "The expression must be a boolean\(value.type.isFuzzy ? "; compare it, such as with == true." : ".")"
            )
        }
        let isLiteral = program.instructions.count == start + 1 && value.constant != nil
        emit(.end, from: value.start)
        return (start..<program.instructions.count, value.constant, isLiteral)
    }

    // MARK: Words and code

    mutating func advance() throws(Problem) {
        lastEnd = token.end
        token = try lexer.next()
    }

    private mutating func take(_ symbol: DatabaseToken.Symbol) throws(Problem) -> Bool {
        guard token.symbol == symbol else { return false }
        try advance()
        return true
    }

    mutating func require(_ symbol: DatabaseToken.Symbol) throws(Problem) {
        guard try take(symbol) else {
            throw Problem(offset: token.start, message: "Expected '\(symbol.rawValue)', found \(token.shown).")
        }
    }

    mutating func warn(_ offset: Int, _ message: String) { warnings.append(Problem(offset: offset, message: message)) }

    @discardableResult
    mutating func emit(
        _ operation: Operation, _ a: Int32 = 0, isCondition: Bool = false, from start: Int
    ) -> Int {
        program.instructions.append(
            DatabaseInstruction(
                operation: operation, a: a, isCondition: isCondition, start: Int32(start),
                end: Int32(max(lastEnd, start))))
        return program.instructions.count - 1
    }

    private mutating func constant(_ value: DatabaseOperand, from start: Int) {
        var index = Int32(program.constants.count)
        if case .string(let text) = value {
            let known = strings[PatternText(text: text)]
            if known == nil { strings[PatternText(text: text)] = index }
            index = known ?? index
        }
        if index == program.constants.count { program.constants.append(value) }
        emit(.constant, index, from: start)
    }

    mutating func name(_ name: String) -> Int32 {
        program.names.append(name)
        return Int32(program.names.count - 1)
    }

    /// Replaces a string that was the last thing compiled, after `first` instructions, by its segments as a path.
    mutating func takePath(_ first: Int) -> Int32? {
        guard program.instructions.count == first + 1, let last = program.instructions.last,
            last.operation == .constant, case .string(let text) = program.constants[Int(last.a)]
        else { return nil }
        program.instructions.removeLast()
        program.paths.append(DatabasePathText.segments(text))
        return Int32(program.paths.count - 1)
    }

    /// The regular expression whose slash is the current word.
    mutating func parsePattern() throws(Problem) -> Int32 {
        let start = token.start
        let (pattern, flags, end) = try lexer.pattern(from: start)
        guard flags == "" || flags == "i" else {
            throw Problem(offset: end - flags.utf8.count, message: "The only flag of a regular expression is i.")
        }
        token.end = end
        let key = PatternText(text: flags + "/" + pattern)
        var index = patterns[key]
        if index == nil {
            guard patternSteps < RulesLimits.patternSteps else {
                throw Problem(offset: start, message: "The regular expressions of the file are too large together.")
            }
            let compiled: RegularExpression
            do { compiled = try DatabasePatternParser.compile(pattern, ignoresCase: flags == "i") } catch {
                throw Problem(offset: start + 1 + error.offset, message: error.message)
            }
            patternSteps += compiled.code.count
            index = Int32(program.patterns.count)
            patterns[key] = index
            program.patterns.append(compiled)
        }
        try advance()
        return index ?? 0
    }

    // MARK: Operators

    mutating func parseExpression() throws(Problem) -> Operand {
        nesting += 1
        defer { nesting -= 1 }
        guard nesting <= RulesLimits.nesting else {
            throw Problem(
                offset: token.start, message: "The expression is nested more than \(RulesLimits.nesting) deep.")
        }
        let condition = try parseBinary(1)
        guard token.symbol == .question else { return condition }
        guard condition.type == .boolean else {
            throw Problem(offset: condition.start, message: "The condition of ? must be boolean.")
        }
        try advance()
        let select = emit(.select, from: condition.start)
        let first = try parseExpression()
        try require(.colon)
        let jump = emit(.jump, from: condition.start)
        program.instructions[select].a = Int32(program.instructions.count)
        let second = try parseExpression()
        program.instructions[jump].a = Int32(program.instructions.count)
        guard let type = DatabaseType.common(first.type, second.type) else {
            throw Problem(offset: second.start, message: "Both results of ? must be of one type.")
        }
        let known =
            switch condition.constant {
            case true: first.constant
            case false: second.constant
            default: first.constant == second.constant ? first.constant : nil
            }
        return Operand(type: type, constant: known, start: condition.start)
    }

    private static let binary: [DatabaseToken.Symbol: (level: Int, operation: Operation)] = [
        .or: (1, .or), .and: (2, .and), .equal: (3, .equal), .identical: (3, .equal), .notEqual: (3, .notEqual),
        .notIdentical: (3, .notEqual), .less: (4, .less), .lessOrEqual: (4, .lessOrEqual), .greater: (4, .greater),
        .greaterOrEqual: (4, .greaterOrEqual), .plus: (5, .add), .minus: (5, .subtract), .times: (6, .multiply),
        .slash: (6, .divide), .percent: (6, .remainder),
    ]

    private mutating func parseBinary(_ least: Int) throws(Problem) -> Operand {
        var left = try parseUnary()
        while let symbol = token.symbol, let (level, operation) = Self.binary[symbol], level >= least {
            try advance()
            let isLogical = operation == .and || operation == .or
            var skip: Int?
            if isLogical {
                try requireBoolean(left, "Left", symbol)
                skip = emit(operation == .and ? .skipIfFalse : .skipIfTrue, from: left.start)
            }
            let right = try parseBinary(level + 1)
            if isLogical { try requireBoolean(right, "Right", symbol) }
            let result = try check(symbol, operation, left, right)
            emit(operation, isCondition: result.type == .boolean, from: left.start)
            if let skip { program.instructions[skip].a = Int32(program.instructions.count) }
            left = result
        }
        return left
    }

    private func requireBoolean(_ operand: Operand, _ side: String, _ symbol: DatabaseToken.Symbol) throws(Problem) {
        guard operand.type != .boolean else { return }
        throw Problem(
            offset: operand.start,
            message: "\(side) operand of \(symbol.rawValue) must be boolean"
                + (operand.type.isFuzzy ? "; compare it, such as with == true." : "."))
    }

    private mutating func check(
        _ symbol: DatabaseToken.Symbol, _ operation: Operation, _ left: Operand, _ right: Operand
    ) throws(Problem) -> Operand {
        func allow(_ types: [DatabaseType], _ names: String) throws(Problem) {
            for (operand, side) in [(left, "left"), (right, "right")]
            where !operand.type.isFuzzy && !types.contains(operand.type) {
                throw Problem(
                    offset: operand.start,
                    message: "Invalid \(symbol.rawValue) expression: \(side) operand is not a \(names).")
            }
        }
        var result = Operand(type: .boolean, constant: nil, start: left.start)
        switch operation {
        case .and:
            result.constant =
                left.constant == false || right.constant == false
                ? false : left.constant == true && right.constant == true ? true : nil
        case .or:
            result.constant =
                left.constant == true || right.constant == true
                ? true : left.constant == false && right.constant == false ? false : nil
        case .equal, .notEqual: try allow([.number, .boolean, .string, .null], "number, boolean, string, or null")
        case .less, .lessOrEqual, .greater, .greaterOrEqual:
            try allow([.number, .string, .null], "number or string")
            if left.type == .null || right.type == .null
                || !left.type.isFuzzy && !right.type.isFuzzy && left.type != right.type
            {
                warn(
                    left.start,
                    "'\(symbol.rawValue)' needs two numbers or two strings: a rule that gets here doesn't hold.")
            }
        case .add:
            try allow([.number, .string], "number or string")
            result.type =
                left.type == .string || right.type == .string
                ? .string : left.type == .number && right.type == .number ? .number : .primitive
        default:
            try allow([.number], "number")
            result.type = .number
        }
        return result
    }

    /// `!x` and `-x`, any number of them without recursion.
    private mutating func parseUnary() throws(Problem) -> Operand {
        var operators: [DatabaseToken] = []
        while token.symbol == .not || token.symbol == .minus {
            operators.append(token)
            guard operators.count <= RulesLimits.nesting else {
                throw Problem(
                    offset: token.start, message: "The expression is nested more than \(RulesLimits.nesting) deep.")
            }
            try advance()
        }
        let first = program.instructions.count
        var operand = try parsePostfix()
        for word in operators.reversed() {
            operand.start = word.start
            if word.symbol == .not {
                guard operand.type == .boolean else {
                    throw Problem(
                        offset: word.start,
                        message: "! operates on booleans only"
                            + (operand.type.isFuzzy ? "; compare it, such as with == true." : "."))
                }
                operand.constant = operand.constant.map { !$0 }
                emit(.not, isCondition: true, from: word.start)
            } else {
                guard operand.type == .number || operand.type.isFuzzy else {
                    throw Problem(offset: word.start, message: "- operates on numbers only.")
                }
                operand.type = .number
                if !negateConstant(first, from: word.start) { emit(.negate, from: word.start) }
            }
        }
        return operand
    }

    /// Makes a number negative that was the last thing compiled.
    private mutating func negateConstant(_ first: Int, from start: Int) -> Bool {
        guard program.instructions.count == first + 1, let last = program.instructions.last,
            last.operation == .constant
        else { return false }
        let value: DatabaseOperand
        switch program.constants[Int(last.a)] {
        case .integer(let number) where number != 0 && number != .min: value = .integer(-number)
        case .double(let number): value = number == 0x1p63 ? .integer(.min) : .double(-number)
        default: return false
        }
        program.instructions.removeLast()
        constant(value, from: start)
        return true
    }

    // MARK: What expressions begin with

    mutating func parsePrimary() throws(Problem) -> Operand {
        let word = token
        func operand(_ type: DatabaseType) -> Operand { Operand(type: type, constant: nil, start: word.start) }
        switch word.kind {
        case .integer(let value):
            try advance()
            constant(.integer(value), from: word.start)
            return operand(.number)
        case .double(let value):
            try advance()
            constant(.double(value), from: word.start)
            return operand(.number)
        case .string(let text):
            try advance()
            constant(.string(text), from: word.start)
            return operand(.string)
        case .name(let name):
            try advance()
            return try variable(name, word)
        case .symbol(.leftParenthesis):
            try advance()
            var inner = try parseExpression()
            try require(.rightParenthesis)
            inner.start = word.start
            return inner
        case .symbol(.slash):
            throw Problem(offset: word.start, message: "A regular expression is possible in matches(/…/) only.")
        case .symbol(.leftBracket):
            throw Problem(offset: word.start, message: "A list is possible in hasChildren([…]) only.")
        default:
            throw Problem(offset: word.start, message: "Expected an expression, found \(word.shown).")
        }
    }

    private mutating func variable(_ name: String, _ word: DatabaseToken) throws(Problem) -> Operand {
        var result = Operand(type: .snapshot, constant: nil, start: word.start)
        switch name {
        case "true", "false":
            constant(.boolean(name == "true"), from: word.start)
            (result.type, result.constant) = (.boolean, name == "true")
        case "null":
            constant(.null, from: word.start)
            result.type = .null
        case "auth":
            emit(.auth, from: word.start)
            result.type = .any
        case "now":
            emit(.now, from: word.start)
            result.type = .number
        case "root": emit(.root, from: word.start)
        case "data": emit(.data, from: word.start)
        case "newData" where kind != .read: emit(.newData, from: word.start)
        case "query" where kind == .read: result.type = .query
        default:
            guard let depth = captures.last(where: { TextBytes.equal($0.name, name) })?.depth else {
                throw Problem(offset: word.start, message: unknown(name))
            }
            emit(.capture, Int32(depth - 1), from: word.start)
            result.type = .string
        }
        return result
    }

    private func unknown(_ name: String) -> String {
        switch name {
        case "newData": return "Unknown variable 'newData': a .read rule has no new data."
        case "query": return "Unknown variable 'query': only a .read rule has it."
        default: break
        }
        let known = ["auth", "now", "root", "data", "newData", "query", "true", "false", "null"] + captures.map(\.name)
        let hint = NearestName.of(name, in: known).map { " Did you mean '\($0)'?" } ?? ""
        return "Unknown variable '\(name)'.\(hint)"
    }
}
