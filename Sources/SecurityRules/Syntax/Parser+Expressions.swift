extension Parser {
    private static let precedences: [Token.Symbol: (level: Int, operation: Instruction.Operation)] = [
        .or: (1, .or), .and: (2, .and), .equal: (4, .equal), .notEqual: (4, .notEqual), .less: (5, .less),
        .lessOrEqual: (5, .lessOrEqual), .greater: (5, .greater), .greaterOrEqual: (5, .greaterOrEqual),
        .plus: (6, .add), .minus: (6, .subtract), .times: (7, .multiply), .slash: (7, .divide),
        .percent: (7, .remainder),
    ]
    /// `in` and `is`.
    private static let wordLevel = 3

    /// Compiles an expression; its code leaves one value.
    mutating func parseExpression() {
        nesting += 1
        defer { nesting -= 1 }
        guard nesting <= RulesLimits.nesting + 1 else {
            if !isLost { error(token.range.start, "the expression is nested more than \(RulesLimits.nesting) deep") }
            isLost = true
            return
        }
        let start = token.range.start
        parseBinary(1)
        guard token.symbol == .question, !isLost else { return }
        advance()
        let select = emit(.select, from: start)
        parseExpression()
        guard require(.colon) else { return }
        let jump = emit(.jump, from: start)
        program.instructions[select].a = Int32(program.instructions.count)
        parseExpression()
        let end = Int32(program.instructions.count)
        program.instructions[select].b = end
        program.instructions[jump].a = end
    }

    private mutating func parseBinary(_ least: Int) {
        let start = token.range.start
        parseUnary()
        while !isLost {
            if let name = token.name, name == "in" || name == "is", Self.wordLevel >= least {
                advance()
                if name == "is" {
                    parseType(start)
                } else {
                    parseBinary(Self.wordLevel + 1)
                    emit(.contains, from: start)
                }
                continue
            }
            guard let symbol = token.symbol, let (level, operation) = Self.precedences[symbol], level >= least else {
                return
            }
            advance()
            var skip: Int?
            if operation == .and { skip = emit(.skipIfFalse, from: start) }
            if operation == .or { skip = emit(.skipIfTrue, from: start) }
            parseBinary(level + 1)
            emit(operation, from: start)
            if let skip { program.instructions[skip].a = Int32(program.instructions.count) }
        }
    }

    private mutating func parseType(_ start: Int) {
        let offset = token.range.start
        guard let name = requireName("a type after 'is'") else { return }
        let types = [
            "bool", "bytes", "constraint", "duration", "float", "int", "latlng", "list", "vector", "set", "number",
            "map",
            "string", "timestamp", "path", "map_diff",
        ]
        if !types.contains(name) {
            error(
                offset,
                "'\(name)' is not a type; write bool, bytes, duration, float, int, latlng, list, map, number, path, string or timestamp"
            )
        }
        emit(.hasType, self.name(name), from: start)
    }

    /// `!x` and `-x`, any number of them without recursion.
    private mutating func parseUnary() {
        var operators: [(operation: Instruction.Operation, offset: Int)] = []
        while let symbol = token.symbol, symbol == .not || symbol == .minus {
            if symbol == .minus, lexer.hasByte("-", at: token.range.end) {
                error(token.range.start, "'--' is not an operator")
            }
            operators.append((symbol == .not ? .not : .negate, token.range.start))
            advance()
            if symbol == .minus, token.kind == .integer(.min) {
                // The smallest integer, which has no positive counterpart.
                operators.removeLast()
                constant(.int(.min))
                for (operation, offset) in operators.reversed() { emit(operation, from: offset) }
                return
            }
        }
        guard operators.count <= RulesLimits.nesting else {
            error(token.range.start, "the expression is nested more than \(RulesLimits.nesting) deep")
            isLost = true
            return
        }
        parsePostfix()
        for (operation, offset) in operators.reversed() { emit(operation, from: offset) }
    }

    // MARK: Members, indexes and calls

    private mutating func parsePostfix() {
        let start = token.range.start
        parsePrimary()
        while !isLost {
            if take(.dot) {
                guard let name = requireName("a name after '.'") else { return }
                if token.symbol == .leftParenthesis {
                    let first = program.instructions.count
                    guard let count = parseValues(until: .rightParenthesis) else { return }
                    if count > 0 { checkPattern(method: name, first) }
                    emit(.method, self.name(name), Int32(count), from: start)
                } else {
                    emit(.member, self.name(name), from: start)
                }
            } else if token.symbol == .leftBracket {
                advance()
                parseIndex(start)
            } else {
                return
            }
        }
    }

    private mutating func parseIndex(_ start: Int) {
        var bounds: Int32 = 0
        if token.symbol != .colon {
            parseExpression()
            bounds |= 1
        }
        if take(.colon) {
            if token.symbol != .rightBracket {
                parseExpression()
                bounds |= 2
            }
            emit(.slice, bounds, from: start)
        } else {
            emit(.index, from: start)
        }
        require(.rightBracket)
    }

    /// Values between brackets, separated by commas. The opening bracket is looked at.
    private mutating func parseValues(until closing: Token.Symbol) -> Int? {
        advance()
        var count = 0
        while token.symbol != closing {
            parseExpression()
            count += 1
            guard !isLost else { return nil }
            if !take(.comma) { break }
        }
        return require(closing) ? count : nil
    }

    // MARK: What expressions begin with

    private mutating func parsePrimary() {
        let start = token.range.start
        switch token.kind {
        case .integer(.min):
            error(start, "9223372036854775808 is larger than the largest integer, 9223372036854775807")
            advance()
        case .integer(let value): constant(.int(value))
        case .float(let value): constant(.float(value))
        case .string(let text): constant(.string(text))
        case .bytes(let bytes): constant(.bytes(bytes))
        case .name(let name): parseName(name)
        case .symbol(.leftParenthesis):
            advance()
            parseExpression()
            if !isLost { require(.rightParenthesis) }
        case .symbol(.leftBracket):
            guard let count = parseValues(until: .rightBracket) else { return }
            emit(.list, Int32(count), from: start)
        case .symbol(.leftBrace): parseMap()
        case .symbol(.slash): parsePath()
        default: expected("an expression")
        }
    }

    private mutating func constant(_ value: RuleValue) {
        let start = token.range.start
        advance()
        program.constants.append(value)
        emit(.constant, Int32(program.constants.count - 1), from: start)
    }

    private mutating func parseName(_ name: String) {
        let start = token.range.start
        switch name {
        case "true": return constant(.bool(true))
        case "false": return constant(.bool(false))
        case "null": return constant(.null)
        default: break
        }
        advance()
        if Builtins.isNamespace(name) { return parseNamespace(name, start) }
        if token.symbol == .leftParenthesis { return parseCall(name, start) }
        if let local = context.locals.lastIndex(where: { $0.name == name }) {
            context.used.insert(local)
            emit(.local, Int32(local), from: start)
        } else if let capture = scopes[scope].captures.lastIndex(of: name) {
            emit(.capture, Int32(capture), from: start)
        } else if name == "request" {
            emit(.request, from: start)
        } else if name == "resource" {
            emit(.resource, from: start)
        } else {
            warning(start, "nothing declares '\(name)'; this has no value")
            emit(.undefined, self.name(name), from: start)
        }
    }

    private mutating func parseNamespace(_ namespace: String, _ start: Int) {
        guard take(.dot), let name = requireName("a function of '\(namespace)'"), token.symbol == .leftParenthesis
        else {
            error(
                start,
                "'\(namespace)' has functions, such as \(namespace).\(Builtins.example(of: namespace))(…), and no value"
            )
            isLost = true
            return
        }
        guard let count = parseValues(until: .rightParenthesis) else { return }
        guard let builtin = Builtins.Function(rawValue: "\(namespace).\(name)") else {
            warning(start, "there is no function \(namespace).\(name); this has no value")
            emit(.undefined, self.name("\(namespace).\(name)"), from: start)
            return
        }
        emit(.builtin, builtin.index, Int32(count), from: start)
    }

    /// A call of a function of the file or of the language: which is known when all have been read. Arguments are code of
    /// their own, as they are evaluated only when they are used.
    private mutating func parseCall(_ name: String, _ start: Int) {
        advance()
        var arguments: [Int32] = []
        while token.symbol != .rightParenthesis {
            let place = token.range.start
            let jump = emit(.jump, from: place)
            arguments.append(Int32(program.instructions.count))
            parseExpression()
            guard !isLost else { return }
            emit(.end, from: place)
            program.instructions[jump].a = Int32(program.instructions.count)
            if !take(.comma) { break }
        }
        guard require(.rightParenthesis) else { return }
        calls.append(
            UnresolvedCall(
                instruction: program.instructions.count, name: name, arguments: arguments.count, scope: scope,
                caller: context.function, offset: start))
        emit(.call, 0, Int32(arguments.count), from: start)
        // Read by the call, not evaluated.
        for code in arguments { emit(.jump, code, from: start) }
    }

    private mutating func parseMap() {
        let start = token.range.start
        advance()
        var count: Int32 = 0
        while token.symbol != .rightBrace {
            guard case .string = token.kind else { return expected("a string as the name of a member") }
            parsePrimary()
            guard require(.colon) else { return }
            parseExpression()
            count += 1
            guard !isLost else { return }
            if !take(.comma) { break }
        }
        guard require(.rightBrace) else { return }
        emit(.map, count, from: start)
    }

    /// `/users/$(uid)/posts`, from its first slash.
    private mutating func parsePath() {
        let start = token.range.start
        var count: Int32 = 0
        while token.symbol == .slash {
            let slash = token.range
            if lexer.hasByte("$", at: slash.end) {
                advance()
                advance()
                guard require(.leftParenthesis) else { return }
                parseExpression()
                guard !isLost, token.symbol == .rightParenthesis else { return expected("')'") }
                let end = token.range.end
                advance()
                count += 1
                // A path ends where a blank follows.
                guard token.symbol == .slash, token.range.start == end else { break }
                continue
            }
            let (text, end) = lexer.pathSegment(from: slash.end)
            guard !text.isEmpty else {
                advance()
                return expected("a segment of the path after '/'")
            }
            program.constants.append(.string(text))
            emit(.constant, Int32(program.constants.count - 1), from: slash.end)
            count += 1
            lastEnd = end
            token = lexer.next()
            guard token.symbol == .slash, token.range.start == end else { break }
        }
        emit(.path, count, from: start)
    }

    // MARK: Code

    @discardableResult
    mutating func emit(_ operation: Instruction.Operation, _ a: Int32 = 0, _ b: Int32 = 0, from start: Int) -> Int {
        program.instructions.append(Instruction(operation: operation, a: a, b: b))
        program.ranges.append(SourceRange(start, max(start, lastEnd)))
        return program.instructions.count - 1
    }

    /// Whether a constant is an argument of its own, and not the beginning of an expression.
    private func isWhole(_ instruction: Int) -> Bool {
        guard instruction + 1 < program.instructions.count else { return true }
        // The code of a larger expression begins where its first operand does.
        let start = program.ranges[instruction].start
        return !program.ranges[(instruction + 1)...].contains { $0.start == start }
    }

    /// A pattern that stands in the file is compiled once, and its mistakes are reported.
    ///
    /// - Parameter instruction: where the code of the first argument begins.
    private mutating func checkPattern(method: String, _ instruction: Int) {
        guard ["matches", "split", "replace"].contains(method), case let code = program.instructions[instruction],
            code.operation == .constant, case .string(let pattern) = program.constants[Int(code.a)],
            isWhole(instruction), program.patterns[PatternText(text: pattern)] == nil
        else { return }
        do {
            let expression = try RegularExpression(pattern)
            patternSteps += expression.code.count
            guard patternSteps <= RulesLimits.patternSteps else {
                return error(
                    program.ranges[instruction].start, "the regular expressions of this file are too large together")
            }
            program.patterns[PatternText(text: pattern)] = expression
        } catch let problem {
            error(program.ranges[instruction].start, "the regular expression is invalid: \(problem.message)")
        }
    }

    mutating func name(_ name: String) -> Int32 {
        if let index = nameIndexes[name] { return index }
        let index = Int32(program.names.count)
        program.names.append(name)
        nameIndexes[name] = index
        return index
    }
}
