/// The functions of the language that aren't methods.
enum Builtins {
    enum Function: String, CaseIterable {
        case get, exists, getAfter, existsAfter
        case path, string, int, float, bool, debug
        case durationValue = "duration.value", durationTime = "duration.time", durationAbs = "duration.abs"
        case timestampValue = "timestamp.value", timestampDate = "timestamp.date"
        case latlngValue = "latlng.value"
        case mathAbs = "math.abs", mathCeil = "math.ceil", mathFloor = "math.floor", mathRound = "math.round"
        case mathSqrt = "math.sqrt", mathPow = "math.pow", mathIsNaN = "math.isNaN", mathIsInfinite = "math.isInfinite"
        case md5 = "hashing.md5", sha256 = "hashing.sha256", crc32 = "hashing.crc32", crc32c = "hashing.crc32c"

        /// The number in the code.
        var index: Int32 { Int32(Self.allCases.firstIndex(of: self) ?? 0) }

        var readsDocument: Bool { self == .get || self == .exists || self == .getAfter || self == .existsAfter }
    }

    static let functions = Function.allCases

    static func isNamespace(_ name: String) -> Bool { example(name) != nil }

    static func example(of namespace: String) -> String { example(namespace) ?? "" }

    private static func example(_ namespace: String) -> String? {
        switch namespace {
        case "duration", "timestamp", "latlng": "value"
        case "math": "abs"
        case "hashing": "sha256"
        default: nil
        }
    }
}
