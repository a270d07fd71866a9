import StrictJSON

/// Evaluates the expressions of one decision. A wrong type ends an expression, however it is nested: the rule doesn't hold.
struct DatabaseEvaluator {
    /// Why an expression has no value.
    enum Stop: Error {
        /// A value is of a wrong type; the instruction that found it.
        case wrong(String, Int)
        /// The decision has cost what it may.
        case exceeded
        /// The store couldn't read a node.
        case store(any Error)
    }

    let program: DatabaseProgram
    private let auth: DatabaseOperand
    private let now: Int64
    private let query: DatabaseRulesQuery?
    private let before: any DatabaseRulesData
    private let after: any DatabaseRulesData

    /// The path that is decided; below the location of a write, the one that is validated.
    var path: [String] = [] {
        didSet { lastRead = nil }
    }
    /// The location of the rule that is evaluated, as a number of segments.
    var depth = 0
    /// What the decision may still cost.
    var work: Int
    /// Called with the values of all expressions, if they are asked for.
    var records: DatabaseRecords?

    private var stack: [DatabaseOperand] = []
    /// The paths that `child` has made during the current expression.
    private var made: [MadePath] = []
    private var lastRead: (snapshot: DatabaseSnapshot, value: DatabaseRulesValue)?

    private struct MadePath {
        var segments: [String]
        /// The number of segments, from the first on, that nodes can have.
        var valid: Int
    }

    init(
        _ program: DatabaseProgram, _ request: DatabaseRulesRequest, _ before: any DatabaseRulesData,
        _ after: any DatabaseRulesData, maxWork: Int
    ) {
        self.program = program
        self.before = before
        self.after = after
        auth = DatabaseOperand(request.auth)
        now = request.now
        work = maxWork
        if case .read(_, let query) = request.operation { self.query = query } else { query = nil }
        stack.reserveCapacity(16)
    }

    // MARK: The loop

    /// Whether an expression is true at the location of ``path`` and ``depth``.
    mutating func holds(_ code: Int) throws(Stop) -> Bool {
        stack.removeAll(keepingCapacity: true)
        if let lastRead, lastRead.snapshot.path >= 0 { self.lastRead = nil }
        made.removeAll(keepingCapacity: true)
        var place = code
        while true {
            let instruction = program.instructions[place]
            try spend(1)
            switch instruction.operation {
            case .jump: place = Int(instruction.a)
            case .end:
                guard case .boolean(true)? = stack.last else { return false }
                return true
            case .skipIfFalse:
                if case .boolean(false)? = stack.last { place = skip(to: instruction.a, false) } else { place += 1 }
            case .skipIfTrue:
                if case .boolean(true)? = stack.last { place = skip(to: instruction.a, true) } else { place += 1 }
            case .select:
                if case .boolean(true)? = stack.popLast() { place += 1 } else { place = Int(instruction.a) }
            default:
                let value: DatabaseOperand
                do throws(Stop) { value = try self.value(instruction, place) } catch {
                    if case .wrong(let reason, let place) = error { record(place, nil, reason) }
                    throw error
                }
                if records != nil { record(place, value) }
                stack.append(value)
                place += 1
            }
        }
    }

    /// - Parameter value: that of the `&&` or `||` whose right operand is skipped.
    private mutating func skip(to place: Int32, _ value: Bool) -> Int {
        if records != nil { record(Int(place) - 1, .boolean(value)) }
        return Int(place)
    }

    mutating func spend(_ cost: Int) throws(Stop) {
        work -= cost
        guard work >= 0 else {
            work = 0
            throw .exceeded
        }
    }

    private mutating func pop() -> DatabaseOperand { stack.popLast() ?? .null }

    // MARK: Instructions without jumps

    private mutating func value(_ instruction: DatabaseInstruction, _ place: Int) throws(Stop) -> DatabaseOperand {
        switch instruction.operation {
        case .constant: return program.constants[Int(instruction.a)]
        case .capture: return .string(path[Int(instruction.a)])
        case .auth: return auth
        case .now: return .integer(now)
        case .root: return .snapshot(DatabaseSnapshot(isAfter: false, path: -1, depth: 0))
        case .data: return .snapshot(DatabaseSnapshot(isAfter: false, path: -1, depth: Int32(depth)))
        case .newData: return .snapshot(DatabaseSnapshot(isAfter: true, path: -1, depth: Int32(depth)))
        case .query: return member(of: query, DatabaseQueryMember.all[Int(instruction.a)])
        case .member: return Self.member(of: pop(), program.names[Int(instruction.a)])
        case .length:
            let operand = pop()
            guard case .string(let text) = operand else { return Self.member(of: operand, "length") }
            try spend(text.utf8.count / 64)
            return .integer(Int64(text.utf16.count))
        case .index:
            let index = pop()
            return try element(of: pop(), at: index, place)
        case .not:
            guard case .boolean(let value) = pop() else { throw .wrong("! needs a boolean", place) }
            return .boolean(!value)
        case .and, .or:
            // The left operand hasn't decided.
            let right = pop()
            _ = pop()
            return right
        case .negate: return try negate(pop(), place)
        case .add, .subtract, .multiply, .divide, .remainder:
            let right = pop()
            return try arithmetic(instruction.operation, pop(), right, place)
        case .equal, .notEqual:
            let right = pop()
            let left = pop()
            if case .string(let text) = left { try spend(text.utf8.count / 64) }
            return .boolean(DatabaseOperand.equal(left, right) == (instruction.operation == .equal))
        case .less, .lessOrEqual, .greater, .greaterOrEqual:
            let right = pop()
            return .boolean(try compare(instruction.operation, pop(), right, place))
        case .contains, .beginsWith, .endsWith, .replace, .toLowerCase, .toUpperCase, .matches:
            return try text(instruction, place)
        default: return try snapshot(instruction, place)
        }
    }

    /// The last operands that were pushed, in their order, and the operand before them.
    mutating func popArguments(_ count: Int) -> (target: DatabaseOperand, arguments: [DatabaseOperand]) {
        // As a slice they would share the stack's memory, and the next pop would copy all of it.
        let arguments = Array(stack.suffix(count))
        stack.removeLast(arguments.count)
        return (pop(), arguments)
    }

    private func member(of query: DatabaseRulesQuery?, _ member: DatabaseQueryMember) -> DatabaseOperand {
        let order = query?.order ?? .key
        switch member {
        case .orderByKey: return .boolean(order == .key)
        case .orderByValue: return .boolean(order == .value)
        case .orderByPriority: return .boolean(order == .priority)
        case .orderByChild: if case .child(let path) = order { return .string(path) } else { return .null }
        case .startAt: return query.map { DatabaseOperand($0.startAt) } ?? .null
        case .endAt: return query.map { DatabaseOperand($0.endAt) } ?? .null
        case .equalTo: return query.map { DatabaseOperand($0.equalTo) } ?? .null
        case .limitToFirst: return query?.limitToFirst.map { .integer(Int64($0)) } ?? .null
        case .limitToLast: return query?.limitToLast.map { .integer(Int64($0)) } ?? .null
        }
    }

    /// Null if there is no such member.
    private static func member(of operand: DatabaseOperand, _ name: String) -> DatabaseOperand {
        guard case .claims(.object(let members)) = operand else { return .null }
        // In bytes: a name that is only canonically equivalent is another one.
        return members.first { $0.key.utf8.elementsEqual(name.utf8) }.map { DatabaseOperand($0.value) } ?? .null
    }

    private func element(of operand: DatabaseOperand, at index: DatabaseOperand, _ place: Int) throws(Stop)
        -> DatabaseOperand
    {
        guard let name = index.joined else { throw .wrong("\(index.type) can't be an index", place) }
        if case .claims(.array(let elements)) = operand {
            guard case .integer(let index) = index, let index = Int(exactly: index), elements.indices.contains(index)
            else { return .null }
            return DatabaseOperand(elements[index])
        }
        return Self.member(of: operand, name)
    }

    // MARK: Snapshots

    private mutating func snapshot(_ instruction: DatabaseInstruction, _ place: Int) throws(Stop) -> DatabaseOperand {
        let count =
            switch instruction.operation {
            case .child, .hasChild: 1
            case .hasChildren: Int(instruction.a)
            default: 0
            }
        let (target, arguments) = popArguments(count)
        guard case .snapshot(let snapshot) = target else { throw .wrong("\(target.type) isn't a snapshot", place) }
        switch instruction.operation {
        case .val: return DatabaseOperand(try read(snapshot))
        case .exists: return .boolean(try exists(snapshot))
        case .isString: if case .string = try read(snapshot) { return .boolean(true) } else { return .boolean(false) }
        case .isBoolean: if case .boolean = try read(snapshot) { return .boolean(true) } else { return .boolean(false) }
        case .isNumber:
            switch try read(snapshot) {
            case .integer, .double: return .boolean(true)
            default: return .boolean(false)
            }
        case .hasAnyChild:
            if case .object = try read(snapshot) { return .boolean(true) } else { return .boolean(false) }
        case .getPriority: return DatabaseOperand(try readPriority(snapshot))
        case .parent:
            guard snapshot.depth > 0 else { throw .wrong("the root has no parent", place) }
            var parent = snapshot
            parent.depth -= 1
            return .snapshot(parent)
        case .childLiteral: return .snapshot(try child(of: snapshot, program.paths[Int(instruction.a)]))
        case .hasChildLiteral: return .boolean(try exists(child(of: snapshot, program.paths[Int(instruction.a)])))
        case .child: return .snapshot(try child(of: snapshot, arguments.first, "child", place))
        case .hasChild: return .boolean(try exists(child(of: snapshot, arguments.first, "hasChild", place)))
        case .hasChildren:
            var all = true
            for argument in arguments {
                // Later ones are looked at, too: a wrong type is found whatever the data are.
                let isThere = try exists(child(of: snapshot, argument, "hasChildren", place))
                all = all && isThere
            }
            return .boolean(all)
        default: throw .wrong("this isn't possible", place)
        }
    }

    private mutating func child(
        of snapshot: DatabaseSnapshot, _ path: DatabaseOperand?, _ method: String, _ place: Int
    ) throws(Stop) -> DatabaseSnapshot {
        guard case .string(let text)? = path else {
            throw .wrong("\(method) needs a string, not \(path?.type ?? "nothing")", place)
        }
        try spend(text.utf8.count / 8)
        return try child(of: snapshot, DatabasePathText.segments(text))
    }

    private mutating func child(of snapshot: DatabaseSnapshot, _ names: [String]) throws(Stop) -> DatabaseSnapshot {
        guard !names.isEmpty else { return snapshot }
        let depth = Int(snapshot.depth)
        try spend(2 + depth + names.count)
        var child = MadePath(segments: [], valid: depth)
        child.segments.reserveCapacity(depth + names.count)
        if snapshot.path < 0 {
            child.segments += path[..<depth]
        } else {
            child.segments += made[Int(snapshot.path)].segments[..<depth]
            child.valid = min(depth, made[Int(snapshot.path)].valid)
        }
        child.segments += names
        while child.valid < child.segments.count, DatabasePathText.isKey(child.segments[child.valid]) {
            child.valid += 1
        }
        made.append(child)
        return DatabaseSnapshot(
            isAfter: snapshot.isAfter, path: Int32(made.count - 1), depth: Int32(child.segments.count))
    }

    /// The path of a snapshot; nil if no node can have it.
    private func reachable(_ snapshot: DatabaseSnapshot) -> ArraySlice<String>? {
        let depth = Int(snapshot.depth)
        guard depth <= RulesLimits.databaseDepth else { return nil }
        guard snapshot.path >= 0 else { return path[..<depth] }
        let made = made[Int(snapshot.path)]
        return depth <= made.valid ? made.segments[..<depth] : nil
    }

    private mutating func read(_ snapshot: DatabaseSnapshot) throws(Stop) -> DatabaseRulesValue {
        if let lastRead, lastRead.snapshot.isAfter == snapshot.isAfter, lastRead.snapshot.path == snapshot.path,
            lastRead.snapshot.depth == snapshot.depth
        {
            return lastRead.value
        }
        guard let path = reachable(snapshot) else { return .null }
        try spend(RulesLimits.databaseNodeCost)
        let value: DatabaseRulesValue
        do { value = try (snapshot.isAfter ? after : before).value(at: path) } catch { throw .store(error) }
        lastRead = (snapshot, value)
        return value
    }

    private mutating func exists(_ snapshot: DatabaseSnapshot) throws(Stop) -> Bool {
        if case .null = try read(snapshot) { false } else { true }
    }

    private mutating func readPriority(_ snapshot: DatabaseSnapshot) throws(Stop) -> DatabaseRulesValue {
        guard let path = reachable(snapshot) else { return .null }
        try spend(RulesLimits.databaseNodeCost)
        do { return try (snapshot.isAfter ? after : before).priority(at: path) } catch { throw .store(error) }
    }

    // MARK: What a write leaves

    /// Whether anything is at the current location after the write.
    mutating func isWritten() throws(Stop) -> Bool {
        try exists(DatabaseSnapshot(isAfter: true, path: -1, depth: Int32(depth)))
    }

    /// The names of the children at the current location after the write.
    mutating func writtenChildren() throws(Stop) -> [String] {
        let limit = work / RulesLimits.databaseNodeCost + 1
        let names: [String]
        do { names = try after.childNames(at: path[..<depth], limit: limit) } catch { throw .store(error) }
        try spend(RulesLimits.databaseNodeCost * (names.count + 1))
        return names
    }

    // MARK: Records

    private mutating func record(_ place: Int, _ value: DatabaseOperand?, _ reason: String? = nil) {
        guard records != nil else { return }
        var location: String?
        if case .snapshot(let snapshot)? = value {
            let segments = snapshot.path < 0 ? path : made[Int(snapshot.path)].segments
            location = "/" + segments.prefix(Int(snapshot.depth)).joined(separator: "/")
        }
        let instruction = program.instructions[place]
        records?.add(instruction, place, value, reason, location)
    }
}
