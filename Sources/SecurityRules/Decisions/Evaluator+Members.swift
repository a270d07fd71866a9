import DocumentModel

/// Members and elements of values, and parts of them.
extension Evaluator {
    mutating func member(of value: RuleValue, _ name: String, _ place: Int) -> RuleValue {
        switch value {
        case .error: return value
        case .request: return requestMember(name) ?? error("request has no member '\(name)'", place)
        case .unknown(let unknown): return unknownMember(unknown, name)
        case .map, .storedMap: return value.member(name) ?? error("there is no member '\(name)'", place)
        case .null: return error("null has no member '\(name)'", place)
        default: return error("\(value.type) has no members, such as '\(name)'", place)
        }
    }

    mutating func requestMember(_ name: String) -> RuleValue? {
        switch name {
        case "auth": request.auth
        case "method": .string(request.methodName)
        // A collection group is wherever documents are below the path that the query names.
        case "path": request.query?.allDescendants == true ? .unknown(.path) : .path(request.fullPath)
        case "time": .timestamp(request.time)
        case "resource": written()
        case "query": request.query.map(Self.query)
        default: nil
        }
    }

    private static func query(_ query: Query) -> RuleValue {
        var order: [String: RuleValue] = [:]
        for part in query.orderBy {
            order[part.field.segments.joined(separator: ".")] = .string(part.descending ? "DESC" : "ASC")
        }
        return .map([
            "limit": query.limit.map { .int(Int64($0)) } ?? .null, "offset": .int(Int64(query.offset)),
            "orderBy": .map(order),
        ])
    }

    private func unknownMember(_ unknown: UnknownValue, _ name: String) -> RuleValue {
        switch unknown {
        case .resource:
            switch name {
            case "data": return .unknown(.field([]))
            case "id": return (facts?.name).map { .string($0.path.id) } ?? .unknown(.other)
            case "__name__":
                return (facts?.name).map { .path(RuleValue.path(of: $0.path, in: request.database)) }
                    ?? .unknown(.other)
            default: return .unknown(.other)
            }
        case .field(let path):
            let inner = path + [name]
            return facts?.value(of: inner) ?? .unknown(.field(inner))
        case .keys, .path, .other: return .unknown(.other)
        }
    }

    mutating func element(of value: RuleValue, at index: RuleValue, _ place: Int) -> RuleValue {
        switch (value, index) {
        case (.error, _): return value
        case (_, .error): return index
        case (.unknown(let unknown), .string(let name)): return unknownMember(unknown, name)
        case (.unknown, _), (_, .unknown): return .unknown(.other)
        case (.map, .string(let name)), (.storedMap, .string(let name)), (.request, .string(let name)):
            return member(of: value, name, place)
        case (.path(let segments), .int(let index)):
            guard segments.indices.contains(Int(clamping: index)) else { return outside(index, segments.count, place) }
            return .string(segments[Int(index)])
        case (.list(let elements), .int(let index)):
            guard elements.indices.contains(Int(clamping: index)) else { return outside(index, elements.count, place) }
            return elements[Int(index)]
        case (.storedList(let elements), .int(let index)):
            guard elements.indices.contains(Int(clamping: index)) else { return outside(index, elements.count, place) }
            return RuleValue(elements[Int(index)])
        case (.string(let text), .int(let index)):
            let units = text.utf16
            guard index >= 0, index < units.count else { return outside(index, units.count, place) }
            return .string(Self.text(text, Int(index), Int(index) + 1))
        case (.null, _): return error("null has no elements", place)
        default: return error("\(value.type)[\(index.type)] isn't possible", place)
        }
    }

    private mutating func outside(_ index: Int64, _ count: Int, _ place: Int) -> RuleValue {
        error("there is no element \(index): the size is \(count)", place)
    }

    /// A part of a text in UTF-16, as the official emulator counts.
    private static func text(_ text: String, _ from: Int, _ to: Int) -> String {
        let units = text.utf16
        return String(decoding: units.dropFirst(from).prefix(to - from), as: UTF16.self)
    }

    /// Both bounds must lie within the value, and null is as good as none: so does the official emulator, of which
    /// `[1, 2][2:2]` and `[1, 2][0:0]` are errors.
    mutating func slice(_ value: RuleValue, _ from: RuleValue?, _ to: RuleValue?, _ place: Int) -> RuleValue {
        if let failed = Self.failed([value] + [from, to].compactMap(\.self)) { return failed }
        let count: Int
        switch value {
        case .list(let elements): count = elements.count
        case .storedList(let elements): count = elements.count
        case .string(let text): count = text.utf16.count
        case .path(let segments): count = segments.count
        default: return error("\(value.type) has no parts", place)
        }
        var bounds: [Int?] = []
        for bound in [from, to] {
            switch bound {
            case nil, .null: bounds.append(nil)
            case .int(let number): bounds.append(Int(clamping: number))
            default: return error("the bounds of a part must be integers", place)
            }
        }
        let (first, end) = (bounds[0] ?? 0, bounds[1] ?? count)
        guard bounds == [nil, nil] || first >= 0 && first < count && end > 0 && first <= end && end <= count else {
            return error("there is no part [\(first):\(end)]: the size is \(count)", place)
        }
        if case .string = value, let error = spend((end - first) / 4, place) { return error }
        return switch value {
        case .string(let text): .string(Self.text(text, first, end))
        case .path(let segments): .path(Array(segments[first..<end]))
        default: .list(Array((value.elements ?? [])[first..<end]))
        }
    }
}
