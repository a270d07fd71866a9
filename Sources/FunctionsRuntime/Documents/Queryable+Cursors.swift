import DocumentModel

extension Queryable {
    /// Starts with the first document that has these values in its ordered fields, or that sorts after them.
    public func start(at values: [any FieldInput]) -> Query {
        query.changed { (query) throws(DocumentError) in
            query.model.start = try query.cursor(values, before: true)
        }
    }

    /// Starts after the documents that have these values in their ordered fields.
    public func start(after values: [any FieldInput]) -> Query {
        query.changed { (query) throws(DocumentError) in
            query.model.start = try query.cursor(values, before: false)
        }
    }

    /// Ends with the last document that has these values in its ordered fields, or that sorts before them.
    public func end(at values: [any FieldInput]) -> Query {
        query.changed { (query) throws(DocumentError) in query.model.end = try query.cursor(values, before: false) }
    }

    /// Ends before the documents that have these values in their ordered fields.
    public func end(before values: [any FieldInput]) -> Query {
        query.changed { (query) throws(DocumentError) in query.model.end = try query.cursor(values, before: true) }
    }

    /// Starts with this document.
    public func start(atDocument document: DocumentSnapshot) -> Query {
        query.changed { (query) throws(DocumentError) in
            query.model.start = try query.cursor(at: document, before: true)
        }
    }

    /// Starts after this document.
    public func start(afterDocument document: DocumentSnapshot) -> Query {
        query.changed { (query) throws(DocumentError) in
            query.model.start = try query.cursor(at: document, before: false)
        }
    }

    /// Ends with this document.
    public func end(atDocument document: DocumentSnapshot) -> Query {
        query.changed { (query) throws(DocumentError) in
            query.model.end = try query.cursor(at: document, before: false)
        }
    }

    /// Ends before this document.
    public func end(beforeDocument document: DocumentSnapshot) -> Query {
        query.changed { (query) throws(DocumentError) in
            query.model.end = try query.cursor(at: document, before: true)
        }
    }
}

extension Query {
    fileprivate func cursor(
        _ inputs: [any FieldInput], before: Bool
    ) throws(DocumentError) -> DocumentModel.Query.Cursor {
        guard inputs.count <= model.orderBy.count else {
            throw .invalidArgument(
                "a cursor has \(inputs.count) values, but the query is ordered by only \(model.orderBy.count) fields")
        }
        var values: [Value] = []
        for (input, order) in zip(inputs, model.orderBy) {
            let value = try input.fieldValue.plainValue()
            values.append(order.field.isDocumentID ? try documentName(value) : value)
        }
        return .init(values: values, before: before)
    }

    /// A cursor for one document requires the complete order, including the document's name.
    fileprivate mutating func cursor(
        at snapshot: DocumentSnapshot, before: Bool
    ) throws(DocumentError) -> DocumentModel.Query.Cursor {
        model.orderBy = model.completeOrder
        hasCompleteOrder = true
        let path = try snapshot.reference.validPath()
        var values: [Value] = []
        for order in model.orderBy {
            if order.field.isDocumentID {
                values.append(.reference(DocumentName(database: firestore.transport.database, path: path)))
            } else if let value = snapshot.data().flatMap({ Value.map($0)[order.field] }) {
                values.append(value)
            } else {
                throw .invalidArgument(
                    "the document \(path) has no field \(order.field), which the query is ordered by")
            }
        }
        return .init(values: values, before: before)
    }
}

extension DocumentModel.Query {
    /// The order including its implicit parts: the fields of inequalities by name, then the document's name, in the
    /// direction of the last explicit order.
    var completeOrder: [Order] {
        var orders = orderBy
        let descending = orders.last?.descending ?? false
        let unordered = Set(filter?.inequalityFields ?? []).subtracting(orders.map(\.field))
        orders += unordered.filter { !$0.isDocumentID }
            .sorted(by: FieldPath.precedes)
            .map { Order($0, descending: descending) }
        if !orders.contains(where: \.field.isDocumentID) { orders.append(Order(.documentID, descending: descending)) }
        return orders
    }
}

extension Value {
    fileprivate var isNullOrNaN: Bool {
        switch self {
        case .null: true
        case .double(let number): number.isNaN
        default: false
        }
    }
}

extension DocumentModel.Query.Filter {
    var inequalityFields: [FieldPath] {
        switch self {
        case .and(let filters), .or(let filters): filters.flatMap(\.inequalityFields)
        case .field(let field, let comparison, let operand):
            switch comparison {
            // Nothing is before or after these, and the query isn't ordered by a condition that matches nothing.
            case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual: operand.isNullOrNaN ? [] : [field]
            case .notEqual, .notIn: [field]
            case .equal, .in, .arrayContains, .arrayContainsAny: []
            }
        case .unary(let field, .isNotNull), .unary(let field, .isNotNaN): [field]
        case .unary: []
        }
    }
}
