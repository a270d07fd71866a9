import DocumentModel

/// Evaluates conditions. Calls, parameters and `let`s have frames of their own instead of recursion, and an error is a value
/// like others, because `false && error` is false.
struct Evaluator {
    /// A parameter or a `let`: what it stands for, and when it was used its value.
    private enum Local {
        /// The code, and where the locals begin that it uses.
        case pending(Int32, Int)
        case value(RuleValue)
    }

    private struct Frame {
        var returnTo: Int
        var base: Int
        /// The local that gets the value; nil for a call.
        var target: Int?
    }

    let program: Program
    let request: RulesRequest
    /// What is known of the documents of a query.
    var facts: QueryFacts? {
        // Each alternative of a query is a decision of its own.
        didSet { (evaluatedBefore, evaluated) = (evaluatedBefore + evaluated, 0) }
    }
    var captures: [RuleValue] = []
    /// The reasons of `RuleValue.error`, with the instructions.
    private(set) var errors: [(reason: String, instruction: Int)] = []
    /// The values of all expressions, if they are asked for.
    var trace: [(instruction: Int, value: RuleValue)]?

    /// The document before. Of a query the one that is decided on, nil while it is decided on all that it could return.
    private var subject: Document? {
        didSet { resourceValue = nil }
    }
    /// The document before and after, as rules see it, once it was asked for.
    private var resourceValue: RuleValue?
    private var writtenValue: RuleValue?
    private var stack: [RuleValue] = []
    private var locals: [Local] = []
    private var frames: [Frame] = []
    private var evaluated = 0
    private var evaluatedBefore = 0
    /// What comparing, searching and matching may still cost.
    var work: Int
    private let maxWork: Int
    var reads: RulesReads

    init(_ program: Program, _ request: RulesRequest, _ documents: RulesDocuments, maxWork: Int = RulesLimits.work) {
        self.maxWork = maxWork
        work = maxWork
        self.program = program
        self.request = request
        subject = request.resource
        reads = RulesReads(documents)
        stack.reserveCapacity(16)
    }

    /// Decides on a document that a query names instead of on what the query says of it.
    mutating func look(at document: Document) {
        facts = nil
        subject = document
        // Reading a large one took long.
        work = max(work - document.weight / 16, 0)
    }

    /// The value of a condition.
    mutating func value(of code: Int32) -> RuleValue {
        stack.removeAll(keepingCapacity: true)
        locals.removeAll(keepingCapacity: true)
        frames.removeAll(keepingCapacity: true)
        var (place, base) = (Int(code), 0)
        while true {
            let instruction = program.instructions[place]
            switch instruction.operation {
            case .jump:
                place = Int(instruction.a)
                continue
            case .end:
                guard let frame = frames.popLast() else { return stack.last ?? .null }
                if let target = frame.target, let value = stack.last {
                    locals[target] = .value(value)
                } else {
                    locals.removeLast(locals.count - base)
                }
                (place, base) = (frame.returnTo, frame.base)
                continue
            default: break
            }
            evaluated += 1
            guard evaluated <= RulesLimits.expressions else {
                return error("more than \(RulesLimits.expressions) expressions were evaluated, the limit", place)
            }
            switch instruction.operation {
            case .local:
                let index = base + Int(instruction.a)
                switch locals[index] {
                case .value(let value): stack.append(value)
                case .pending(let code, let environment):
                    frames.append(Frame(returnTo: place + 1, base: base, target: index))
                    (place, base) = (Int(code), environment)
                    continue
                }
            case .call:
                let function = program.functions[Int(instruction.a)]
                let count = Int(instruction.b)
                let next = place + 1 + count
                guard function.parameters == count else {
                    stack.append(error("'\(function.name)' has \(function.parameters) parameters, not \(count)", place))
                    place = next
                    continue
                }
                let newBase = locals.count
                for argument in 0..<count {
                    locals.append(.pending(program.instructions[place + 1 + argument].a, base))
                }
                for code in function.lets { locals.append(.pending(code, newBase)) }
                frames.append(Frame(returnTo: next, base: base, target: nil))
                (place, base) = (Int(function.code), newBase)
                continue
            case .skipIfFalse:
                if case .bool(false)? = stack.last { place = Int(instruction.a); continue }
            case .skipIfTrue:
                if case .bool(true)? = stack.last { place = Int(instruction.a); continue }
            case .select:
                let condition = stack.removeLast()
                switch condition {
                case .bool(true): break
                case .bool(false):
                    place = Int(instruction.a)
                    continue
                case .error, .unknown:
                    // The condition isn't the result.
                    stack.append(Self.failed([condition]) ?? condition)
                    place = Int(instruction.b)
                    continue
                default:
                    stack.append(error("the condition before '?' is of type \(condition.type), not bool", place))
                    place = Int(instruction.b)
                    continue
                }
            default:
                let value = simple(instruction, place)
                stack.append(value)
                if trace != nil, !Self.isObvious(instruction.operation) { trace?.append((place, value)) }
            }
            place += 1
        }
    }

    /// Whether a value needs no line in an explanation.
    private static func isObvious(_ operation: Instruction.Operation) -> Bool {
        switch operation {
        case .constant, .request, .resource: true
        default: false
        }
    }

    mutating func error(_ reason: String, _ place: Int) -> RuleValue {
        errors.append((reason, place))
        return .error(Int32(errors.count - 1))
    }

    // MARK: Instructions without jumps

    private mutating func simple(_ instruction: Instruction, _ place: Int) -> RuleValue {
        switch instruction.operation {
        case .constant: return program.constants[Int(instruction.a)]
        case .capture: return captures[Int(instruction.a)]
        case .request: return .request
        case .resource: return resource()
        case .undefined:
            return error("'\(program.names[Int(instruction.a)])' isn't declared", place)
        case .member:
            let value = stack.removeLast()
            return member(of: value, program.names[Int(instruction.a)], place)
        case .index:
            let index = stack.removeLast()
            return element(of: stack.removeLast(), at: index, place)
        case .slice:
            let to = instruction.a & 2 != 0 ? stack.removeLast() : nil
            let from = instruction.a & 1 != 0 ? stack.removeLast() : nil
            return slice(stack.removeLast(), from, to, place)
        case .method:
            let arguments = Array(stack.suffix(Int(instruction.b)))
            stack.removeLast(arguments.count)
            return method(program.names[Int(instruction.a)], of: stack.removeLast(), arguments, place)
        case .builtin:
            let arguments = Array(stack.suffix(Int(instruction.b)))
            stack.removeLast(arguments.count)
            return builtin(Builtins.functions[Int(instruction.a)], arguments, place)
        case .not, .negate: return unary(instruction.operation, stack.removeLast(), place)
        case .list, .path, .map: return literal(instruction, place)
        case .hasType: return hasType(stack.removeLast(), program.names[Int(instruction.a)])
        case .and, .or:
            let right = stack.removeLast()
            return connect(instruction.operation, stack.removeLast(), right, place)
        case .contains:
            let right = stack.removeLast()
            return contains(right, stack.removeLast(), place)
        default:
            let right = stack.removeLast()
            return binary(instruction.operation, stack.removeLast(), right, place)
        }
    }

    private mutating func resource() -> RuleValue {
        if facts != nil { return .unknown(.resource) }
        guard let subject else { return .null }
        let value = resourceValue ?? RulesRequest.resource(subject, in: request.database)
        resourceValue = value
        return value
    }

    /// `request.resource`: only writes have it, and for a delete it is null.
    mutating func written() -> RuleValue? {
        guard let document = request.written else { return request.method == .delete ? .null : nil }
        let value = writtenValue ?? RulesRequest.resource(document, in: request.database)
        writtenValue = value
        return value
    }

    private mutating func literal(_ instruction: Instruction, _ place: Int) -> RuleValue {
        let count = Int(instruction.a) * (instruction.operation == .map ? 2 : 1)
        let values = Array(stack.suffix(count))
        stack.removeLast(count)
        if let failed = Self.failed(values) { return failed }
        if instruction.operation != .path, !isSmall(values) {
            return error("the value has more than \(RulesLimits.madeValues) elements, or is nested too deep", place)
        }
        switch instruction.operation {
        case .list: return .list(values)
        case .map:
            var members: [String: RuleValue] = [:]
            for index in stride(from: 0, to: count, by: 2) {
                if case .string(let name) = values[index] { members[name] = values[index + 1] }
            }
            return .map(members)
        default:
            var path = MadePath()
            for value in values {
                switch value {
                case .string(let text): path.append([text])
                case .int(let number): path.append(["\(number)"])
                case .path(let segments): path.append(segments)
                default: return error("a segment of a path is of type \(value.type), not string", place)
                }
                if path.isTooLong { return error(MadePath.tooLong, place) }
            }
            return .path(path.segments)
        }
    }

    /// What the decision has cost so far: what comparing, searching and matching did, and three for each expression.
    var cost: Int { maxWork - work + 3 * (evaluatedBefore + evaluated) }

    /// Whether a value is `request.auth` or its token, or has them.
    func isToken(_ value: RuleValue) -> Bool {
        if let elements = value.elements { return elements.contains { isToken($0) } }
        guard value.isMap, let members = value.members, let auth = request.auth.members else { return false }
        return RuleValue.same(value, request.auth) || auth["token"].map { RuleValue.same(value, $0) } ?? false
            || members.values.contains { $0.isMap && isToken($0) }
    }

    /// About what a method of the value costs at least.
    static func weight(of value: RuleValue) -> Int {
        switch value {
        case .string(let text): text.utf8.count / 64
        case .bytes(let bytes): bytes.count / 64
        case .list(let elements), .set(let elements): elements.count
        case .storedList(let values): values.count
        case .map(let members): members.count
        case .storedMap(let fields): fields.count
        default: 0
        }
    }

    /// Takes the cost of some work from what is left.
    ///
    /// - Returns: an error if less is left.
    mutating func spend(_ cost: Int, _ place: Int) -> RuleValue? {
        guard cost <= work else {
            work = 0
            return error("the values are too large: comparing or searching them takes too long", place)
        }
        work -= cost
        return nil
    }

    /// Whether a list or map of the values can be made: names may stand for the same value many times.
    private func isSmall(_ values: [RuleValue]) -> Bool {
        var left = RulesLimits.madeValues
        return values.allSatisfy { $0.count(into: &left, depth: RulesLimits.nesting) }
    }

    /// The first error, or else what isn't known.
    static func failed(_ values: [RuleValue]) -> RuleValue? {
        var unknown: RuleValue?
        for value in values {
            if case .error = value { return value }
            if case .unknown = value { unknown = .unknown(.other) }
        }
        return unknown
    }
}

/// A path that an expression makes. Names may stand for the same path many times.
struct MadePath {
    static let tooLong =
        "the path would have more than \(RulesLimits.madeValues) segments or \(RulesLimits.madeText) bytes"

    private(set) var segments: [String] = []
    private var bytes = 0

    init() {}

    mutating func append(_ added: [String]) {
        segments += added
        for segment in added { bytes += 1 + segment.utf8.count }
    }

    var isTooLong: Bool { segments.count > RulesLimits.madeValues || bytes > RulesLimits.madeText }
}
