import DocumentModel
import DocumentStore
import StrictJSON

extension ConfigurationReader {
    enum QueryScope: String, CaseIterable {
        case collection = "COLLECTION"
        case collectionGroup = "COLLECTION_GROUP"

        var scope: IndexDefinition.Scope { self == .collection ? .collection : .collectionGroup }
    }

    private enum Direction: String, CaseIterable {
        case ascending = "ASCENDING"
        case descending = "DESCENDING"
    }

    private enum ArrayConfig: String, CaseIterable {
        case contains = "CONTAINS"
    }

    /// - Throws: all problems of the file at once.
    static func readIndexes(_ bytes: [UInt8], file: String) throws(ConfigurationError) -> IndexFile {
        var reader = try ConfigurationReader(bytes, file: file, directory: "/")
        var indexes = reader.indexFile()
        guard reader.problems.isEmpty else {
            throw ConfigurationError(file: file, problems: Array(reader.problems))
        }
        indexes.skipped = reader.skipped.map { ConfigurationError(file: file, problems: [$0]).description }
        return indexes
    }

    private mutating func indexFile() -> IndexFile {
        var file = IndexFile()
        guard let object = object(root, key: "", known: ConfigurationKeys.indexFile) else { return file }
        var composites: [IndexDefinition: Int] = [:]
        for element in object["indexes"].flatMap({ list($0, "indexes") }) ?? [] {
            guard let index = index(element) else { continue }
            if let first = composites[index] {
                report("this index is also on line \(line(of: first)); keep one", at: element.offset)
            } else {
                composites[index] = element.offset
                file.configuration.indexes.append(index)
            }
        }
        if let node = object["indexes"], composites.count > IndexConfiguration.maxIndexes {
            report(
                "\(composites.count) composite indexes are more than \(IndexConfiguration.maxIndexes), the limit",
                at: node.offset)
        }
        if let node = object["fieldOverrides"] { fieldOverrides(node, &file) }
        return file
    }

    private mutating func index(_ node: JSONNode) -> IndexDefinition? {
        guard let object = object(node, key: "", known: ConfigurationKeys.index) else { return nil }
        let id = required("collectionGroup", of: object, node, "the collection's id").flatMap { collectionID($0) }
        let scope = required("queryScope", of: object, node, "COLLECTION or COLLECTION_GROUP")
            .flatMap { choice($0, QueryScope.self) }
        checkForeignOptions(object)
        let elements = required("fields", of: object, node, "the fields, in order").flatMap { list($0, "fields") }
        guard let id, let scope, let elements, let fields = fields(elements, of: node) else { return nil }
        return IndexDefinition(collectionID: id, scope: scope.scope, fields: fields)
    }

    private mutating func fields(_ elements: [JSONNode], of node: JSONNode) -> [IndexDefinition.Field]? {
        let before = (problems.count, skipped.count)
        var fields: [IndexDefinition.Field] = []
        var hasName = false
        for (position, element) in elements.enumerated() {
            guard let object = object(element, key: "", known: ConfigurationKeys.indexField),
                let pathNode = required("fieldPath", of: object, element, "the field's name"),
                let path = fieldPath(pathNode), let kind = kind(object, of: element)
            else { continue }
            if path.isDocumentID {
                hasName = true
                checkName(kind, after: fields, isLast: position == elements.count - 1, at: element)
            } else if fields.contains(where: { $0.path == path }) {
                report("\(pathNode.summary) is in this index twice; keep one", at: pathNode.offset)
            } else if kind == .contains, fields.contains(where: { $0.kind == .contains }) {
                report("an index can have only one array field, and this is the second", at: element.offset)
            } else {
                fields.append(.init(path, kind))
            }
        }
        guard (problems.count, skipped.count) == before else { return nil }
        if hasName, fields.count == 1 {
            skip(
                "the index is skipped: "
                    + "an index of one field and __name__ is the same as the field's own index", at: node.offset)
            return nil
        }
        guard (2...IndexConfiguration.maxFields).contains(fields.count) else {
            report(
                fields.count < 2
                    ? "a composite index needs two fields or more besides __name__; each field already has an "
                        + "index of its own, which \"fieldOverrides\" can change"
                    : "\(fields.count) fields are more than \(IndexConfiguration.maxFields), the limit",
                at: node.offset)
            return nil
        }
        return fields
    }

    /// Checks an explicit `__name__`. It is implied as the last field, in the direction of the last ordered field
    /// before it.
    private mutating func checkName(
        _ kind: IndexDefinition.Kind, after fields: [IndexDefinition.Field], isLast: Bool, at node: JSONNode
    ) {
        guard isLast else {
            return report("__name__ can only be the last field, where it is implied anyway", at: node.offset)
        }
        let implied = fields.last { $0.kind != .contains }?.kind ?? .ascending
        guard kind != implied else { return }
        skip(
            "the index is skipped: "
                + "this host supports __name__ only in the direction of the field before it", at: node.offset)
    }

    private mutating func fieldOverrides(_ node: JSONNode, _ file: inout IndexFile) {
        var known: [String: Int] = [:]
        for element in list(node, "fieldOverrides") ?? [] {
            guard let object = object(element, key: "", known: ConfigurationKeys.fieldOverride) else { continue }
            let id = required("collectionGroup", of: object, element, "the collection's id")
                .flatMap { collectionID($0) }
            let pathNode = required("fieldPath", of: object, element, "the field's name, or * for all")
            let isAll = pathNode.map { if case .string("*") = $0.kind { true } else { false } } ?? false
            let path = isAll ? nil : pathNode.flatMap { fieldPath($0) }
            let expires = object["ttl"].flatMap { boolean($0) } ?? false
            let indexes = required("indexes", of: object, element, "the field's indexes; [] for none")
                .flatMap { list($0, "indexes") }
            guard let id, let pathNode, isAll || path != nil, let indexes else { continue }
            if path?.isDocumentID == true {
                report("__name__ is not a field; documents are always ordered by it", at: pathNode.offset)
                continue
            }
            let name = "\(id).\(path?.description ?? "*")"
            if let first = known.updateValue(element.offset, forKey: name) {
                report("this field is also on line \(line(of: first)); keep one", at: element.offset)
            }
            if expires { file.expiring.append(name) }
            var exemption = FieldExemption(collectionID: id, field: path, isOrdered: false, hasElements: false)
            for index in fieldOverrideIndexes(indexes) {
                if index.scope == .collection {
                    if index.kind == .contains { exemption.hasElements = true } else { exemption.isOrdered = true }
                } else if let path {
                    // One index serves both directions.
                    let kind: IndexDefinition.Kind = index.kind == .contains ? .contains : .ascending
                    let definition = IndexDefinition(
                        collectionID: id, scope: .collectionGroup, fields: [.init(path, kind)])
                    if !file.configuration.indexes.contains(definition) {
                        file.configuration.indexes.append(definition)
                    }
                } else {
                    report(
                        "* is not possible for a collection group; name each field",
                        at: index.offset)
                }
            }
            file.configuration.exemptions.append(exemption)
        }
    }

    private mutating func fieldOverrideIndexes(
        _ elements: [JSONNode]
    ) -> [(kind: IndexDefinition.Kind, scope: IndexDefinition.Scope, offset: Int)] {
        var indexes: [(kind: IndexDefinition.Kind, scope: IndexDefinition.Scope, offset: Int)] = []
        for element in elements {
            guard let object = object(element, key: "", known: ConfigurationKeys.fieldOverrideIndex),
                let kind = kind(object, of: element)
            else { continue }
            checkForeignOptions(object)
            var scope = QueryScope.collection
            if let node = object["queryScope"] {
                guard let named = choice(node, QueryScope.self) else { continue }
                scope = named
            }
            if indexes.contains(where: { $0.kind == kind && $0.scope == scope.scope }) {
                report("this index is listed twice; keep one", at: element.offset)
            }
            indexes.append((kind, scope.scope, element.offset))
        }
        return indexes
    }

    /// Reads what the index orders by: the field's value or an array's elements.
    private mutating func kind(_ object: [String: JSONNode], of node: JSONNode) -> IndexDefinition.Kind? {
        if let vector = object["vectorConfig"] {
            skip("the index is skipped: this host finds nearest vectors without one", at: vector.offset)
            return nil
        }
        switch (object["order"], object["arrayConfig"]) {
        case (let order?, nil):
            return choice(order, Direction.self).map { $0 == .ascending ? .ascending : .descending }
        case (nil, let array?): return choice(array, ArrayConfig.self).map { _ in .contains }
        case (nil, nil):
            report(
                "write \"order\" with ASCENDING or DESCENDING, or \"arrayConfig\" with CONTAINS", at: node.offset)
        case (_?, let array?):
            report("\"order\" and \"arrayConfig\" exclude each other; keep one", at: array.offset)
        }
        return nil
    }
}
