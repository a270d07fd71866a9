/// Arithmetic, comparisons and the methods of strings.
extension DatabaseEvaluator {
    mutating func negate(_ operand: DatabaseOperand, _ place: Int) throws(Stop) -> DatabaseOperand {
        switch operand {
        case .integer(let value):
            let (result, overflows) = Int64(0).subtractingReportingOverflow(value)
            return overflows ? .double(0x1p63) : .integer(result)
        case .double(let value): return .double(-value)
        default: throw .wrong("- needs a number, not \(operand.type)", place)
        }
    }

    private static func symbol(_ operation: DatabaseInstruction.Operation) -> String {
        switch operation {
        case .add: "+"
        case .subtract: "-"
        case .multiply: "*"
        case .divide: "/"
        case .remainder: "%"
        case .less: "<"
        case .lessOrEqual: "<="
        case .greater: ">"
        default: ">="
        }
    }

    /// Integers stay exact while they fit, else the result is a double.
    mutating func arithmetic(
        _ operation: DatabaseInstruction.Operation, _ left: DatabaseOperand, _ right: DatabaseOperand, _ place: Int
    ) throws(Stop) -> DatabaseOperand {
        let (a, b): (Double, Double)
        switch (left, right) {
        case (.integer(let left), .integer(let right)):
            if let exact = Self.exact(operation, left, right) { return .integer(exact) }
            (a, b) = (Double(left), Double(right))
        case (.integer(let left), .double(let right)): (a, b) = (Double(left), right)
        case (.double(let left), .integer(let right)): (a, b) = (left, Double(right))
        case (.double(let left), .double(let right)): (a, b) = (left, right)
        case (.string, _) where operation == .add, (_, .string) where operation == .add:
            return try join(left, right, place)
        default:
            throw .wrong("\(left.type) \(Self.symbol(operation)) \(right.type) isn't possible", place)
        }
        switch operation {
        case .add: return .double(a + b)
        case .subtract: return .double(a - b)
        case .multiply: return .double(a * b)
        case .divide: return .double(b == 0 ? .nan : a / b)
        default: return .double(b == 0 ? .nan : a.truncatingRemainder(dividingBy: b))
        }
    }

    /// The result if it is an integer that fits.
    private static func exact(_ operation: DatabaseInstruction.Operation, _ a: Int64, _ b: Int64) -> Int64? {
        let result: (partialValue: Int64, overflow: Bool)
        switch operation {
        case .add: result = a.addingReportingOverflow(b)
        case .subtract: result = a.subtractingReportingOverflow(b)
        case .multiply: result = a.multipliedReportingOverflow(by: b)
        case .divide:
            guard b != 0, b != -1, a % b == 0 else { return b == -1 && a != .min ? -a : nil }
            return a / b
        default:
            guard b != 0 else { return nil }
            return b == -1 ? 0 : a % b
        }
        return result.overflow ? nil : result.partialValue
    }

    private mutating func join(
        _ left: DatabaseOperand, _ right: DatabaseOperand, _ place: Int
    ) throws(Stop) -> DatabaseOperand {
        guard let a = left.joined, let b = right.joined else {
            throw .wrong("\(left.type) + \(right.type) isn't possible", place)
        }
        let count = a.utf8.count + b.utf8.count
        try spend(count / 32)
        guard count <= RulesLimits.madeText else { throw .exceeded }
        return .string(a + b)
    }

    mutating func compare(
        _ operation: DatabaseInstruction.Operation, _ left: DatabaseOperand, _ right: DatabaseOperand, _ place: Int
    ) throws(Stop) -> Bool {
        if case .string(let text) = left { try spend(text.utf8.count / 16) }
        guard let order = DatabaseOperand.order(left, right) else {
            throw .wrong("\(left.type) \(Self.symbol(operation)) \(right.type) isn't possible", place)
        }
        return switch operation {
        case .less: order == .less
        case .lessOrEqual: order == .less || order == .equal
        case .greater: order == .greater
        default: order == .greater || order == .equal
        }
    }

    // MARK: Methods of strings

    mutating func text(_ instruction: DatabaseInstruction, _ place: Int) throws(Stop) -> DatabaseOperand {
        let count =
            switch instruction.operation {
            case .contains, .beginsWith, .endsWith: 1
            case .replace: 2
            default: 0
            }
        let (target, arguments) = popArguments(count)
        guard case .string(let text) = target else {
            throw .wrong("\(target.type) has no method '\(instruction.operation)'", place)
        }
        try spend(text.utf8.count / 16)
        var strings: [String] = []
        for argument in arguments {
            guard case .string(let string) = argument else {
                throw .wrong("\(instruction.operation) needs a string, not \(argument.type)", place)
            }
            strings.append(string)
        }
        switch instruction.operation {
        case .contains: return .boolean(try find(strings[0], text, from: 0) != nil)
        case .beginsWith: return .boolean(text.utf8.starts(with: strings[0].utf8))
        case .endsWith: return .boolean(text.utf8.reversed().starts(with: strings[0].utf8.reversed()))
        case .replace: return .string(try replace(text, strings[0], strings[1]))
        case .toLowerCase, .toUpperCase:
            // Characters beyond ASCII are mapped one by one.
            if !text.utf8.allSatisfy({ $0 < 0x80 }) { try spend(text.utf8.count / 2) }
            return .string(instruction.operation == .toLowerCase ? text.lowercased() : text.uppercased())
        default:
            // Each character is followed by the engine; the text is taken apart first.
            try spend(text.utf8.count)
            do { return .boolean(try program.patterns[Int(instruction.a)].matches(text, &work)) } catch {
                throw .exceeded
            }
        }
    }

    /// Finds bytes in time that is linear in the text and the bytes together.
    private mutating func find(_ wanted: String, _ text: String, from start: Int) throws(Stop) -> Int? {
        try spend((text.utf8.count + wanted.utf8.count) / 16)
        return ByteSearch(wanted).first(in: Array(text.utf8), from: start)
    }

    private mutating func replace(_ text: String, _ wanted: String, _ replacement: String) throws(Stop) -> String {
        let bytes = Array(text.utf8)
        let inserted = Array(replacement.utf8)
        var result: [UInt8] = []
        func append(_ part: some Collection<UInt8>) throws(Stop) {
            guard result.count + part.count <= RulesLimits.madeText else { throw .exceeded }
            result += part
        }
        if wanted.isEmpty {
            // Before each character, and at the end.
            for byte in bytes {
                if byte & 0xC0 != 0x80 {
                    try spend(1)
                    try append(inserted)
                }
                result.append(byte)
            }
            try append(inserted)
        } else {
            let search = ByteSearch(wanted)
            var start = 0
            while let found = search.first(in: bytes, from: start) {
                // A match takes as long as many characters that are passed over.
                try spend(2)
                try append(bytes[start..<found])
                try append(inserted)
                start = found + wanted.utf8.count
            }
            try append(bytes[start...])
        }
        try spend(result.count / 16)
        return String(decoding: result, as: UTF8.self)
    }
}
