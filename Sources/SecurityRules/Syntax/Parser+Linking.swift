extension Parser {
    /// Resolves the calls, and checks what can be seen only in the whole file.
    mutating func linked() throws(InvalidRules) -> Ruleset {
        var callees: [[Int]] = Array(repeating: [], count: program.functions.count)
        var isCalled = [Bool](repeating: false, count: program.functions.count)
        for call in calls {
            if let function = function(named: call.name, in: call.scope) {
                program.instructions[call.instruction].a = Int32(function)
                isCalled[function] = true
                if let caller = call.caller { callees[caller].append(function) }
                let parameters = program.functions[function].parameters
                if parameters != call.arguments {
                    warning(
                        call.offset,
                        "'\(call.name)' has \(parameters) parameters and is called with \(call.arguments); this has no value"
                    )
                }
            } else if let builtin = Builtins.Function(rawValue: call.name) {
                evaluateArguments(of: call, before: builtin)
            } else {
                program.instructions[call.instruction].operation = .undefined
                program.instructions[call.instruction].a = name(call.name)
                warning(call.offset, "there is no function '\(call.name)'; this has no value")
            }
        }
        checkCalls(callees)
        for (index, function) in program.functions.enumerated() where !isCalled[index] {
            warning(functionOffsets[index], "the function '\(function.name)' isn't used")
        }
        for root in roots { checkBlock(root, segments: 0, isBelowGlob: false) }
        let bytes = 4 * (program.instructions.count + program.constants.count)
        if bytes > RulesLimits.compiledBytes {
            error(0, "the compiled rules are larger than \(RulesLimits.compiledBytes) bytes, the limit")
        }
        let all = lexer.diagnostics.all.sorted { ($0.position, $0.message) < ($1.position, $1.message) }
        guard lexer.diagnostics.errors == 0 else { throw InvalidRules(diagnostics: all) }
        return Ruleset(
            version: version, warnings: all, source: source, program: program, matches: matches, roots: roots,
            allows: allows)
    }

    /// Functions of the language need the values of their arguments: their code becomes a part of the expression.
    private mutating func evaluateArguments(of call: UnresolvedCall, before builtin: Builtins.Function) {
        let end = call.instruction + call.arguments + 1
        for place in call.instruction + 1..<end {
            let code = program.instructions[place].a
            let after = program.instructions[Int(code) - 1].a
            program.instructions[Int(code) - 1].a = code
            program.instructions[Int(after) - 1] = Instruction(operation: .jump, a: after)
            program.instructions[place].a = Int32(end)
        }
        program.instructions[call.instruction] = Instruction(
            operation: .builtin, a: builtin.index, b: Int32(call.arguments))
    }

    private func function(named name: String, in scope: Int) -> Int? {
        var scope: Int? = scope
        while let current = scope {
            if let function = scopes[current].functions[name] { return function }
            scope = scopes[current].parent
        }
        return nil
    }

    /// Refuses recursion and calls that are nested too deep.
    private mutating func checkCalls(_ callees: [[Int]]) {
        // How deep the calls below a function are; nil before it is known.
        var depths = [Int?](repeating: nil, count: callees.count)
        var isOpen = [Bool](repeating: false, count: callees.count)
        for root in callees.indices where depths[root] == nil {
            // Depth first, without recursion: a chain may have as many functions as the file has room for.
            var stack = [(function: root, next: 0)]
            isOpen[root] = true
            while let (function, next) = stack.last {
                if next < callees[function].count {
                    stack[stack.count - 1].next += 1
                    let callee = callees[function][next]
                    if isOpen[callee], lexer.diagnostics.errors < RulesLimits.nesting {
                        let start = stack.firstIndex { $0.function == callee } ?? 0
                        let names = (stack[start...].map(\.function) + [callee]).map { program.functions[$0].name }
                        error(
                            functionOffsets[callee], "a function can't call itself: \(names.joined(separator: " → "))")
                    } else if depths[callee] == nil, !isOpen[callee] {
                        isOpen[callee] = true
                        stack.append((callee, 0))
                    }
                    continue
                }
                let depth = 1 + (callees[function].compactMap { depths[$0] }.max() ?? 0)
                depths[function] = depth
                isOpen[function] = false
                stack.removeLast()
                if depth == RulesLimits.callDepth + 2 {
                    error(
                        functionOffsets[function],
                        "calls are nested more than \(RulesLimits.callDepth) deep from '\(program.functions[function].name)' on"
                    )
                }
            }
        }
    }

    // MARK: Warnings

    /// At most ten blocks deep.
    private mutating func checkBlock(_ index: Int, segments: Int, isBelowGlob: Bool) {
        let block = matches[index]
        let count = segments + block.segments.count
        if count > RulesLimits.pathSegments {
            return error(block.range.start, "nested paths have more than \(RulesLimits.pathSegments) segments")
        }
        // In version 1 such a block never fits.
        if isBelowGlob, block.hasGlob, version != 1 {
            error(block.range.start, "a path can have one '**', and that of a block around this one has it")
        }
        if segments == 0, !fitsDatabase(block) {
            warning(
                block.range.start, "no document has this path; begin with match /databases/{database}/documents { … }")
        }
        var open: RulesMethods = []
        for allow in block.allows.map({ allows[$0] }) {
            let condition = allow.condition.flatMap { constantCondition($0) }
            if let condition, !condition { warning(allow.range.start, "this never allows anything") }
            if !allow.methods.isEmpty, allow.methods.isSubset(of: open) {
                warning(allow.range.start, "an 'allow' before allows this already")
            }
            if !allow.methods.isEmpty, allow.condition == nil || condition == true {
                open.formUnion(allow.methods)
                let writes = allow.methods.intersection(.write)
                warning(
                    allow.range.start,
                    writes.isEmpty ? "everybody may read these documents" : "everybody may change these documents")
            }
        }
        let isWhole = if case .glob? = block.segments.last { false } else { block.hasGlob }
        for child in block.children {
            if isWhole {
                warning(
                    matches[child].range.start,
                    "this never fits, since the path of the block around it goes on after '**'; write the whole path")
            }
            checkBlock(child, segments: count, isBelowGlob: isBelowGlob || block.hasGlob)
        }
    }

    private func fitsDatabase(_ block: MatchBlock) -> Bool {
        let wanted = ["databases", nil, "documents"]
        for (segment, literal) in zip(block.segments, wanted) {
            switch segment {
            case .glob: return true
            case .single: continue
            case .literal(let text): if let literal, text != literal { return false }
            }
        }
        return true
    }

    /// What a condition is that is `true`, `false`, or one of them in parentheses.
    private func constantCondition(_ code: Int32) -> Bool? {
        let first = program.instructions[Int(code)]
        guard first.operation == .constant, program.instructions[Int(code) + 1].operation == .end,
            case .bool(let value) = program.constants[Int(first.a)]
        else { return nil }
        return value
    }
}
