import TextFormats

/// Members, indexes and calls.
extension DatabaseExpressionParser {
    mutating func parsePostfix() throws(Problem) -> Operand {
        var operand = try parsePrimary()
        while true {
            switch token.symbol {
            case .dot:
                try advance()
                guard case .name(let name) = token.kind else {
                    throw Problem(offset: token.start, message: "Expected a name after '.', found \(token.shown).")
                }
                let offset = token.start
                try advance()
                operand = try member(name, of: operand, at: offset)
            case .leftBracket:
                try advance()
                operand = try parseIndex(of: operand)
            case .leftParenthesis:
                throw Problem(offset: operand.start, message: "This is not a method, and can't be called.")
            default:
                if operand.type == .query {
                    throw Problem(
                        offset: operand.start,
                        message: "'query' has no value of its own; write query.limitToFirst or similar.")
                }
                return operand
            }
        }
    }

    /// After `x[`.
    private mutating func parseIndex(of operand: Operand) throws(Problem) -> Operand {
        let offset = token.start
        if case .string(let name) = token.kind {
            // A literal is the same as a name after a dot.
            let first = program.instructions.count
            let index = try parseExpression()
            try require(.rightBracket)
            if program.instructions.count == first + 1, index.start == offset {
                program.instructions.removeLast()
                return try member(name, of: operand, at: offset)
            }
            return try self.index(operand, index)
        }
        let index = try parseExpression()
        try require(.rightBracket)
        return try self.index(operand, index)
    }

    private mutating func index(_ operand: Operand, _ index: Operand) throws(Problem) -> Operand {
        guard operand.type == .any else {
            throw Problem(
                offset: index.start,
                message: "Invalid property access: only auth can be indexed by what isn't a literal.")
        }
        guard index.type == .string || index.type == .number || index.type.isFuzzy else {
            throw Problem(offset: index.start, message: "Invalid property access: the index is not a string or number.")
        }
        emit(.index, from: operand.start)
        return Operand(type: .any, constant: nil, start: operand.start)
    }

    private func noSuch(_ name: String, at offset: Int, in known: [String]) -> Problem {
        let hint = NearestName.of(name, in: known).map { " Did you mean '\($0)'?" } ?? ""
        return Problem(offset: offset, message: "No such method/property '\(name)'.\(hint)")
    }

    /// `x.name` or `x.name(…)`. The name was read.
    private mutating func member(_ name: String, of operand: Operand, at offset: Int) throws(Problem) -> Operand {
        let isCall = token.symbol == .leftParenthesis
        func result(_ type: DatabaseType) -> Operand { Operand(type: type, constant: nil, start: operand.start) }
        switch operand.type {
        case .query:
            guard let member = DatabaseQueryMember(rawValue: name), !isCall else {
                throw noSuch(name, at: offset, in: DatabaseQueryMember.all.map(\.rawValue))
            }
            switch member {
            case .orderByKey, .orderByValue, .orderByPriority:
                emit(.query, member.index, isCondition: true, from: operand.start)
                return result(.boolean)
            default:
                emit(.query, member.index, from: operand.start)
                return result(.primitive)
            }
        case .snapshot:
            guard let method = DatabaseMethod.ofSnapshots.first(where: { $0.name == name }) else {
                throw noSuch(name, at: offset, in: DatabaseMethod.ofSnapshots.map(\.name))
            }
            return try call(method, of: operand, at: offset)
        case .string, .primitive, .any:
            if !isCall, name == "length" {
                emit(.length, self.name(name), from: operand.start)
                return result(operand.type == .any ? .any : operand.type == .string ? .number : .primitive)
            }
            if !isCall, operand.type == .any {
                emit(.member, self.name(name), from: operand.start)
                return result(.any)
            }
            guard let method = DatabaseMethod.ofStrings.first(where: { $0.name == name }) else {
                throw noSuch(name, at: offset, in: DatabaseMethod.ofStrings.map(\.name) + ["length"])
            }
            return try call(method, of: operand, at: offset)
        case .boolean, .number, .null: throw noSuch(name, at: offset, in: [])
        }
    }

    // MARK: Calls

    private mutating func call(
        _ method: DatabaseMethod, of operand: Operand, at offset: Int
    ) throws(Problem) -> Operand {
        guard token.symbol == .leftParenthesis else {
            throw Problem(offset: offset, message: "'\(method.name)' is a method; write \(method.name)(…).")
        }
        try advance()
        let first = program.instructions.count
        let isCondition = method.result == .boolean
        let result = Operand(type: method.result, constant: nil, start: operand.start)
        switch method.operation {
        case .matches:
            guard token.symbol == .slash else {
                throw Problem(offset: token.start, message: "matches needs a regular expression: matches(/…/).")
            }
            let pattern = try parsePattern()
            try require(.rightParenthesis)
            emit(.matches, pattern, isCondition: true, from: operand.start)
            return result
        case .hasChildren:
            if token.symbol == .rightParenthesis {
                try advance()
                emit(.hasAnyChild, isCondition: true, from: operand.start)
            } else {
                let count = try parseList()
                try require(.rightParenthesis)
                emit(.hasChildren, Int32(count), isCondition: true, from: operand.start)
            }
            return result
        default: break
        }
        var count = 0
        while token.symbol != .rightParenthesis {
            if count > 0 { try require(.comma) }
            try parseString("\(method.name) needs a string as argument.")
            count += 1
        }
        guard count == method.arguments else {
            throw Problem(
                offset: offset, message: "\(method.name) needs \(method.arguments ?? 0) arguments, not \(count).")
        }
        try advance()
        switch method.operation {
        case .child, .hasChild:
            guard let path = takePath(first) else { fallthrough }
            emit(
                method.operation == .child ? .childLiteral : .hasChildLiteral, path, isCondition: isCondition,
                from: operand.start)
        default: emit(method.operation, isCondition: isCondition, from: operand.start)
        }
        return result
    }

    private mutating func parseString(_ message: String) throws(Problem) {
        let value = try parseExpression()
        guard value.type == .string || value.type.isFuzzy else { throw Problem(offset: value.start, message: message) }
    }

    /// The list of `hasChildren`; its values are left on the stack.
    private mutating func parseList() throws(Problem) -> Int {
        guard token.symbol == .leftBracket else {
            throw Problem(offset: token.start, message: "hasChildren needs a list of strings: hasChildren(['a', 'b']).")
        }
        let start = token.start
        try advance()
        var count = 0
        while token.symbol != .rightBracket {
            if count > 0 { try require(.comma) }
            try parseString("hasChildren needs a list of strings, and this isn't one.")
            count += 1
        }
        guard count > 0 else {
            throw Problem(
                offset: start, message: "The list of hasChildren is empty; without a list it asks for any child.")
        }
        try advance()
        return count
    }
}
