import StrictJSON

/// What the parts of expressions were during a decision.
struct DatabaseRecords {
    /// A reader wouldn't look through more values.
    private static let maxValues = 1000

    struct Value {
        var instruction: Int
        var rule: Int
        var shown: String
        /// Whether it may have all claims of the user's token.
        var isToken: Bool
    }

    struct Outcome: Sendable {
        var instruction: Int32
        /// Nil for an error.
        var value: Bool?
    }

    let hasValues: Bool
    /// The rule that is evaluated.
    var rule = 0
    private(set) var values: [Value] = []
    private(set) var outcomes: [Outcome] = []

    init(hasValues: Bool) { self.hasValues = hasValues }

    /// - Parameters:
    ///   - value: nil for an error, whose reason is given.
    ///   - location: the path of a snapshot.
    mutating func add(
        _ instruction: DatabaseInstruction, _ place: Int, _ value: DatabaseOperand?, _ reason: String?,
        _ location: String?
    ) {
        if instruction.isCondition {
            if case .boolean(let holds)? = value { outcomes.append(Outcome(instruction: Int32(place), value: holds)) }
            if value == nil { outcomes.append(Outcome(instruction: Int32(place), value: nil)) }
        }
        guard hasValues, values.count < Self.maxValues, !Self.isObvious(instruction.operation) else { return }
        var isToken = false
        let shown: String
        switch value {
        case nil: shown = "error: \(reason ?? "")"
        case .claims(let claims)?:
            isToken = true
            shown = Self.cut("\(claims)")
        case .snapshot?: shown = Self.cut(location ?? "")
        case .some(let value): shown = Self.cut(Self.text(value))
        }
        values.append(Value(instruction: place, rule: rule, shown: shown, isToken: isToken))
    }

    private static func isObvious(_ operation: DatabaseInstruction.Operation) -> Bool {
        switch operation {
        case .constant, .root, .data, .newData: true
        default: false
        }
    }

    private static func cut(_ text: String) -> String {
        text.utf8.count > 200 ? text.prefix(200) + "…" : text
    }

    private static func text(_ value: DatabaseOperand) -> String {
        switch value {
        case .null: "null"
        case .boolean(let value): "\(value)"
        case .string(let text): "'\(text.prefix(200))'"
        case .object: "an object"
        default: value.joined ?? ""
        }
    }
}
