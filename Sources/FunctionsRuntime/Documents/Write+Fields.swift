import DocumentModel

extension Write {
    /// Replaces the document with these fields, or with `merge` changes each of them, down to the entries of maps. Keys
    /// are field names, including dots.
    static func set(
        _ fields: [String: Any?], at reference: DocumentReference, merge: Bool
    ) throws(DocumentError) -> Write {
        var gathered = GatheredFields(acceptsDelete: merge ? .anywhere : .nowhere)
        try gathered.gather(fields)
        let operation: Operation =
            merge ? .update(gathered.values, mask: gathered.leaves) : .set(gathered.values)
        return Write(path: try reference.validPath(), operation: operation, transforms: gathered.transforms)
    }

    /// Changes only these fields, which are named by dotted paths, and keeps the document's others.
    static func set(
        _ fields: [String: Any?], at reference: DocumentReference, mergeFields paths: [any FieldPathConvertible]
    ) throws(DocumentError) -> Write {
        let all = FieldValue.map(fields)
        var parsed: [FieldPath] = []
        for path in paths { parsed.append(try path.fieldPath()) }
        parsed.sort { $0.segments.lexicographicallyPrecedes($1.segments) }
        try requireSeparate(parsed, in: "mergeFields")
        var gathered = GatheredFields(acceptsDelete: .topLevel)
        var mask: [FieldPath] = []
        for path in parsed {
            guard let field = all[path.segments[...]] else {
                throw .invalidArgument("mergeFields names \(path), which the data doesn't have")
            }
            if case .transform = field.content {} else { mask.append(path) }
            try gathered.gather(field, at: path)
        }
        return Write(
            path: try reference.validPath(), operation: .update(gathered.values, mask: mask),
            transforms: gathered.transforms)
    }

    static func create(
        _ fields: [String: Any?], at reference: DocumentReference
    ) throws(DocumentError) -> Write {
        var write = try set(fields, at: reference, merge: false)
        write.precondition = .exists(false)
        return write
    }

    /// Changes fields of an existing document. A key is a dotted path; a map replaces the previous map.
    static func update(
        _ fields: [String: Any?], at reference: DocumentReference, _ precondition: FunctionsRuntime.Precondition
    ) throws(DocumentError) -> Write {
        var paths: [(path: FieldPath, field: FieldValue)] = []
        for (key, input) in fields { paths.append((try FieldPath(key), FieldValue(any: input))) }
        // Dictionaries are unordered; sorting makes equal updates equal writes.
        paths.sort { $0.path.segments.lexicographicallyPrecedes($1.path.segments) }
        try requireSeparate(paths.map(\.path), in: "updateData")

        var gathered = GatheredFields(acceptsDelete: .topLevel)
        var mask: [FieldPath] = []
        for (path, field) in paths {
            if case .transform = field.content {} else { mask.append(path) }
            try gathered.gather(field, at: path)
        }
        return Write(
            path: try reference.validPath(), operation: .update(gathered.values, mask: mask),
            transforms: gathered.transforms, precondition: try precondition.model())
    }

    /// - Parameter paths: Sorted.
    /// - Throws: `invalidArgument` if one path is inside another, or named twice.
    private static func requireSeparate(_ paths: [FieldPath], in method: String) throws(DocumentError) {
        for (shorter, longer) in zip(paths, paths.dropFirst()) {
            guard !longer.segments.starts(with: shorter.segments) else {
                throw .invalidArgument("\(method) names both \(shorter) and \(longer), which is inside it")
            }
        }
    }

    static func delete(
        _ reference: DocumentReference, _ precondition: FunctionsRuntime.Precondition?
    ) throws(DocumentError) -> Write {
        var write = Write(path: try reference.validPath(), operation: .delete)
        if let precondition { write.precondition = try precondition.model() }
        return write
    }
}

/// The fields of one write, separated into values, transforms, and the paths of both.
private struct GatheredFields {
    enum Deletes { case nowhere, topLevel, anywhere }

    let acceptsDelete: Deletes
    private(set) var values: [String: Value] = [:]
    private(set) var transforms: [FieldTransform] = []
    /// The paths of all leaf values and of all deleted fields.
    private(set) var leaves: [FieldPath] = []
    /// The number of maps around the current field.
    private var depth = 0

    init(acceptsDelete: Deletes) { self.acceptsDelete = acceptsDelete }

    /// Adds fields by their names.
    mutating func gather(_ fields: [String: Any?]) throws(DocumentError) {
        for (name, input) in fields.sorted(by: { $0.key < $1.key }) {
            try checkName(name)
            values[name] = try value(FieldValue(any: input), at: [name])
        }
    }

    /// Adds a field by its path, and creates maps along it.
    mutating func gather(_ field: FieldValue, at path: FieldPath) throws(DocumentError) {
        guard let value = try value(field, at: path.segments) else { return }
        Self.insert(value, at: path.segments[...], into: &values)
    }

    private static func insert(_ value: Value, at path: ArraySlice<String>, into fields: inout [String: Value]) {
        guard let name = path.first else { return }
        guard path.count > 1 else {
            fields[name] = value
            return
        }
        var inner: [String: Value] = [:]
        if case .map(let existing)? = fields[name] { inner = existing }
        insert(value, at: path.dropFirst(), into: &inner)
        fields[name] = .map(inner)
    }

    /// The plain value of a field; nil for a transform or a deletion.
    private mutating func value(_ field: FieldValue, at path: [String]) throws(DocumentError) -> Value? {
        switch field.content {
        case .delete:
            guard acceptsDelete == .anywhere || (acceptsDelete == .topLevel && depth == 0) else {
                throw .invalidArgument(
                    "FieldValue.delete() at \(FieldPath(segments: path)) is allowed only at the top level of updateData, "
                        + "or in setData with merge: true")
            }
            leaves.append(FieldPath(segments: path))
            return nil
        case .transform(let operation):
            transforms.append(FieldTransform(FieldPath(segments: path), operation))
            return nil
        case .map(let fields): return try map(fields, at: path)
        // A vector is stored as a map, but written as one value.
        case .value(.map(let fields)) where Value.map(fields).vectorElements == nil:
            return try map(fields.mapValues { FieldValue($0) }, at: path)
        case .value, .array, .invalid:
            let path = FieldPath(segments: path)
            leaves.append(path)
            do {
                return try field.plainValue()
            } catch {
                throw DocumentError(error.code, "\(path): \(error.message)")
            }
        }
    }

    private mutating func map(_ fields: [String: FieldValue], at path: [String]) throws(DocumentError) -> Value {
        if fields.isEmpty { leaves.append(FieldPath(segments: path)) }
        depth += 1
        defer { depth -= 1 }
        var values: [String: Value] = [:]
        for (name, field) in fields.sorted(by: { $0.key < $1.key }) {
            try checkName(name)
            values[name] = try value(field, at: path + [name])
        }
        return .map(values)
    }

    private func checkName(_ name: String) throws(DocumentError) {
        guard !name.isEmpty else { throw .invalidArgument("a field's name must not be empty") }
    }
}
