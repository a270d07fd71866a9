import DocumentModel
import StrictJSON

/// A value of an expression.
enum DatabaseOperand: Sendable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case double(Double)
    case string(String)
    /// The value of a node with children.
    case object
    /// An object or a list of `auth`.
    case claims(JSONValue)
    case snapshot(DatabaseSnapshot)

    init(_ value: DatabaseRulesValue) {
        self =
            switch value {
            case .null: .null
            case .boolean(let value): .boolean(value)
            case .integer(let value): .integer(value)
            case .double(let value): .double(value)
            case .string(let value): .string(value)
            case .object: .object
            }
    }

    init(_ value: JSONValue) {
        self =
            switch value {
            case .null: .null
            case .bool(let value): .boolean(value)
            case .integer(let value): .integer(value)
            case .unsigned(let value): .double(Double(value))
            case .double(let value): .double(value)
            case .string(let value): .string(value)
            case .array, .object: .claims(value)
            }
    }

    /// The type's name, for explanations.
    var type: String {
        switch self {
        case .null: "null"
        case .boolean: "a boolean"
        case .integer, .double: "a number"
        case .string: "a string"
        case .object, .claims: "an object"
        case .snapshot: "a snapshot"
        }
    }

    /// `a == b`: numbers are compared by value; values of two types are never equal, and neither are two nodes with children.
    /// Texts and names are compared by their bytes.
    static func equal(_ a: DatabaseOperand, _ b: DatabaseOperand) -> Bool {
        switch (a, b) {
        case (.string(let a), .string(let b)): TextBytes.equal(a, b)
        case (.null, .null): true
        case (.boolean(let a), .boolean(let b)): a == b
        case (.integer(let a), .integer(let b)): a == b
        case (.double(let a), .double(let b)): a == b
        case (.integer(let a), .double(let b)), (.double(let b), .integer(let a)): order(a, b) == .equal
        case (.claims(.array(let a)), .claims(.array(let b))): a.elementsEqual(b) { equal($0, $1) }
        case (.claims(.object(let a)), .claims(.object(let b))):
            a.count == b.count
                && a.allSatisfy { member in
                    guard let position = b.members.position(of: member.key) else { return false }
                    return TextBytes.equal(b[position].key, member.key) && equal(b[position].value, member.value)
                }
        default: false
        }
    }

    private static func equal(_ a: JSONValue, _ b: JSONValue) -> Bool {
        equal(DatabaseOperand(a), DatabaseOperand(b))
    }

    /// How two numbers or two strings are ordered; nil for other types. Strings are ordered by UTF-16.
    static func order(_ a: DatabaseOperand, _ b: DatabaseOperand) -> Ordering? {
        switch (a, b) {
        case (.integer(let a), .integer(let b)): Ordering(a, b)
        case (.double(let a), .double(let b)): Ordering(a, b)
        case (.integer(let a), .double(let b)): order(a, b)
        case (.double(let a), .integer(let b)): order(b, a).reversed
        case (.string(let a), .string(let b)): Ordering(a.utf16, b.utf16)
        default: nil
        }
    }

    /// Compares by value: a double of 2^53 has neighbours between which integers lie.
    private static func order(_ a: Int64, _ b: Double) -> Ordering {
        if b.isNaN { return .unordered }
        if b >= 0x1p63 { return .less }
        if b < -0x1p63 { return .greater }
        let whole = b.rounded(.down)
        let other = Int64(whole)
        return a == other && b != whole ? .less : Ordering(a, other)
    }

    /// A number or a string as `+` joins it to a string; nil for other types.
    var joined: String? {
        switch self {
        case .string(let text): text
        case .integer(let number): String(number)
        case .double(let number): Self.text(number)
        default: nil
        }
    }

    /// A number as JavaScript writes it: `1.5`, `100`, `1e+21`, `1e-7`, `NaN`.
    static func text(_ number: Double) -> String {
        if number.isNaN { return "NaN" }
        if number.isInfinite { return number < 0 ? "-Infinity" : "Infinity" }
        if number == 0 { return "0" }
        // The shortest digits, and the place of the point among them.
        var text = number.magnitude.description
        var point = 0
        if let mark = text.firstIndex(where: { $0 == "e" || $0 == "E" }) {
            point = Int(text[text.index(after: mark)...]) ?? 0
            text = String(text[..<mark])
        }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        point += parts[0].count
        var digits = parts.joined()
        let zeros = digits.prefix { $0 == "0" }.count
        digits.removeFirst(zeros)
        point -= zeros
        while digits.last == "0" { digits.removeLast() }
        let count = digits.count
        let sign = number < 0 ? "-" : ""
        func repeated(_ count: Int) -> String { String(repeating: "0", count: count) }
        if count <= point, point <= 21 { return sign + digits + repeated(point - count) }
        if point > 0, point <= 21 { return "\(sign)\(digits.prefix(point)).\(digits.dropFirst(point))" }
        if point > -6, point <= 0 { return "\(sign)0.\(repeated(-point))\(digits)" }
        let exponent = point - 1
        let fraction = count > 1 ? ".\(digits.dropFirst())" : ""
        return "\(sign)\(digits.prefix(1))\(fraction)e\(exponent < 0 ? "-" : "+")\(abs(exponent))"
    }
}

/// A place in one of the two trees. It is a prefix of the path that is decided, or of one that `child` has made.
struct DatabaseSnapshot: Sendable {
    /// Whether it is in the tree as the write would leave it.
    var isAfter: Bool
    /// The made path; -1 for the path that is decided.
    var path: Int32
    /// The number of segments.
    var depth: Int32
}

extension Ordering {
    var reversed: Ordering {
        switch self {
        case .less: .greater
        case .greater: .less
        default: self
        }
    }
}
