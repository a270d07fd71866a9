extension Queryable {
    public func whereField(_ field: some FieldPathConvertible, isEqualTo value: (any FieldInput)?) -> Query {
        whereFilter(.whereField(field, isEqualTo: value))
    }

    /// Matches documents that have the field with another value; null doesn't match.
    public func whereField(_ field: some FieldPathConvertible, isNotEqualTo value: (any FieldInput)?) -> Query {
        whereFilter(.whereField(field, isNotEqualTo: value))
    }

    public func whereField(_ field: some FieldPathConvertible, isLessThan value: any FieldInput) -> Query {
        whereFilter(.whereField(field, isLessThan: value))
    }

    public func whereField(_ field: some FieldPathConvertible, isLessThanOrEqualTo value: any FieldInput) -> Query {
        whereFilter(.whereField(field, isLessThanOrEqualTo: value))
    }

    public func whereField(_ field: some FieldPathConvertible, isGreaterThan value: any FieldInput) -> Query {
        whereFilter(.whereField(field, isGreaterThan: value))
    }

    public func whereField(
        _ field: some FieldPathConvertible, isGreaterThanOrEqualTo value: any FieldInput
    ) -> Query {
        whereFilter(.whereField(field, isGreaterThanOrEqualTo: value))
    }

    public func whereField(_ field: some FieldPathConvertible, in values: [any FieldInput]) -> Query {
        whereFilter(.whereField(field, in: values))
    }

    public func whereField(_ field: some FieldPathConvertible, notIn values: [any FieldInput]) -> Query {
        whereFilter(.whereField(field, notIn: values))
    }

    public func whereField(_ field: some FieldPathConvertible, arrayContains value: any FieldInput) -> Query {
        whereFilter(.whereField(field, arrayContains: value))
    }

    public func whereField(_ field: some FieldPathConvertible, arrayContainsAny values: [any FieldInput]) -> Query {
        whereFilter(.whereField(field, arrayContainsAny: values))
    }
}
