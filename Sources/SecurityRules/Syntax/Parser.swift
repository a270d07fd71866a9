/// Reads a rules file and compiles its expressions on the way. Errors are collected; after one, reading goes on with the
/// next statement.
struct Parser {
    let source: SourceText
    var lexer: Lexer
    /// The word that is looked at.
    var token: Token
    /// The end of the word before.
    var lastEnd = 0
    var program = Program()
    var nameIndexes: [String: Int32] = [:]
    var nesting = 0
    /// Whether an error made the rest of the current statement unreadable.
    var isLost = false

    var version = 1
    var scopes = [Scope(parent: nil)]
    var scope = 0
    var context = FunctionContext(function: nil)
    var calls: [UnresolvedCall] = []
    var functionOffsets: [Int] = []
    var functionScopes: [Int] = []
    var matches: [MatchBlock] = []
    var roots: [Int] = []
    var allows: [AllowStatement] = []
    private var services = 0
    /// Steps of the regular expressions so far.
    var patternSteps = 0

    init(_ source: SourceText) {
        self.source = source
        lexer = Lexer(source)
        token = Token(kind: .end, range: SourceRange(0, 0))
        guard source.bytes.count <= RulesLimits.sourceBytes else {
            error(
                0, "the file has \(source.bytes.count) bytes; at most \(RulesLimits.sourceBytes) are allowed (256 KiB)")
            return
        }
        token = lexer.next()
    }

    // MARK: Words

    mutating func advance() {
        lastEnd = token.range.end
        token = lexer.next()
    }

    mutating func error(_ offset: Int, _ message: String) { lexer.diagnostics.error(offset, message) }

    mutating func warning(_ offset: Int, _ message: String) { lexer.diagnostics.warning(offset, message) }

    /// Reports what stands here instead of what is wanted, once for a statement.
    mutating func expected(_ what: String) {
        if !isLost, token.kind != .invalid { error(token.range.start, "expected \(what), found \(token.shown)") }
        isLost = true
    }

    mutating func take(_ symbol: Token.Symbol) -> Bool {
        guard token.symbol == symbol else { return false }
        advance()
        return true
    }

    mutating func take(name: String) -> Bool {
        guard token.name == name else { return false }
        advance()
        return true
    }

    @discardableResult
    mutating func require(_ symbol: Token.Symbol, _ what: String? = nil) -> Bool {
        if take(symbol) { return true }
        expected(what ?? "'\(symbol.rawValue)'")
        return false
    }

    mutating func requireName(_ what: String) -> String? {
        guard let name = token.name else {
            expected(what)
            return nil
        }
        advance()
        return name
    }

    /// Goes on with the next statement, or the end of the block.
    mutating func recover() {
        isLost = false
        var depth = 0
        while token.kind != .end {
            if depth == 0 {
                if take(.semicolon) { return }
                if token.symbol == .rightBrace { return }
                if let name = token.name, ["match", "allow", "function", "service"].contains(name) { return }
            }
            if token.symbol == .leftBrace { depth += 1 }
            if token.symbol == .rightBrace { depth -= 1 }
            advance()
        }
    }

    // MARK: The file

    mutating func parseFile() {
        guard source.bytes.count <= RulesLimits.sourceBytes else { return }
        if token.kind == .end { return error(0, "the file is empty; it needs 'service cloud.firestore { … }'") }
        parseVersion()
        while token.kind != .end {
            if token.name == "service" {
                parseService()
            } else if token.name == "function" {
                parseFunction()
            } else if token.name == "import" {
                error(token.range.start, "rules can't import; declare the function in this file")
                advance()
                recover()
            } else {
                expected("'service' or 'function'")
                advance()
                recover()
                if token.symbol == .rightBrace { advance() }
            }
        }
        if services == 0, lexer.diagnostics.errors == 0 {
            error(token.range.start, "the file has no 'service cloud.firestore { … }'")
        }
    }

    private mutating func parseVersion() {
        guard token.name == "rules_version" else {
            return warning(0, "the rules are of version 1; begin the file with rules_version = '2';")
        }
        advance()
        guard require(.assign) else { return recover() }
        switch token.kind {
        case .string("2"): version = 2
        case .string("1"): warning(token.range.start, "version 1 is old; write '2'")
        default: error(token.range.start, "expected '1' or '2', found \(token.shown)")
        }
        advance()
        if !require(.semicolon) { recover() }
    }

    private mutating func parseService() {
        let start = token.range.start
        advance()
        var name = requireName("the service's name") ?? ""
        while take(.dot) { name += "." + (requireName("the service's name") ?? "") }
        let isFirestore = name == "cloud.firestore"
        if isFirestore {
            services += 1
            if services > 1 { error(start, "there are two 'service cloud.firestore'") }
        } else if !isLost {
            warning(start, "the rules of \(name) aren't for documents; they are skipped")
        }
        guard require(.leftBrace) else { return recover() }
        let isEmpty = token.symbol == .rightBrace
        if isEmpty { error(token.range.start, "the service has no 'match' or 'function'") }
        let (before, beforeScope) = (matches.count, scope)
        scopes.append(Scope(parent: scope))
        scope = scopes.count - 1
        parseBlock(of: nil, depth: 0)
        scope = beforeScope
        if !isFirestore { roots.removeAll { $0 >= before } }
    }

    /// What stands in the braces of a service or a match, and the closing brace.
    mutating func parseBlock(of match: Int?, depth: Int) {
        while token.kind != .end, token.symbol != .rightBrace {
            switch token.name {
            case "match": parseMatch(in: match, depth: depth + 1)
            case "function": parseFunction()
            case "allow" where match != nil: parseAllow(match ?? 0)
            case "allow":
                error(token.range.start, "'allow' must stand within 'match'")
                advance()
                recover()
            default:
                expected(match == nil ? "'match' or 'function'" : "'match', 'allow' or 'function'")
                advance()
                recover()
            }
        }
        if !take(.rightBrace) { expected("'}'") }
        isLost = false
    }

    // MARK: match

    private mutating func parseMatch(in parent: Int?, depth: Int) {
        let start = token.range.start
        advance()
        var block = MatchBlock(segments: [], range: SourceRange(start, start))
        var inner = Scope(parent: scope, captures: scopes[scope].captures, captureOffsets: scopes[scope].captureOffsets)
        let known = inner.captures.count
        if token.symbol != .slash { expected("the path to match, such as /users/{user}") }
        while token.symbol == .slash, !isLost {
            parseSegment(&block, &inner, known: known)
            if inner.captures.count > RulesLimits.captures || block.segments.count > RulesLimits.pathSegments { break }
        }
        block.range.end = lastEnd
        checkSegments(block, start)
        if depth > RulesLimits.matchDepth + 1 {
            error(start, "'match' blocks are nested more than \(RulesLimits.matchDepth) deep")
        }
        if inner.captures.count > RulesLimits.captures {
            error(start, "the paths around here capture more than \(RulesLimits.captures) names")
            isLost = true
        } else if block.segments.count > RulesLimits.pathSegments {
            isLost = true
        }
        let index = matches.count
        matches.append(block)
        if let parent { matches[parent].children.append(index) } else { roots.append(index) }
        let outer = scope
        scopes.append(inner)
        scope = scopes.count - 1
        if isLost { isLost = false; while token.kind != .end, token.symbol != .leftBrace { advance() } }
        if require(.leftBrace) {
            if token.symbol == .rightBrace { error(token.range.start, "the 'match' block is empty") }
            // Deeper blocks aren't read: nothing recurses as deep as its input.
            if depth > RulesLimits.matchDepth + 1 { skipBlock() } else { parseBlock(of: index, depth: depth) }
        } else {
            recover()
        }
        scope = outer
    }

    private mutating func skipBlock() {
        var depth = 1
        while token.kind != .end, depth > 0 {
            if token.symbol == .leftBrace { depth += 1 }
            if token.symbol == .rightBrace { depth -= 1 }
            advance()
        }
    }

    private mutating func parseSegment(_ block: inout MatchBlock, _ scope: inout Scope, known: Int) {
        let slash = token.range
        if lexer.hasByte("{", at: slash.end) {
            advance()
            advance()
            let offset = token.range.start
            guard let name = requireName("the name of a segment") else { return }
            var segment = MatchBlock.Segment.single
            if take(.assign) {
                if take(.glob) { segment = .glob } else if !take(.times) { return expected("'*' or '**'") }
            }
            guard require(.rightBrace) else { return }
            if scope.captures[known...].contains(name) { error(offset, "the path captures '\(name)' twice") }
            if Builtins.isNamespace(name) { error(offset, "'\(name)' is a name of the language; choose another one") }
            scope.captures.append(name)
            scope.captureOffsets.append(offset)
            block.segments.append(segment)
            return
        }
        let (text, end) = lexer.pathSegment(from: slash.end)
        guard !text.isEmpty else {
            advance()
            return expected("a segment of the path after '/'")
        }
        block.segments.append(.literal(text))
        lastEnd = end
        token = lexer.next()
    }

    private mutating func checkSegments(_ block: MatchBlock, _ start: Int) {
        let globs = block.segments.indices.filter { block.segments[$0] == .glob }
        if globs.count > 1 { error(start, "a path can have one '**'") }
        if version == 1, let glob = globs.first, glob < block.segments.count - 1 {
            error(start, "in version 1, '**' must be the last segment; begin the file with rules_version = '2';")
        }
        if block.segments.count > RulesLimits.pathSegments {
            error(start, "the path has more than \(RulesLimits.pathSegments) segments")
        }
    }

    // MARK: allow

    private mutating func parseAllow(_ match: Int) {
        let start = token.range.start
        advance()
        var methods: RulesMethods = []
        repeat {
            let offset = token.range.start
            guard let name = requireName("what is allowed: read, get, list, write, create, update or delete") else {
                break
            }
            if let method = RulesMethods.named[name] {
                methods.formUnion(method)
            } else {
                // A warning, as on the emulator: such a file allows less than it seems to, never more.
                warning(offset, "'\(name)' can't be allowed; write read, get, list, write, create, update or delete")
            }
        } while take(.comma)
        var condition: Int32?
        if !isLost {
            if take(.colon) {
                if take(name: "if") { condition = parseCondition() } else { expected("'if' and a condition") }
            } else if token.name == "if" {
                expected("':' before 'if'")
            }
        }
        let range = SourceRange(start, lastEnd)
        if isLost {
            recover()
        } else if token.symbol != .rightBrace, !["match", "allow", "function"].contains(token.name), !take(.semicolon) {
            expected("';'")
            recover()
        }
        matches[match].allows.append(allows.count)
        allows.append(
            AllowStatement(
                methods: methods, condition: condition, range: range, position: source.position(of: range.start)))
    }

    private mutating func parseCondition() -> Int32 {
        context = FunctionContext(function: nil)
        let start = Int32(program.instructions.count)
        if token.symbol == .semicolon { expected("a condition after 'if'") } else { parseExpression() }
        emit(.end, from: lastEnd)
        return start
    }

    // MARK: function

    private mutating func parseFunction() {
        advance()
        let offset = token.range.start
        guard let name = requireName("the function's name") else { return recover() }
        let index = program.functions.count
        if scopes[scope].functions[name] != nil { error(offset, "the function '\(name)' is declared twice") }
        scopes[scope].functions[name] = index
        functionOffsets.append(offset)
        functionScopes.append(scope)
        program.functions.append(CompiledFunction(name: name, parameters: 0))
        context = FunctionContext(function: index)
        if require(.leftParenthesis) { parseParameters(name, offset) }
        program.functions[index].parameters = context.locals.count
        guard !isLost, require(.leftBrace) else {
            recover()
            if take(.rightBrace) {}
            return
        }
        var lets = 0
        while token.name == "let" {
            lets += 1
            guard lets <= RulesLimits.letBindings else {
                error(offset, "the function '\(name)' has more than \(RulesLimits.letBindings) 'let's")
                isLost = true
                break
            }
            parseLet(index)
        }
        if !isLost, !take(name: "return") { expected(lets == 0 ? "'let' or 'return'" : "'return'") }
        program.functions[index].code = Int32(program.instructions.count)
        if !isLost { parseExpression() }
        emit(.end, from: lastEnd)
        if !isLost, token.symbol != .rightBrace, !take(.semicolon) { expected("';'") }
        if isLost { recover() }
        if !take(.rightBrace) {
            expected("'}' after the function's 'return'")
            recover()
            _ = take(.rightBrace)
        }
        isLost = false
        for (local, declared) in context.locals.enumerated() where !context.used.contains(local) {
            warning(declared.offset, "'\(declared.name)' isn't used")
        }
    }

    private mutating func parseParameters(_ name: String, _ offset: Int) {
        if take(.rightParenthesis) { return }
        repeat {
            let place = token.range.start
            guard let parameter = requireName("a parameter's name") else { return }
            declare(parameter, place)
            guard context.locals.count <= RulesLimits.arguments else {
                error(offset, "the function '\(name)' has more than \(RulesLimits.arguments) parameters")
                isLost = true
                return
            }
        } while take(.comma)
        require(.rightParenthesis)
    }

    private mutating func parseLet(_ function: Int) {
        advance()
        let place = token.range.start
        if version == 1 { error(place, "'let' needs version 2; begin the file with rules_version = '2';") }
        guard let name = requireName("a name after 'let'"), require(.assign) else { return recover() }
        program.functions[function].lets.append(Int32(program.instructions.count))
        parseExpression()
        emit(.end, from: lastEnd)
        // Visible from here on.
        declare(name, place)
        if isLost || !require(.semicolon) { recover() }
    }

    private mutating func declare(_ name: String, _ place: Int) {
        if context.locals.contains(where: { $0.name == name }) {
            error(place, "'\(name)' is declared twice in this function")
        }
        if Builtins.isNamespace(name) { error(place, "'\(name)' is a name of the language; choose another one") }
        context.locals.append((name, place))
    }
}
