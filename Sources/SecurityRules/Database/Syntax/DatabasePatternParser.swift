/// Reads the regular expressions of the Realtime Database's rules: `.`, `*`, `+`, `?`, `{n,m}`, `|`, `(…)`, `[…]`, `[^…]`,
/// and the classes `\s`, `\w`, `\d`, `\S`, `\W` and `\D`. `^` and `$` are possible as the first and the last character, and
/// hold for all alternatives.
///
/// The result is for the engine of ``RegularExpression``, which matches in linear time.
struct DatabasePatternParser {
    typealias Node = RegularExpression.Node

    /// What is wrong, and before which byte of the pattern.
    struct Problem: Error {
        var offset: Int
        var message: String
    }

    private static let maxDepth = 100
    private static let maxRepeat = 1000
    /// Unlike RE2's class, it has the vertical tab.
    private static let space: [ClosedRange<UInt32>] = [0x09...0x0D, 0x20...0x20]

    private let text: [UnicodeScalar]
    private let ignoresCase: Bool
    private var place = 0
    private var depth = 0

    init(_ pattern: String, ignoresCase: Bool) {
        text = Array(pattern.unicodeScalars)
        self.ignoresCase = ignoresCase
    }

    /// An expression that finds the pattern anywhere in a text when it is matched with the whole text.
    static func compile(_ pattern: String, ignoresCase: Bool) throws(Problem) -> RegularExpression {
        var parser = DatabasePatternParser(pattern, ignoresCase: ignoresCase)
        let isAnchored = parser.take("^")
        var node = try parser.parseChoice()
        if parser.take("$") {
            guard parser.next == nil else { throw parser.problem("'$' is possible at the end only.") }
        } else {
            guard parser.next == nil else { throw parser.problem("')' has no '('.") }
            node = .sequence([node, .repeated(.scalars(.all), least: 0, most: nil, isLazy: false)])
        }
        if !isAnchored { node = .sequence([.repeated(.scalars(.all), least: 0, most: nil, isLazy: false), node]) }
        do { return try RegularExpression(node, groups: 0) } catch {
            throw Problem(offset: 0, message: "The regular expression is too large.")
        }
    }

    private var next: UnicodeScalar? { place < text.count ? text[place] : nil }

    private mutating func take(_ scalar: UnicodeScalar) -> Bool {
        guard next == scalar else { return false }
        place += 1
        return true
    }

    private func problem(_ message: String, at place: Int? = nil) -> Problem {
        let before = text[..<(place ?? self.place)]
        return Problem(offset: before.reduce(0) { $0 + UTF8.width($1) }, message: message)
    }

    private mutating func parseChoice() throws(Problem) -> Node {
        var branches: [Node] = []
        repeat {
            var parts: [Node] = []
            while let scalar = next, scalar != "|", scalar != ")" {
                if scalar == "$", place == text.count - 1, depth == 0 { break }
                let start = place
                parts.append(try parseRepeat(of: try parseAtom(), from: start))
            }
            guard !parts.isEmpty else {
                throw problem("A part of the regular expression is empty; use '?' for what may be missing.")
            }
            branches.append(parts.count == 1 ? parts[0] : .sequence(parts))
        } while take("|")
        return branches.count == 1 ? branches[0] : .choice(branches)
    }

    private mutating func parseRepeat(of atom: Node, from start: Int) throws(Problem) -> Node {
        let place = place
        var bounds: (least: Int, most: Int?)
        if take("*") {
            bounds = (0, nil)
        } else if take("+") {
            bounds = (1, nil)
        } else if take("?") {
            bounds = (0, 1)
        } else if take("{") {
            guard let least = parseNumber() else {
                throw problem("'{' needs a number; write \\{ for a brace.", at: place)
            }
            bounds = (least, least)
            if take(",") { bounds.most = parseNumber() }
            guard take("}") else { throw problem("'{' has no '}'; write \\{ for a brace.", at: place) }
        } else {
            return atom
        }
        guard max(bounds.least, bounds.most ?? 0) <= Self.maxRepeat else {
            throw problem("At most \(Self.maxRepeat) repetitions are possible.", at: place)
        }
        guard bounds.most ?? .max >= bounds.least else { throw problem("The bounds of {…} are reversed.", at: place) }
        if next == "?" { throw problem("Lazy repetitions aren't possible, and wouldn't match other texts.") }
        if let scalar = next, scalar == "*" || scalar == "+" || scalar == "{" {
            throw problem("'\(scalar)' repeats a repetition; put it in parentheses.")
        }
        return .repeated(atom, least: bounds.least, most: bounds.most, isLazy: false)
    }

    private mutating func parseNumber() -> Int? {
        var number: Int?
        while let digit = next, ("0"..."9").contains(digit) {
            number = min((number ?? 0) * 10 + Int(digit.value - 0x30), 1_000_000)
            place += 1
        }
        return number
    }

    private mutating func parseAtom() throws(Problem) -> Node {
        let start = place
        let scalar = text[place]
        place += 1
        switch scalar {
        case "(":
            depth += 1
            defer { depth -= 1 }
            guard depth <= Self.maxDepth else { throw problem("The groups are nested too deep.", at: start) }
            if next == "?" {
                throw problem("Groups that begin with '?' aren't possible: no looking ahead or behind, and no names.")
            }
            let node = try parseChoice()
            guard take(")") else { throw problem("'(' has no ')'.", at: start) }
            return node
        case "[": return .scalars(try parseClass(start))
        case ".": return .scalars(.all)
        case "*", "+", "?", "{": throw problem("'\(scalar)' has nothing to repeat.", at: start)
        case "]": throw problem("']' has no '['.", at: start)
        case "^": throw problem("'^' is possible at the beginning only.", at: start)
        case "$": throw problem("'$' is possible at the end only.", at: start)
        case "\\":
            if let ranges = parseClassEscape() { return .scalars(ScalarClass(ranges: ranges)) }
            return .scalars(scalars([try parseEscape(start)]))
        default: return .scalars(scalars([scalar.value...scalar.value]))
        }
    }

    /// A class of these, and of their other cases if case doesn't matter.
    private func scalars(_ ranges: [ClosedRange<UInt32>], isNegated: Bool = false) -> ScalarClass {
        guard ignoresCase else { return ScalarClass(ranges: ranges, isNegated: isNegated) }
        var all = ranges
        for range in ranges {
            for letters in [UInt32(0x41)...0x5A, 0x61...0x7A] where range.overlaps(letters) {
                let part = range.clamped(to: letters)
                all.append((part.lowerBound ^ 0x20)...(part.upperBound ^ 0x20))
            }
        }
        // Comparing other letters without case is slower.
        return ScalarClass(
            ranges: all, isNegated: isNegated,
            ignoresCase: ranges.contains { (0x80..<0x10FFFF).contains($0.upperBound) })
    }

    /// `\d` and similar, after the backslash; nil if it is another escape.
    private mutating func parseClassEscape() -> [ClosedRange<UInt32>]? {
        let ranges: [ClosedRange<UInt32>]
        switch next {
        case "d", "D": ranges = ScalarClass.digit.ranges
        case "w", "W": ranges = ScalarClass.word.ranges
        case "s", "S": ranges = Self.space
        default: return nil
        }
        defer { place += 1 }
        return text[place].properties.isUppercase ? ScalarClass.complement(ranges) : ranges
    }

    private mutating func parseEscape(_ start: Int) throws(Problem) -> ClosedRange<UInt32> {
        guard let scalar = next else { throw problem("It ends with a backslash.", at: start) }
        guard !scalar.isASCII || !scalar.properties.isAlphabetic && !("0"..."9").contains(scalar) else {
            throw problem(
                ("1"..."9").contains(scalar)
                    ? "References to groups aren't possible."
                    : "\\\(scalar) is not an escape; \\s, \\w, \\d and their opposites are.", at: start)
        }
        place += 1
        return scalar.value...scalar.value
    }

    /// After `[`.
    private mutating func parseClass(_ start: Int) throws(Problem) -> ScalarClass {
        let isNegated = take("^")
        var ranges: [ClosedRange<UInt32>] = []
        var classes: [ClosedRange<UInt32>] = []
        while let scalar = next, scalar != "]" {
            let first = place
            if scalar == "\\" {
                place += 1
                if let inner = parseClassEscape() {
                    classes += inner
                    continue
                }
                place -= 1
            }
            let low = try parseClassScalar(start)
            guard next == "-", place + 1 < text.count, text[place + 1] != "]" else {
                ranges.append(low)
                continue
            }
            place += 1
            let high = try parseClassScalar(start)
            guard low.lowerBound <= high.lowerBound else { throw problem("The range is reversed.", at: first) }
            ranges.append(low.lowerBound...high.lowerBound)
        }
        guard take("]") else { throw problem("'[' has no ']'.", at: start) }
        guard !ranges.isEmpty || !classes.isEmpty else { throw problem("The class is empty.", at: start) }
        var result = scalars(ranges, isNegated: isNegated)
        result.ranges += classes
        return result
    }

    private mutating func parseClassScalar(_ start: Int) throws(Problem) -> ClosedRange<UInt32> {
        guard let scalar = next else { throw problem("'[' has no ']'.", at: start) }
        place += 1
        return scalar == "\\" ? try parseEscape(place - 1) : scalar.value...scalar.value
    }
}
