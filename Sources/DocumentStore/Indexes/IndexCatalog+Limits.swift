import DocumentModel

extension IndexCatalog {
    /// Checks the limits of a document and of the index entries that it would have.
    func check(_ fields: [String: Value], of path: DocumentPath) throws(DocumentError) {
        guard let indexes = of(path) else {
            try DocumentLimits.check(fields, of: path)
            return try fields.checkNames()
        }
        try DocumentLimits.checkContent(fields, of: path)
        try fields.checkNames()
        var size = IndexSize()
        size.add(fields, indexes.kept, path: DocumentLimits.size(of: path))
        for index in indexes.written { size.add(fields, index.definition, of: path) }
        try DocumentLimits.check(entries: size.entries, bytes: size.bytes, of: path)
    }
}

/// How many index entries a document would have, as Firestore counts them, and about how large their keys are.
private struct IndexSize {
    var entries = 0
    var bytes = 0

    /// Adds the automatic entries of fields: two for each field with an order, one for each element of an array.
    ///
    /// - Parameter path: the size of the document's name and of the path above the fields, in bytes.
    mutating func add(_ fields: [String: Value], _ rules: FieldRules, path: Int) {
        for (name, value) in fields {
            let rules = rules.rules(below: name)
            let path = path + name.utf8.count + 1
            if rules.isOrdered {
                entries += 2
                bytes += path + Self.bytes(value)
            }
            switch value {
            case .array(let elements) where rules.hasElements:
                entries += elements.count
                bytes += elements.reduce(0) { $0 + path + Self.bytes($1) }
            case .map(let inner) where value.vectorElements == nil: add(inner, rules, path: path)
            default: break
            }
        }
    }

    mutating func add(_ fields: [String: Value], _ index: IndexDefinition, of path: DocumentPath) {
        var own = DocumentLimits.size(of: path)
        var elements: [Value]?
        for field in index.fields {
            guard let value = Value.map(fields)[field.path] else { return }
            guard field.kind == .contains else {
                own += Self.bytes(value)
                continue
            }
            guard case .array(let contained) = value else { return }
            elements = contained
        }
        guard let elements else {
            entries += 1
            bytes += own
            return
        }
        let distinct = Set(elements)
        entries += distinct.count
        bytes += distinct.reduce(0) { $0 + own + Self.bytes($1) }
    }

    private static func bytes(_ value: Value) -> Int {
        min(DocumentLimits.size(of: value), DocumentLimits.maxIndexedValueBytes)
    }
}
