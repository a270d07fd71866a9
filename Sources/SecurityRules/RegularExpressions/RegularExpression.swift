/// A regular expression in RE2's syntax. Matching takes time in proportion to the length of the text times the size of the
/// expression, however it is written: all ways to match are followed at the same time, and none is tried twice.
package struct RegularExpression: Sendable {
    /// Why a pattern isn't one.
    package struct Problem: Error {
        package let message: String
    }

    /// The text is too long for the expression.
    struct TooCostly: Error {}

    let code: [Step]
    let groups: Int

    indirect enum Node {
        case empty
        case scalars(ScalarClass)
        case assertion(Assertion)
        case sequence([Node])
        case choice([Node])
        case group(Node, Int)
        case repeated(Node, least: Int, most: Int?, isLazy: Bool)
    }

    enum Assertion: Sendable {
        case textStart, textEnd, lineStart, lineEnd, wordBoundary, noWordBoundary
    }

    enum Step: Sendable {
        case scalar(ScalarClass)
        case assertion(Assertion)
        /// Both ways are followed; the first is preferred.
        case split(Int, Int)
        case jump(Int)
        case save(Int)
        case match
    }

    /// RE2 bounds its memory; this bound is of the same order.
    static let maxSteps = 5000

    /// - Throws: ``Problem`` with what is wrong.
    package init(_ pattern: String) throws(Problem) {
        var parser = RegularExpressionParser(pattern)
        let node = try parser.parse()
        try self.init(node, groups: parser.groups)
    }

    /// - Throws: ``Problem`` if it is too large.
    init(_ node: Node, groups: Int) throws(Problem) {
        self.groups = groups
        var code: [Step] = []
        var work = 0
        try Self.compile(.group(node, 0), &code, &work)
        code.append(.match)
        self.code = code
    }

    /// - Parameter work: counts also what needs no step, such as a repeated empty group.
    private static func compile(_ node: Node, _ code: inout [Step], _ work: inout Int) throws(Problem) {
        work += 1
        guard code.count < maxSteps, work < 10 * maxSteps else { throw Problem(message: "it is too large") }
        switch node {
        case .empty: break
        case .scalars(let scalars): code.append(.scalar(scalars))
        case .assertion(let assertion): code.append(.assertion(assertion))
        case .sequence(let nodes): for node in nodes { try compile(node, &code, &work) }
        case .choice(let nodes):
            var jumps: [Int] = []
            for (index, node) in nodes.enumerated() {
                guard index < nodes.count - 1 else {
                    try compile(node, &code, &work)
                    break
                }
                let split = code.count
                code.append(.split(split + 1, 0))
                try compile(node, &code, &work)
                jumps.append(code.count)
                code.append(.jump(0))
                code[split] = .split(split + 1, code.count)
            }
            for jump in jumps { code[jump] = .jump(code.count) }
        case .group(let node, let number):
            code.append(.save(2 * number))
            try compile(node, &code, &work)
            code.append(.save(2 * number + 1))
        case .repeated(let node, let least, let most, let isLazy):
            for _ in 0..<least { try compile(node, &code, &work) }
            func split(_ first: Int, _ second: Int) -> Step { isLazy ? .split(second, first) : .split(first, second) }
            if let most {
                var splits: [Int] = []
                for _ in least..<max(least, most) {
                    splits.append(code.count)
                    code.append(.jump(0))
                    try compile(node, &code, &work)
                }
                for place in splits { code[place] = split(place + 1, code.count) }
            } else {
                let start = code.count
                code.append(.jump(0))
                try compile(node, &code, &work)
                code.append(.jump(start))
                code[start] = split(start + 1, code.count)
            }
        }
    }

    // MARK: Matching

    /// Whether the whole text matches.
    ///
    /// - Parameter work: what may be spent: one for each way that is followed by a character, and more for a class of
    ///   many ranges.
    func matches(_ text: String, _ work: inout Int) throws(TooCostly) -> Bool {
        let scalars = Array(text.unicodeScalars)
        return try match(scalars, from: 0, isWhole: true, &work) != nil
    }

    /// Finds the first match at or after a place: the bounds of the match and its groups, -1 where a group has none.
    func match(
        _ text: [UnicodeScalar], from start: Int, isWhole: Bool = false, _ work: inout Int
    ) throws(TooCostly) -> [Int]? {
        var current = Threads(capacity: code.count)
        var next = Threads(capacity: code.count)
        var found: [Int]?
        // Groups cost an allocation for each way; whether a text matches needs none.
        let none = isWhole ? [] : [Int](repeating: -1, count: 2 * (groups + 1))
        for place in start...text.count {
            if found == nil, !isWhole || place == start { add(0, none, place, text, &current) }
            if current.isEmpty, found != nil || isWhole { break }
            work -= (isWhole ? 1 : 8) * (current.visited.count + 1)
            guard work >= 0 else {
                work = 0
                throw TooCostly()
            }
            let scalar = place < text.count ? text[place] : nil
            next.removeAll()
            for (index, step) in current.order.enumerated() {
                switch code[step] {
                case .scalar(let scalars):
                    work -= scalars.cost
                    guard work >= 0 else {
                        work = 0
                        throw TooCostly()
                    }
                    if let scalar, scalars.contains(scalar) {
                        add(step + 1, current.saved[index], place + 1, text, &next)
                    }
                case .match where !isWhole || place == text.count:
                    found = current.saved[index]
                    // What follows is less preferred.
                    next.stopsHere = true
                default: break
                }
                if next.stopsHere { break }
            }
            next.stopsHere = false
            swap(&current, &next)
        }
        return found
    }

    /// The ways to match that are followed, the preferred first.
    private struct Threads {
        var order: [Int] = []
        var saved: [[Int]] = []
        private var isKnown: [Bool]
        var stopsHere = false

        init(capacity: Int) { isKnown = [Bool](repeating: false, count: capacity) }

        var isEmpty: Bool { order.isEmpty }

        /// - Returns: Whether the step is new.
        mutating func insert(_ step: Int) -> Bool {
            guard !isKnown[step] else { return false }
            isKnown[step] = true
            visited.append(step)
            return true
        }

        private(set) var visited: [Int] = []

        mutating func removeAll() {
            for step in visited { isKnown[step] = false }
            visited.removeAll(keepingCapacity: true)
            order.removeAll(keepingCapacity: true)
            saved.removeAll(keepingCapacity: true)
        }
    }

    /// Follows what needs no character, without recursion.
    private func add(_ first: Int, _ saved: [Int], _ place: Int, _ text: [UnicodeScalar], _ threads: inout Threads) {
        var pending = [(first, saved)]
        while let (step, saved) = pending.popLast() {
            guard threads.insert(step) else { continue }
            switch code[step] {
            case .jump(let target): pending.append((target, saved))
            case .split(let first, let second):
                pending.append((second, saved))
                pending.append((first, saved))
            case .save(let slot):
                var saved = saved
                if !saved.isEmpty { saved[slot] = place }
                pending.append((step + 1, saved))
            case .assertion(let assertion):
                if holds(assertion, place, text) { pending.append((step + 1, saved)) }
            case .scalar, .match:
                threads.order.append(step)
                threads.saved.append(saved)
            }
        }
    }

    private func holds(_ assertion: Assertion, _ place: Int, _ text: [UnicodeScalar]) -> Bool {
        func isWord(_ index: Int) -> Bool { text.indices.contains(index) && ScalarClass.word.contains(text[index]) }
        return switch assertion {
        case .textStart: place == 0
        case .textEnd: place == text.count
        case .lineStart: place == 0 || text[place - 1] == "\n"
        case .lineEnd: place == text.count || text[place] == "\n"
        case .wordBoundary: isWord(place - 1) != isWord(place)
        case .noWordBoundary: isWord(place - 1) == isWord(place)
        }
    }

    // MARK: Replacing and splitting

    /// Replaces all matches. In the replacement, `$1` is what the first group has matched and `$0` the match.
    ///
    /// - Returns: nil if the replacement names a group that the expression doesn't have.
    func replace(
        _ text: String, _ replacement: String, maxBytes: Int, _ work: inout Int
    ) throws(TooCostly) -> String? {
        let scalars = Array(text.unicodeScalars)
        // Its count is looked at often.
        var result: [UnicodeScalar] = []
        var end = 0
        for match in try all(scalars, &work) {
            result.append(contentsOf: scalars[end..<match[0]])
            work -= replacement.utf8.count
            guard work >= 0 else { throw TooCostly() }
            guard try expand(replacement, match, scalars, &result, maxCount: maxBytes / 4) else { return nil }
            end = match[1]
        }
        result.append(contentsOf: scalars[end...])
        return String(String.UnicodeScalarView(result))
    }

    private func expand(
        _ replacement: String, _ match: [Int], _ text: [UnicodeScalar], _ result: inout [UnicodeScalar], maxCount: Int
    ) throws(TooCostly) -> Bool {
        var rest = Substring(replacement).unicodeScalars
        while let scalar = rest.popFirst() {
            guard result.count <= maxCount else { throw TooCostly() }
            if scalar == "\\", let next = rest.popFirst() {
                result.append(next)
            } else if scalar == "$", let digit = rest.first.flatMap({ Int(String($0)) }) {
                rest.removeFirst()
                var group = digit
                while let digit = rest.first.flatMap({ Int(String($0)) }), group * 10 + digit <= groups {
                    rest.removeFirst()
                    group = group * 10 + digit
                }
                guard group <= groups else { return false }
                if match[2 * group] >= 0 { result.append(contentsOf: text[match[2 * group]..<match[2 * group + 1]]) }
            } else {
                result.append(scalar)
            }
        }
        return true
    }

    /// What stands between the matches, without empty texts at the end; at least one text.
    func split(_ text: String, _ work: inout Int) throws(TooCostly) -> [String] {
        let scalars = Array(text.unicodeScalars)
        var parts: [String] = []
        var end = 0
        for match in try all(scalars, &work) {
            parts.append(String(String.UnicodeScalarView(scalars[end..<match[0]])))
            end = match[1]
        }
        parts.append(String(String.UnicodeScalarView(scalars[end...])))
        while parts.count > 1, parts.last == "" { parts.removeLast() }
        return parts
    }

    private func all(_ text: [UnicodeScalar], _ work: inout Int) throws(TooCostly) -> [[Int]] {
        var matches: [[Int]] = []
        var place = 0
        while place <= text.count, let match = try match(text, from: place, &work) {
            matches.append(match)
            place = match[1] > match[0] ? match[1] : match[1] + 1
        }
        return matches
    }
}
