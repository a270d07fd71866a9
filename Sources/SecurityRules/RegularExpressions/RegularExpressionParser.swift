/// Reads RE2's syntax. Scripts (`\p{Greek}`) and `\C` aren't supported.
struct RegularExpressionParser {
    typealias Node = RegularExpression.Node
    typealias Problem = RegularExpression.Problem

    private struct Flags {
        var ignoresCase = false
        var dotMatchesNewline = false
        var isMultiline = false
        var isLazy = false
    }

    private let text: [UnicodeScalar]
    private var place = 0
    private var flags = Flags()
    private var depth = 0
    private(set) var groups = 0

    /// Groups within each other.
    private static let maxDepth = 100
    private static let maxRepeat = 1000

    init(_ pattern: String) { text = Array(pattern.unicodeScalars) }

    mutating func parse() throws(Problem) -> Node {
        let node = try parseChoice()
        guard place == text.count else { throw Problem(message: "')' has no '('") }
        return node
    }

    private var next: UnicodeScalar? { place < text.count ? text[place] : nil }

    private mutating func take(_ scalar: UnicodeScalar) -> Bool {
        guard next == scalar else { return false }
        place += 1
        return true
    }

    private func hasPrefix(_ prefix: String) -> Bool {
        text[place...].starts(with: prefix.unicodeScalars)
    }

    private mutating func parseChoice() throws(Problem) -> Node {
        let outer = flags
        defer { flags = outer }
        var nodes = [try parseSequence()]
        while take("|") { nodes.append(try parseSequence()) }
        return nodes.count == 1 ? nodes[0] : .choice(nodes)
    }

    private mutating func parseSequence() throws(Problem) -> Node {
        var nodes: [Node] = []
        while let scalar = next, scalar != "|", scalar != ")" {
            if hasPrefix("\\Q") {
                place += 2
                while place < text.count, !hasPrefix("\\E") {
                    nodes.append(literal(text[place]))
                    place += 1
                }
                place = min(place + 2, text.count)
                continue
            }
            guard let atom = try parseAtom() else { continue }
            nodes.append(try parseRepeat(of: atom))
        }
        return .sequence(nodes)
    }

    // MARK: Repetition

    private mutating func parseRepeat(of atom: Node) throws(Problem) -> Node {
        var bounds: (least: Int, most: Int?)?
        if take("*") {
            bounds = (0, nil)
        } else if take("+") {
            bounds = (1, nil)
        } else if take("?") {
            bounds = (0, 1)
        } else {
            bounds = try parseBounds()
        }
        guard let bounds else { return atom }
        let isLazy = take("?") != flags.isLazy
        if let scalar = next, ["*", "+", "?"].contains(scalar) {
            throw Problem(message: "'\(scalar)' repeats a repetition; put it in parentheses")
        }
        if let most = bounds.most, most < bounds.least { throw Problem(message: "the bounds of {…} are reversed") }
        return .repeated(atom, least: bounds.least, most: bounds.most, isLazy: isLazy)
    }

    /// `{2}`, `{2,}` or `{2,5}`; anything else in braces stands for itself.
    private mutating func parseBounds() throws(Problem) -> (least: Int, most: Int?)? {
        let start = place
        guard take("{"), let least = parseNumber() else {
            place = start
            return nil
        }
        var most: Int? = least
        if take(",") { most = parseNumber() }
        guard take("}") else {
            place = start
            return nil
        }
        guard max(least, most ?? 0) <= Self.maxRepeat else {
            throw Problem(message: "at most \(Self.maxRepeat) repetitions can be asked for")
        }
        return (least, most)
    }

    private mutating func parseNumber() -> Int? {
        var number: Int?
        while let digit = next.flatMap({ $0.isASCII ? Character($0).wholeNumberValue : nil }) {
            number = min((number ?? 0) * 10 + digit, 1_000_000)
            place += 1
        }
        return number
    }

    // MARK: Atoms

    private func literal(_ scalar: UnicodeScalar) -> Node {
        .scalars(ScalarClass(ranges: [scalar.value...scalar.value], ignoresCase: flags.ignoresCase))
    }

    /// - Returns: nil for flags, which match nothing of their own.
    private mutating func parseAtom() throws(Problem) -> Node? {
        let scalar = text[place]
        place += 1
        switch scalar {
        case "(": return try parseGroup()
        case "[": return .scalars(try parseClass())
        case ".": return .scalars(flags.dotMatchesNewline ? .all : .notNewline)
        case "^": return .assertion(flags.isMultiline ? .lineStart : .textStart)
        case "$": return .assertion(flags.isMultiline ? .lineEnd : .textEnd)
        case "*", "+", "?": throw Problem(message: "'\(scalar)' has nothing to repeat")
        case "\\": return try parseEscape()
        default: return literal(scalar)
        }
    }

    private mutating func parseGroup() throws(Problem) -> Node? {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.maxDepth else { throw Problem(message: "its groups are nested too deep") }
        var number: Int?
        let outer = flags
        if take("?") {
            if hasPrefix("P<") || hasPrefix("<") {
                while let scalar = next, scalar != ">" {
                    guard scalar != "=", scalar != "!" else {
                        throw Problem(message: "looking ahead or behind isn't supported")
                    }
                    place += 1
                }
                guard take(">") else { throw Problem(message: "the name of a group has no end") }
                groups += 1
                number = groups
            } else if try parseFlags() {
                return nil
            }
        } else {
            groups += 1
            number = groups
        }
        let node = try parseChoice()
        guard take(")") else { throw Problem(message: "'(' has no ')'") }
        if number == nil { flags = outer }
        return number.map { .group(node, $0) } ?? node
    }

    /// `i`, `s`, `m`, `U` and `-` up to `:` or `)`.
    ///
    /// - Returns: Whether the flags are for all that follows in the group around them.
    private mutating func parseFlags() throws(Problem) -> Bool {
        var isOn = true
        while let scalar = next {
            place += 1
            switch scalar {
            case "i": flags.ignoresCase = isOn
            case "s": flags.dotMatchesNewline = isOn
            case "m": flags.isMultiline = isOn
            case "U": flags.isLazy = isOn
            case "-": isOn = false
            case ":": return false
            case ")": return true
            case "=", "!": throw Problem(message: "looking ahead or behind isn't supported")
            default: throw Problem(message: "'(?\(scalar)' is not a group")
            }
        }
        throw Problem(message: "'(' has no ')'")
    }

    private mutating func parseEscape() throws(Problem) -> Node {
        guard let scalar = next else { throw Problem(message: "it ends with a backslash") }
        switch scalar {
        case "A": place += 1; return .assertion(.textStart)
        case "z": place += 1; return .assertion(.textEnd)
        case "b": place += 1; return .assertion(.wordBoundary)
        case "B": place += 1; return .assertion(.noWordBoundary)
        default: break
        }
        if var scalars = try parseClassEscape() {
            scalars.ignoresCase = flags.ignoresCase
            return .scalars(scalars)
        }
        return literal(try parseScalarEscape())
    }

    /// `\d`, `\p{L}` and the like, after the backslash; nil if it is another escape.
    private mutating func parseClassEscape() throws(Problem) -> ScalarClass? {
        guard let scalar = next else { return nil }
        let base: ScalarClass
        switch scalar {
        case "d", "D": base = .digit
        case "s", "S": base = .space
        case "w", "W": base = .word
        case "p", "P":
            place += 1
            return try parseCategory(isNegated: scalar == "P")
        default: return nil
        }
        place += 1
        return scalar.properties.isUppercase ? ScalarClass(complements: [base.ranges]) : base
    }

    private mutating func parseCategory(isNegated: Bool) throws(Problem) -> ScalarClass {
        var isNegated = isNegated
        var name = ""
        if take("{") {
            if take("^") { isNegated.toggle() }
            while let scalar = next, scalar != "}" {
                name.unicodeScalars.append(scalar)
                place += 1
            }
            guard take("}") else { throw Problem(message: "\\p{ has no '}'") }
        } else if let scalar = next {
            name.unicodeScalars.append(scalar)
            place += 1
        }
        guard ScalarClass.categoryNames.contains(name) else {
            throw Problem(message: "'\(name)' is not a general category such as L or Nd; scripts aren't supported")
        }
        return ScalarClass(categories: [.init(name: name, isNegated: isNegated)])
    }

    /// A character after a backslash.
    private mutating func parseScalarEscape() throws(Problem) -> UnicodeScalar {
        guard let scalar = next else { throw Problem(message: "it ends with a backslash") }
        place += 1
        switch scalar {
        case "n": return "\n"
        case "r": return "\r"
        case "t": return "\t"
        case "f": return "\u{0C}"
        case "v": return "\u{0B}"
        case "a": return "\u{07}"
        case "x":
            var digits = ""
            if take("{") {
                while let digit = next, digit != "}" {
                    digits.unicodeScalars.append(digit)
                    place += 1
                }
                guard take("}") else { throw Problem(message: "\\x{ has no '}'") }
            } else {
                while digits.count < 2, let digit = next {
                    digits.unicodeScalars.append(digit)
                    place += 1
                }
                guard digits.count == 2 else { throw Problem(message: "\\x needs two digits") }
            }
            guard let value = UInt32(digits, radix: 16), let scalar = UnicodeScalar(value) else {
                throw Problem(message: "\\x\(digits) is not a character")
            }
            return scalar
        case "0"..."7":
            var digits = String(scalar)
            while digits.count < 3, let digit = next, ("0"..."7").contains(digit) {
                digits.unicodeScalars.append(digit)
                place += 1
            }
            guard digits.hasPrefix("0") || digits.count == 3, let value = UInt32(digits, radix: 8),
                let scalar = UnicodeScalar(value)
            else { throw Problem(message: "\\\(digits) refers to a group, which isn't supported") }
            return scalar
        default:
            guard scalar.isASCII, !scalar.properties.isAlphabetic, Character(scalar).wholeNumberValue == nil else {
                throw Problem(message: "\\\(scalar) is not an escape")
            }
            return scalar
        }
    }

    // MARK: Classes

    /// After `[`.
    private mutating func parseClass() throws(Problem) -> ScalarClass {
        var result = ScalarClass(isNegated: take("^"), ignoresCase: flags.ignoresCase)
        var isFirst = true
        while let scalar = next, scalar != "]" || isFirst {
            isFirst = false
            if hasPrefix("[:") {
                try parseNamedClass(&result)
                continue
            }
            if scalar == "\\" {
                place += 1
                if let inner = try parseClassEscape() {
                    result.ranges += inner.ranges
                    result.categories += inner.categories
                    result.complements += inner.complements
                    continue
                }
                place -= 1
            }
            let low = try parseClassScalar()
            guard next == "-", place + 1 < text.count, text[place + 1] != "]" else {
                result.ranges.append(low.value...low.value)
                continue
            }
            place += 1
            let high = try parseClassScalar()
            guard low <= high else { throw Problem(message: "the range \(low)-\(high) is reversed") }
            result.ranges.append(low.value...high.value)
        }
        guard take("]") else { throw Problem(message: "'[' has no ']'") }
        return result
    }

    private mutating func parseClassScalar() throws(Problem) -> UnicodeScalar {
        guard let scalar = next else { throw Problem(message: "'[' has no ']'") }
        place += 1
        return scalar == "\\" ? try parseScalarEscape() : scalar
    }

    private mutating func parseNamedClass(_ result: inout ScalarClass) throws(Problem) {
        place += 2
        let isNegated = take("^")
        var name = ""
        while let scalar = next, scalar != ":" {
            name.unicodeScalars.append(scalar)
            place += 1
        }
        guard take(":"), take("]"), let ranges = ScalarClass.named[name] else {
            throw Problem(message: "[:\(name):] is not a class")
        }
        if isNegated { result.complements.append(ranges) } else { result.ranges += ranges }
    }
}
