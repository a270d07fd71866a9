/// A set of characters, as a class of a regular expression.
struct ScalarClass: Sendable {
    /// Sorted or not; a character is in the class if one range has it, or one category, or one complement.
    var ranges: [ClosedRange<UInt32>] = []
    var categories: [CategoryTest] = []
    /// What other ranges don't have, such as `\W`.
    var complements: [[ClosedRange<UInt32>]] = []
    var isNegated = false
    var ignoresCase = false

    /// A general category, such as `Lu` or `L`.
    struct CategoryTest: Sendable {
        var name: String
        var isNegated: Bool
    }

    static let all = ScalarClass(ranges: [0...0x10FFFF])
    static let notNewline = ScalarClass(ranges: [0...9, 11...0x10FFFF])
    static let digit = ScalarClass(ranges: [0x30...0x39])
    static let space = ScalarClass(ranges: [0x09...0x0A, 0x0C...0x0D, 0x20...0x20])
    static let word = ScalarClass(ranges: [0x30...0x39, 0x41...0x5A, 0x5F...0x5F, 0x61...0x7A])

    /// The ASCII classes of `[[:name:]]`.
    static let named: [String: [ClosedRange<UInt32>]] = [
        "alnum": [0x30...0x39, 0x41...0x5A, 0x61...0x7A], "alpha": [0x41...0x5A, 0x61...0x7A], "ascii": [0...0x7F],
        "blank": [0x09...0x09, 0x20...0x20], "cntrl": [0...0x1F, 0x7F...0x7F], "digit": [0x30...0x39],
        "graph": [0x21...0x7E], "lower": [0x61...0x7A], "print": [0x20...0x7E],
        "punct": [0x21...0x2F, 0x3A...0x40, 0x5B...0x60, 0x7B...0x7E], "space": [0x09...0x0D, 0x20...0x20],
        "upper": [0x41...0x5A], "word": [0x30...0x39, 0x41...0x5A, 0x5F...0x5F, 0x61...0x7A],
        "xdigit": [0x30...0x39, 0x41...0x46, 0x61...0x66],
    ]

    /// What it takes to look for a character, beyond what a way to match costs anyway.
    var cost: Int { complements.reduce(ranges.count) { $0 + 1 + $1.count } / 16 + categories.count / 2 }

    /// Where case doesn't matter, what is negated excludes a character if it has any of its cases, as in RE2.
    func contains(_ scalar: UnicodeScalar) -> Bool {
        let others = ignoresCase ? Self.otherCases(of: scalar) : []
        func haveAny(_ ranges: [ClosedRange<UInt32>]) -> Bool {
            ranges.contains { range in
                range.contains(scalar.value) || others.contains { range.contains($0.value) }
            }
        }
        let isIn = haveAny(ranges) || complements.contains { !haveAny($0) } || isInCategory([scalar] + others)
        return isIn != isNegated
    }

    private func isInCategory(_ cases: @autoclosure () -> [UnicodeScalar]) -> Bool {
        guard !categories.isEmpty else { return false }
        let codes = cases().map { $0.properties.generalCategory.code }
        return categories.contains { test in codes.contains { $0.hasPrefix(test.name) } != test.isNegated }
    }

    /// The other cases of a character: `k` and `K` of the sign of kelvin. The dotless i isn't a case of `I`.
    private static func otherCases(of scalar: UnicodeScalar) -> [UnicodeScalar] {
        var found: [UnicodeScalar] = []
        func add(_ scalar: UnicodeScalar) {
            guard scalar.value != 0x131 else { return }
            for text in [scalar.properties.lowercaseMapping, scalar.properties.uppercaseMapping] {
                let mapped = text.unicodeScalars
                if let first = mapped.first, mapped.count == 1, !found.contains(first) { found.append(first) }
            }
        }
        add(scalar)
        for other in found { add(other) }
        return found
    }

    /// The complement's ranges.
    static func complement(_ ranges: [ClosedRange<UInt32>]) -> [ClosedRange<UInt32>] {
        var result: [ClosedRange<UInt32>] = []
        var next: UInt32 = 0
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if range.lowerBound > next { result.append(next...range.lowerBound - 1) }
            next = max(next, range.upperBound + 1)
        }
        if next <= 0x10FFFF { result.append(next...0x10FFFF) }
        return result
    }

    /// The names of general categories.
    static let categoryNames: Set<String> = [
        "C", "Cc", "Cf", "Co", "Cs", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N", "Nd", "Nl", "No",
        "P",
        "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp", "Zs",
    ]
}

extension Unicode.GeneralCategory {
    /// The two letters of Unicode's tables.
    fileprivate var code: String {
        switch self {
        case .uppercaseLetter: "Lu"
        case .lowercaseLetter: "Ll"
        case .titlecaseLetter: "Lt"
        case .modifierLetter: "Lm"
        case .otherLetter: "Lo"
        case .nonspacingMark: "Mn"
        case .spacingMark: "Mc"
        case .enclosingMark: "Me"
        case .decimalNumber: "Nd"
        case .letterNumber: "Nl"
        case .otherNumber: "No"
        case .connectorPunctuation: "Pc"
        case .dashPunctuation: "Pd"
        case .openPunctuation: "Ps"
        case .closePunctuation: "Pe"
        case .initialPunctuation: "Pi"
        case .finalPunctuation: "Pf"
        case .otherPunctuation: "Po"
        case .mathSymbol: "Sm"
        case .currencySymbol: "Sc"
        case .modifierSymbol: "Sk"
        case .otherSymbol: "So"
        case .spaceSeparator: "Zs"
        case .lineSeparator: "Zl"
        case .paragraphSeparator: "Zp"
        case .control: "Cc"
        case .format: "Cf"
        case .surrogate: "Cs"
        case .privateUse: "Co"
        case .unassigned: "Cn"
        @unknown default: "Cn"
        }
    }
}
