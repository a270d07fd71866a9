import DocumentModel
import Foundation
import TextFormats

extension Evaluator {
    /// `value.name(arguments…)`.
    mutating func method(_ name: String, of value: RuleValue, _ arguments: [RuleValue], _ place: Int) -> RuleValue {
        if case .error = value { return value }
        if case .unknown(let unknown) = value { return unknownMethod(name, of: unknown, arguments) }
        if let failed = Self.failed(arguments) { return failed }
        if let error = spend(Self.weight(of: value), place) { return error }
        let result: RuleValue? =
            switch value {
            case .string(let text): string(text, name, arguments, place)
            case .bytes(let bytes): Self.bytes(bytes, name, arguments)
            case .list, .storedList: list(value.elements ?? [], name, arguments, place)
            case .map, .storedMap: map(value.members ?? [:], name, arguments, place)
            case .request: map(requestMembers(), name, arguments, place)
            case .set(let elements): set(elements, name, arguments, place)
            case .mapDiff(let diff): mapDiff(diff, name, arguments, place)
            case .timestamp(let time): Self.timestamp(time, name, arguments)
            case .duration(let duration): Self.duration(duration, name, arguments)
            case .latlng(let point): Self.latlng(point, name, arguments)
            case .path(let segments): path(segments, name, arguments, place)
            case .null: error("null has no method '\(name)'", place)
            default: nil
            }
        let types = arguments.map(\.type).joined(separator: ", ")
        return result ?? error("\(value.type).\(name)(\(types)) isn't possible", place)
    }

    private mutating func requestMembers() -> [String: RuleValue] {
        var members: [String: RuleValue] = [:]
        for name in ["auth", "method", "path", "time", "resource", "query"] { members[name] = requestMember(name) }
        return members
    }

    private func unknownMethod(_ name: String, of unknown: UnknownValue, _ arguments: [RuleValue]) -> RuleValue {
        if let error = arguments.first(where: { if case .error = $0 { true } else { false } }) { return error }
        guard let facts else { return .unknown(.other) }
        switch (unknown, name, arguments.count) {
        case (.field(let path), "get", 2):
            guard let names = Self.names(arguments[0]) else { return .unknown(.other) }
            if let value = facts.value(of: path + names) { return value }
            return facts.exists(path + names) ? .unknown(.field(path + names)) : .unknown(.other)
        case (.field(let path), "keys", 0): return .unknown(.keys(path))
        case (.field(let path), "hasAny", 1):
            let wanted = arguments[0].elements ?? []
            return wanted.contains { facts.hasElement($0, in: path) } ? .bool(true) : .unknown(.other)
        case (.field(let path), "hasAll", 1):
            // Of no elements nothing is known: the field may be missing.
            guard let wanted = arguments[0].elements, !wanted.isEmpty else { return .unknown(.other) }
            return wanted.allSatisfy { facts.hasElement($0, in: path) } ? .bool(true) : .unknown(.other)
        case (.keys(let path), "hasAll", 1):
            guard let wanted = arguments[0].elements, !wanted.isEmpty || path.isEmpty else { return .unknown(.other) }
            let exist = wanted.allSatisfy {
                if case .string(let name) = $0 { facts.exists(path + [name]) } else { false }
            }
            return exist ? .bool(true) : .unknown(.other)
        case (.keys(let path), "hasAny", 1):
            let wanted = arguments[0].elements ?? []
            let exist = wanted.contains {
                if case .string(let name) = $0 { facts.exists(path + [name]) } else { false }
            }
            return exist ? .bool(true) : .unknown(.other)
        default: return .unknown(.other)
        }
    }

    /// The name of a member, or those on the way to it.
    private static func names(_ value: RuleValue) -> [String]? {
        if case .string(let name) = value { return [name] }
        let names = value.elements?.map { if case .string(let name) = $0 { name } else { nil as String? } }
        guard let names, !names.contains(nil) else { return nil }
        return names.compactMap(\.self)
    }

    // MARK: Texts

    private mutating func string(
        _ text: String, _ name: String, _ arguments: [RuleValue], _ place: Int
    ) -> RuleValue? {
        switch (name, arguments.count) {
        case ("size", 0): return .int(Int64(text.utf16.count))
        case ("lower", 0): return switchingCase(of: "A"..."Z", in: text, place)
        case ("upper", 0): return switchingCase(of: "a"..."z", in: text, place)
        case ("trim", 0):
            let scalars = text.unicodeScalars.drop { $0.value <= 0x20 }
            let end = scalars.lastIndex { $0.value > 0x20 }.map { scalars.index(after: $0) } ?? scalars.startIndex
            return .string(String(String.UnicodeScalarView(scalars[..<end])))
        case ("toUtf8", 0): return .bytes(Array(text.utf8))
        case ("matches", 1), ("split", 1), ("replace", 2): return match(text, name, arguments, place)
        default: return nil
        }
    }

    /// As the official emulator does, other letters stay: one that only looks alike, such as the sign of kelvin, must not
    /// become a letter of ASCII.
    private mutating func switchingCase(
        of letters: ClosedRange<Unicode.Scalar>, in text: String, _ place: Int
    ) -> RuleValue {
        if let error = spend(text.utf8.count, place) { return error }
        let bytes = text.utf8.map { letters.contains(Unicode.Scalar($0)) ? $0 ^ 0x20 : $0 }
        return .string(String(decoding: bytes, as: UTF8.self))
    }

    private mutating func match(
        _ text: String, _ name: String, _ arguments: [RuleValue], _ place: Int
    ) -> RuleValue? {
        guard case .string(let pattern) = arguments[0] else { return nil }
        let expression: RegularExpression
        // Texts that are equal as Swift's strings match the same way only if their bytes are equal.
        if let known = program.patterns[PatternText(text: pattern)] {
            expression = known
        } else {
            if let error = spend(4 * pattern.utf8.count, place) { return error }
            do { expression = try RegularExpression(pattern) } catch let problem {
                return error("the regular expression is invalid: \(problem.message)", place)
            }
        }
        do {
            switch name {
            case "matches": return .bool(try expression.matches(text, &work))
            case "split": return .list(try expression.split(text, &work).map { .string($0) })
            default:
                guard case .string(let replacement) = arguments[1] else { return nil }
                return try expression.replace(text, replacement, maxBytes: RulesLimits.madeText, &work).map {
                    .string($0)
                }
                    ?? error("'\(replacement.prefix(100))' names a group that the expression doesn't have", place)
            }
        } catch {
            return self.error("the text is too long for this regular expression", place)
        }
    }

    private static func bytes(_ bytes: [UInt8], _ name: String, _ arguments: [RuleValue]) -> RuleValue? {
        guard arguments.isEmpty else { return nil }
        return switch name {
        case "size": .int(Int64(bytes.count))
        // The reference speaks of base64url, and the official emulator pads it.
        case "toBase64": .string(Base64.encodePaddedForURL(bytes))
        case "toHexString": .string(hexadecimal(bytes))
        default: nil
        }
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(2 * bytes.count)
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    // MARK: Lists, sets and maps

    private mutating func list(
        _ elements: [RuleValue], _ name: String, _ arguments: [RuleValue], _ place: Int
    ) -> RuleValue? {
        switch (name, arguments.count) {
        case ("size", 0): return .int(Int64(elements.count))
        case ("toSet", 0): return searching(elements, among: elements, place) ?? .set(of: elements)
        case ("join", 1):
            guard case .string(let separator) = arguments[0] else { return nil }
            if let error = spend(elements.count, place) { return error }
            var texts: [String] = []
            var bytes = 0
            // The text of a path is made for each element that is the path.
            for element in elements where bytes <= RulesLimits.madeText {
                guard let text = Self.text(element) else {
                    return error("join() can't write an element of type \(element.type)", place)
                }
                texts.append(text)
                bytes += text.utf8.count + separator.utf8.count
            }
            return text(bytes, place) { texts.joined(separator: separator) }
        default: break
        }
        guard arguments.count == 1, let others = arguments[0].elements else { return nil }
        let isJoined = name == "concat"
        let count = elements.count + others.count
        if let error = isJoined ? spend(count, place) : searching(elements, among: others, place) {
            return error
        }
        if isJoined, count > RulesLimits.madeValues * 100 { return error("the list is too long", place) }
        switch name {
        case "hasAll": return .bool(others.allSatisfy { RuleValue.contains(elements, $0) })
        case "hasAny": return .bool(others.contains { RuleValue.contains(elements, $0) })
        case "hasOnly": return .bool(elements.allSatisfy { RuleValue.contains(others, $0) })
        case "concat": return .list(elements + others)
        case "removeAll": return .list(elements.filter { !RuleValue.contains(others, $0) })
        default: return nil
        }
    }

    /// Pays for looking for each of some values among others: all that is in one is compared with all that is in another.
    ///
    /// - Returns: an error if there are too many.
    mutating func searching(_ values: [RuleValue], among others: [RuleValue], _ place: Int) -> RuleValue? {
        guard let size = fullSize(of: values), let otherSize = fullSize(of: others) else { return spend(.max, place) }
        let (cost, isTooLarge) = values.count.multipliedReportingOverflow(by: otherSize)
        let (otherCost, isOtherTooLarge) = others.count.multipliedReportingOverflow(by: size)
        return spend(isTooLarge || isOtherTooLarge ? .max : cost / 2 + otherCost / 2 + 1, place)
    }

    /// What comparing the values costs; nil if that is more than can be paid.
    private func fullSize(of values: [RuleValue]) -> Int? {
        var left = work
        let arePayable = values.allSatisfy { $0.count(into: &left, depth: RulesLimits.nesting + 20, isCompared: true) }
        guard arePayable else { return nil }
        return work - left
    }

    private mutating func set(
        _ elements: [RuleValue], _ name: String, _ arguments: [RuleValue], _ place: Int
    ) -> RuleValue? {
        if arguments.isEmpty { return name == "size" ? .int(Int64(elements.count)) : nil }
        guard arguments.count == 1 else { return nil }
        var isSet = false
        let others: [RuleValue]
        if case .set(let all) = arguments[0] {
            (others, isSet) = (all, true)
        } else {
            guard let all = arguments[0].elements else { return nil }
            others = all
        }
        let isUnion = name == "union"
        let searched = isUnion ? elements + others : others
        if let error = searching(isUnion ? searched : elements, among: searched, place) { return error }
        func has(_ all: [RuleValue], _ value: RuleValue) -> Bool { RuleValue.contains(all, value, RuleValue.similar) }
        switch name {
        case "hasAll": return .bool(others.allSatisfy { has(elements, $0) })
        case "hasAny": return .bool(others.contains { has(elements, $0) })
        case "hasOnly": return .bool(elements.allSatisfy { has(others, $0) })
        case "difference" where isSet: return .set(elements.filter { !has(others, $0) })
        case "intersection" where isSet: return .set(elements.filter { has(others, $0) })
        case "union" where isSet: return .set(of: elements + others)
        default: return nil
        }
    }

    private mutating func map(
        _ members: [String: RuleValue], _ name: String, _ arguments: [RuleValue], _ place: Int
    ) -> RuleValue? {
        if let error = spend(members.count, place) { return error }
        switch (name, arguments.count) {
        case ("size", 0): return .int(Int64(members.count))
        case ("keys", 0): return .list(RuleValue.sorted(members.keys).map { .string($0) })
        case ("values", 0): return .list(RuleValue.sorted(members.keys).compactMap { members[$0] })
        case ("get", 2):
            guard let names = Self.names(arguments[0]) else { return nil }
            var value = RuleValue.map(members)
            for name in names {
                guard let member = value.member(name) else { return arguments[1] }
                value = member
            }
            return value
        case ("diff", 1):
            guard let others = arguments[0].members else { return nil }
            return .mapDiff(MapDiff(others, members))
        default: return nil
        }
    }

    /// The keys of `a.diff(b)`: those that are in `a` alone are added.
    private mutating func mapDiff(
        _ diff: MapDiff, _ name: String, _ arguments: [RuleValue], _ place: Int
    ) -> RuleValue? {
        guard arguments.isEmpty else { return nil }
        var left = work
        let isPayable = RuleValue.mapDiff(diff).count(
            into: &left, depth: RulesLimits.nesting + 20, isCompared: true)
        if let error = spend(isPayable ? work - left : .max, place) { return error }
        func isSimilar(_ before: RuleValue?, _ after: RuleValue?) -> Bool? {
            guard let before, let after else { return nil }
            return RuleValue.similar(before, after)
        }
        return switch name {
        case "addedKeys": diff.keys { before, after in before == nil }
        case "removedKeys": diff.keys { before, after in after == nil }
        case "changedKeys": diff.keys { isSimilar($0, $1) == false }
        case "unchangedKeys": diff.keys { isSimilar($0, $1) == true }
        case "affectedKeys": diff.keys { isSimilar($0, $1) != true }
        default: nil
        }
    }

    private mutating func path(
        _ segments: [String], _ name: String, _ arguments: [RuleValue], _ place: Int
    ) -> RuleValue? {
        guard name == "bind", arguments.count == 1, let values = arguments[0].members else { return nil }
        // A segment takes longer than an element of a list.
        if let error = spend(8 * (segments.count + values.count), place) { return error }
        var bound = MadePath()
        var used: Set<String> = []
        for segment in segments {
            guard segment.hasPrefix("{"), segment.hasSuffix("}"), segment.count > 2 else {
                bound.append([segment])
                continue
            }
            var key = String(segment.dropFirst().dropLast())
            for suffix in ["=**", "=*"] where key.hasSuffix(suffix) { key.removeLast(suffix.count) }
            switch RuleValue.member(of: values, key) {
            case .string(let text)?: bound.append([text])
            case .path(let path)?: bound.append(path)
            case let value?: return error("'\(key)' is of type \(value.type), not string", place)
            case nil: return error("nothing is given for '{\(key)}'", place)
            }
            used.insert(key)
            if bound.isTooLong { return error(MadePath.tooLong, place) }
        }
        if let unused = RuleValue.sorted(values.keys).first(where: { !used.contains($0) }) {
            return error("the path has no '{\(unused)}'", place)
        }
        return bound.isTooLong ? error(MadePath.tooLong, place) : .path(bound.segments)
    }

    // MARK: Times and places

    private static func timestamp(_ time: Timestamp, _ name: String, _ arguments: [RuleValue]) -> RuleValue? {
        guard arguments.isEmpty else { return nil }
        let day = (time.totalNanoseconds - time.totalNanoseconds % 86_400_000_000_000) / 86_400_000_000_000
        let days = Int64(time.totalNanoseconds < 0 && time.totalNanoseconds % 86_400_000_000_000 != 0 ? day - 1 : day)
        let date = CivilDate(daysSince1970: days)
        let second = time.seconds - days * 86_400
        switch name {
        case "year": return .int(Int64(date.year))
        case "month": return .int(Int64(date.month))
        case "day": return .int(Int64(date.day))
        case "hours": return .int(second / 3600)
        case "minutes": return .int(second / 60 % 60)
        case "seconds": return .int(second % 60)
        case "nanos": return .int(Int64(time.nanoseconds))
        // 1 is Monday; 1970 began with a Thursday.
        case "dayOfWeek": return .int(((days + 3) % 7 + 7) % 7 + 1)
        case "dayOfYear":
            guard let first = CivilDate(year: date.year, month: 1, day: 1) else { return nil }
            return .int(days - first.daysSince1970 + 1)
        case "toMillis": return .int(time.seconds * 1000 + Int64(time.nanoseconds) / 1_000_000)
        case "date": return .timestamp(Timestamp(seconds: days * 86_400, nanoseconds: 0))
        case "time": return .duration(RuleDuration(seconds: second, nanoseconds: time.nanoseconds))
        default: return nil
        }
    }

    private static func duration(_ duration: RuleDuration, _ name: String, _ arguments: [RuleValue]) -> RuleValue? {
        guard arguments.isEmpty else { return nil }
        return switch name {
        case "seconds": .int(duration.seconds)
        case "nanos": .int(Int64(duration.nanoseconds))
        default: nil
        }
    }

    private static func latlng(_ point: GeoPoint, _ name: String, _ arguments: [RuleValue]) -> RuleValue? {
        switch (name, arguments.first) {
        case ("latitude", nil): return .float(point.latitude)
        case ("longitude", nil): return .float(point.longitude)
        case ("distance", .latlng(let other)?) where arguments.count == 1:
            // On a sphere (haversine), in meters.
            func radians(_ degrees: Double) -> Double { degrees * .pi / 180 }
            let (a, b) = (radians(point.latitude), radians(other.latitude))
            let half = (sin((b - a) / 2), sin(radians(other.longitude - point.longitude) / 2))
            let chord = half.0 * half.0 + cos(a) * cos(b) * half.1 * half.1
            return .float(2 * 6_371_010 * asin(min(1, chord.squareRoot())))
        default: return nil
        }
    }
}
