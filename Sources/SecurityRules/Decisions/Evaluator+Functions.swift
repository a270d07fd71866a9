import DocumentModel
import Foundation
import TextFormats

extension Evaluator {
    mutating func builtin(_ function: Builtins.Function, _ arguments: [RuleValue], _ place: Int) -> RuleValue {
        if let failed = Self.failed(arguments) { return failed }
        switch (function, arguments.count) {
        case (.debug, 1): return arguments[0]
        case (_, 1) where function.readsDocument: return document(function, arguments[0], place)
        default: break
        }
        let value: RuleValue?
        switch function {
        case .path, .string, .int, .float, .bool:
            guard arguments.count == 1 else { value = nil; break }
            return convert(function, arguments[0], place)
        case .durationValue, .durationTime, .durationAbs, .timestampValue, .timestampDate, .latlngValue:
            value = make(function, arguments, place)
        case .mathAbs, .mathCeil, .mathFloor, .mathRound, .mathSqrt, .mathPow, .mathIsNaN, .mathIsInfinite:
            value = mathematics(function, arguments, place)
        case .md5, .sha256, .crc32, .crc32c:
            guard arguments.count == 1, let bytes = Self.bytes(arguments[0]) else { value = nil; break }
            if let error = spend(bytes.count / 16, place) { return error }
            value =
                switch function {
                case .md5: .bytes(Hashing.md5(bytes))
                case .sha256: .bytes(Hashing.sha256(bytes))
                case .crc32: .bytes(Hashing.crc32(bytes))
                default: .bytes(Hashing.crc32c(bytes))
                }
        default: value = nil
        }
        let types = arguments.map(\.type).joined(separator: ", ")
        return value ?? error("\(function.rawValue)(\(types)) isn't possible", place)
    }

    private static func bytes(_ value: RuleValue) -> [UInt8]? {
        switch value {
        case .string(let text): Array(text.utf8)
        case .bytes(let bytes): bytes
        default: nil
        }
    }

    // MARK: Conversions

    private mutating func convert(_ function: Builtins.Function, _ value: RuleValue, _ place: Int) -> RuleValue {
        // It is read character by character, and a path may have very many segments.
        if case .string(let text) = value, function != .string, let error = spend(text.utf8.count / 2, place) {
            return error
        }
        switch (function, value) {
        case (.string, _):
            if let text = Self.text(value) { return self.text(text.utf8.count, place) { text } }
        case (.path, .string(let text)):
            // One more for a slash at the start, and one to find out that there are too many.
            var parts = text.utf8.split(
                separator: UInt8(ascii: "/"), maxSplits: RulesLimits.madeValues + 1, omittingEmptySubsequences: false)
            if parts.count > 1, parts[0].isEmpty { parts.removeFirst() }
            guard parts.count <= RulesLimits.madeValues else { return error(MadePath.tooLong, place) }
            // As on Firebase, each segment is encoded as in a form.
            let segments = parts.compactMap { $0.isEmpty ? nil : PercentEncoding.decoded(bytes: $0, plusIsSpace: true) }
            guard segments.count == parts.count else {
                return error("'\(text.prefix(100))' has a segment that is empty or isn't percent-encoded", place)
            }
            return .path(segments)
        case (.path, .path), (.int, .int), (.float, .float), (.bool, .bool): return value
        case (.int, .float(let number)):
            return number.isNaN ? .int(0) : .int(Self.clamped(number))
        case (.int, .string(let text)):
            return Int64(text).map { .int($0) } ?? error("'\(text.prefix(100))' is not an integer", place)
        case (.float, .int(let number)): return .float(Double(number))
        case (.float, .string(let text)):
            return Self.float(text).map { .float($0) } ?? error("'\(text.prefix(100))' is not a number", place)
        case (.bool, .string("true")): return .bool(true)
        case (.bool, .string("false")): return .bool(false)
        default: break
        }
        return error("\(function.rawValue)(\(value.type)) isn't possible", place)
    }

    private static func clamped(_ number: Double) -> Int64 {
        number >= 0x1p63 ? .max : number <= -0x1p63 ? .min : Int64(number)
    }

    private static func float(_ text: String) -> Double? {
        switch text {
        case "NaN": return .nan
        case "Infinity": return .infinity
        case "-Infinity": return -.infinity
        default: break
        }
        // Double reads hexadecimal and names, too.
        guard text.utf8.allSatisfy({ "0123456789+-.eE".utf8.contains($0) }) else { return nil }
        return Double(text)
    }

    /// A value as `string()` and `join()` write it; nil if they don't.
    static func text(_ value: RuleValue) -> String? {
        switch value {
        case .string(let text): text
        case .int(let number): "\(number)"
        case .float(let number): text(number)
        case .bool(let value): "\(value)"
        case .null: "null"
        case .path(let segments): RuleValue.text(ofPath: segments)
        default: nil
        }
    }

    /// As the official emulator writes numbers: `1.5`, `1.23456789E8`, `NaN`.
    private static func text(_ number: Double) -> String {
        if number.isNaN { return "NaN" }
        if number.isInfinite { return number < 0 ? "-Infinity" : "Infinity" }
        if number == 0 || (1e-3..<1e7).contains(abs(number)) { return number.description }
        // The shortest digits, with one before the point.
        var digits = number.magnitude.description.uppercased()
        var exponent = 0
        if let mark = digits.firstIndex(of: "E") {
            exponent = Int(digits[digits.index(after: mark)...]) ?? 0
            digits = String(digits[..<mark])
        }
        let point = digits.firstIndex(of: ".").map { digits.distance(from: digits.startIndex, to: $0) } ?? digits.count
        var all = digits.filter { $0 != "." }
        let leading = all.prefix { $0 == "0" }.count
        all.removeFirst(leading)
        exponent += point - leading - 1
        while all.count > 1, all.last == "0" { all.removeLast() }
        return "\(number < 0 ? "-" : "")\(all.prefix(1)).\(all.count > 1 ? String(all.dropFirst()) : "0")E\(exponent)"
    }

    // MARK: Times and places

    private mutating func make(_ function: Builtins.Function, _ arguments: [RuleValue], _ place: Int) -> RuleValue? {
        switch (function, arguments.count) {
        case (.durationValue, 2):
            guard case .int(let count) = arguments[0], case .string(let unit) = arguments[1] else { return nil }
            let units: [String: Int128] = [
                "w": 604_800_000_000_000, "d": 86_400_000_000_000, "h": 3_600_000_000_000, "m": 60_000_000_000,
                "s": 1_000_000_000, "ms": 1_000_000, "ns": 1,
            ]
            guard let length = units[unit] else {
                return error("'\(unit.prefix(100))' is not a unit of time; write w, d, h, m, s, ms or ns", place)
            }
            return duration(Int128(count) * length, place)
        case (.durationTime, 4):
            let numbers = arguments.compactMap { if case .int(let number) = $0 { Int128(number) } else { nil } }
            guard numbers.count == 4 else { return nil }
            return duration(
                (numbers[0] * 3600 + numbers[1] * 60 + numbers[2]) * 1_000_000_000 + numbers[3], place)
        case (.durationAbs, 1):
            guard case .duration(let value) = arguments[0] else { return nil }
            return duration(abs(value.total), place)
        case (.timestampValue, 1):
            guard case .int(let milliseconds) = arguments[0] else { return nil }
            return timestamp(Int128(milliseconds) * 1_000_000, place)
        case (.timestampDate, 3):
            guard case .int(let year) = arguments[0], case .int(let month) = arguments[1],
                case .int(let day) = arguments[2]
            else { return nil }
            guard let date = CivilDate(year: Int(clamping: year), month: Int(clamping: month), day: Int(clamping: day))
            else { return error("\(year)-\(month)-\(day) is not a date", place) }
            return .timestamp(Timestamp(seconds: date.daysSince1970 * 86_400, nanoseconds: 0))
        case (.latlngValue, 2):
            guard let latitude = Self.number(arguments[0]), let longitude = Self.number(arguments[1]) else {
                return nil
            }
            let point = GeoPoint(latitude: latitude, longitude: longitude)
            return point.isValid
                ? .latlng(point)
                : error("latitudes are within -90 and 90, longitudes within -180 and 180", place)
        default: return nil
        }
    }

    private static func number(_ value: RuleValue) -> Double? {
        switch value {
        case .int(let number): Double(number)
        case .float(let number): number
        default: nil
        }
    }

    private mutating func mathematics(
        _ function: Builtins.Function, _ arguments: [RuleValue], _ place: Int
    ) -> RuleValue? {
        guard let first = arguments.first, let number = Self.number(first) else { return nil }
        if function == .mathPow {
            guard arguments.count == 2, let exponent = Self.number(arguments[1]) else { return nil }
            return .float(pow(number, exponent))
        }
        guard arguments.count == 1 else { return nil }
        switch function {
        case .mathAbs:
            guard case .int(let integer) = first else { return .float(number.magnitude) }
            return integer == .min
                ? error("its absolute value is larger than the largest integer", place) : .int(abs(integer))
        case .mathCeil: return .float(number.rounded(.up))
        case .mathFloor: return .float(number.rounded(.down))
        case .mathRound:
            if case .int = first { return first }
            if number.isNaN { return .int(0) }
            // Halves are rounded up, also below 0. Adding 0.5 would round twice.
            let below = number.rounded(.down)
            return .int(Self.clamped(number - below >= 0.5 ? below + 1 : below))
        case .mathSqrt: return .float(number.squareRoot())
        case .mathIsNaN: return .bool(number.isNaN)
        default: return .bool(number.isInfinite)
        }
    }
}
