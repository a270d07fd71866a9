/// Queries under a rule of `allow list`, and whether they are allowed. Each row was asked of the official emulator, and is
/// asked again where it is installed. Those with another answer there say why.
package enum QueryTable {
    package struct Row: Sendable {
        package var match: String
        package var condition: String
        /// The document above the collection, as in a URL.
        package var parent: String
        /// A `StructuredQuery`.
        package var query: String
        package var isAllowed: Bool
        /// What the official emulator answers, if that differs: it knows less of some filters; and it takes a field that the
        /// query doesn't name for one that no document has.
        package var officialAnswer: Bool?
    }

    /// There is one document, `zz/yy`, of which `a` is 1.
    package static let rows: [Row] = [
        Row(
            match: "/c/{id}", condition: #"true"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: true),
        Row(
            match: "/d/{id}", condition: #"true"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"resource.data.owner == request.auth.uid"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"resource.data.owner == request.auth.uid"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"owner"},"op":"EQUAL","value":{"stringValue":"ada"}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data.owner == request.auth.uid"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"owner"},"op":"EQUAL","value":{"stringValue":"bob"}}}}"#,
            isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"resource.data.owner == request.auth.uid"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"owner"},"op":"IN","value":{"arrayValue":{"values":[{"stringValue":"ada"}]}}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data.owner == request.auth.uid"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"owner"},"op":"IN","value":{"arrayValue":{"values":[{"stringValue":"ada"},{"stringValue":"bob"}]}}}}}"#,
            isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"resource.data.owner in ['ada','bob']"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"owner"},"op":"IN","value":{"arrayValue":{"values":[{"stringValue":"ada"},{"stringValue":"bob"}]}}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data.owner in ['ada','bob']"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"owner"},"op":"EQUAL","value":{"stringValue":"bob"}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data.owner in ['ada','bob']"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"owner"},"op":"IN","value":{"arrayValue":{"values":[{"stringValue":"ada"},{"stringValue":"eve"}]}}}}}"#,
            isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"resource.data.n > 5"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"n"},"op":"GREATER_THAN","value":{"integerValue":"5"}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data.n > 5"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"n"},"op":"GREATER_THAN","value":{"integerValue":"6"}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data.n > 5"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"n"},"op":"GREATER_THAN_OR_EQUAL","value":{"integerValue":"5"}}}}"#,
            isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"resource.data.n >= 5"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"n"},"op":"GREATER_THAN","value":{"integerValue":"5"}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data.n > 5"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"n"},"op":"GREATER_THAN","value":{"integerValue":"4"}}}}"#,
            isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"resource.data.n > 5"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"n"},"op":"EQUAL","value":{"integerValue":"6"}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data.n > 5"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"n"},"op":"LESS_THAN","value":{"integerValue":"6"}}}}"#,
            isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"resource.data.n > 5 && resource.data.n < 10"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"compositeFilter":{"op":"AND","filters":[{"fieldFilter":{"field":{"fieldPath":"n"},"op":"GREATER_THAN","value":{"integerValue":"5"}}},{"fieldFilter":{"field":{"fieldPath":"n"},"op":"LESS_THAN","value":{"integerValue":"10"}}}]}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"5 < resource.data.n"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"n"},"op":"GREATER_THAN","value":{"integerValue":"5"}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data.n != 5"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"n"},"op":"NOT_EQUAL","value":{"integerValue":"5"}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data.n != 5"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"n"},"op":"EQUAL","value":{"integerValue":"6"}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data.n != 5"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"n"},"op":"GREATER_THAN","value":{"integerValue":"6"}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"!(resource.data.n == 5)"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"n"},"op":"EQUAL","value":{"integerValue":"6"}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"!(resource.data.n == 5)"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"n"},"op":"NOT_EQUAL","value":{"integerValue":"5"}}}}"#,
            isAllowed: true, officialAnswer: false),
        Row(
            match: "/c/{id}", condition: #"!(resource.data.n > 5)"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"n"},"op":"LESS_THAN","value":{"integerValue":"5"}}}}"#,
            isAllowed: true, officialAnswer: false),
        Row(
            match: "/c/{id}", condition: #"'x' in resource.data.tags"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"tags"},"op":"ARRAY_CONTAINS","value":{"stringValue":"x"}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"'x' in resource.data.tags"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"tags"},"op":"ARRAY_CONTAINS_ANY","value":{"arrayValue":{"values":[{"stringValue":"x"}]}}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"'x' in resource.data.tags"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"tags"},"op":"ARRAY_CONTAINS_ANY","value":{"arrayValue":{"values":[{"stringValue":"x"},{"stringValue":"y"}]}}}}}"#,
            isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"resource.data.tags.hasAny(['x','y'])"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"tags"},"op":"ARRAY_CONTAINS_ANY","value":{"arrayValue":{"values":[{"stringValue":"x"},{"stringValue":"y"}]}}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data.tags.hasAny(['x','y'])"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"tags"},"op":"ARRAY_CONTAINS","value":{"stringValue":"x"}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data.tags.hasAll(['x'])"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"tags"},"op":"ARRAY_CONTAINS","value":{"stringValue":"x"}}}}"#,
            isAllowed: true, officialAnswer: false),
        Row(
            match: "/c/{id}", condition: #"resource.data.public == true"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"public"},"op":"EQUAL","value":{"booleanValue":true}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data.public"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"public"},"op":"EQUAL","value":{"booleanValue":true}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data['public']"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"public"},"op":"EQUAL","value":{"booleanValue":true}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data.get('public',false)"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"public"},"op":"EQUAL","value":{"booleanValue":true}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"!resource.data.public"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"public"},"op":"EQUAL","value":{"booleanValue":false}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data.a.b == 1"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"a.b"},"op":"EQUAL","value":{"integerValue":"1"}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data.a == {'b':1}"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"a"},"op":"EQUAL","value":{"mapValue":{"fields":{"b":{"integerValue":"1"}}}}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data.a.b == 1"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"a"},"op":"EQUAL","value":{"mapValue":{"fields":{"b":{"integerValue":"1"}}}}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data.a[0] == 1"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"a"},"op":"EQUAL","value":{"arrayValue":{"values":[{"integerValue":"1"}]}}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data.n is int"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"n"},"op":"EQUAL","value":{"integerValue":"1"}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data.n is int"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"n"},"op":"GREATER_THAN","value":{"integerValue":"1"}}}}"#,
            isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"resource.data.n is number"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"n"},"op":"GREATER_THAN","value":{"integerValue":"1"}}}}"#,
            isAllowed: true, officialAnswer: false),
        Row(
            match: "/c/{id}", condition: #"resource.data.n + 1 == 2"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"n"},"op":"EQUAL","value":{"integerValue":"1"}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data.s.matches('a.*')"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"s"},"op":"EQUAL","value":{"stringValue":"abc"}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data.s.size() == 3"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"s"},"op":"EQUAL","value":{"stringValue":"abc"}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data.n == null"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"unaryFilter":{"field":{"fieldPath":"n"},"op":"IS_NULL"}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data.n == null"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"n"},"op":"EQUAL","value":{"nullValue":null}}}}"#,
            isAllowed: true, officialAnswer: false),
        Row(
            match: "/c/{id}", condition: #"resource.data.n != null"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"unaryFilter":{"field":{"fieldPath":"n"},"op":"IS_NOT_NULL"}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data.n != null"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"n"},"op":"GREATER_THAN","value":{"integerValue":"1"}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"'n' in resource.data"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"n"},"op":"EQUAL","value":{"integerValue":"1"}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data.keys().hasAll(['n'])"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"n"},"op":"EQUAL","value":{"integerValue":"1"}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"'n' in resource.data"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"orderBy":[{"field":{"fieldPath":"n"},"direction":"ASCENDING"}]}"#,
            isAllowed: true, officialAnswer: false),
        Row(
            match: "/c/{id}", condition: #"'z' in resource.data"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"!('z' in resource.data)"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: false, officialAnswer: true),
        Row(
            match: "/c/{id}", condition: #"resource != null"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource == null"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"resource.data != null"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data is map"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.id == 'x'"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"resource is map"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"id == 'x'"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"id != null"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"id is string"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"id == null"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"request.query.limit <= 10"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}],"limit":10}"#, isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"request.query.limit <= 10"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}],"limit":11}"#, isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"request.query.limit <= 10"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"request.query.limit == null"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"request.query.offset == 0"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"request.query.offset == 5"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}],"limit":1,"offset":5}"#, isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"request.query.orderBy == 'n ASC'"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"orderBy":[{"field":{"fieldPath":"n"},"direction":"ASCENDING"}]}"#,
            isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"request.query.keys().join(',') == 'x'"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"orderBy":[{"field":{"fieldPath":"n"},"direction":"ASCENDING"}],"limit":1}"#,
            isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"request.query is map"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"request.method == 'list'"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"request.path.size() == 5"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"request.path == /databases/(default)/documents/c"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"string(request.path) == ''"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"request.path[3]=='c'"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"request.path[4]==''"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"resource.data.a == 1 || resource.data.b == 1"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"compositeFilter":{"op":"OR","filters":[{"fieldFilter":{"field":{"fieldPath":"a"},"op":"EQUAL","value":{"integerValue":"1"}}},{"fieldFilter":{"field":{"fieldPath":"b"},"op":"EQUAL","value":{"integerValue":"1"}}}]}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data.a == 1 || resource.data.b == 1"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"b"},"op":"EQUAL","value":{"integerValue":"1"}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data.b == 1 || true"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data.a == 1"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"compositeFilter":{"op":"OR","filters":[{"fieldFilter":{"field":{"fieldPath":"a"},"op":"EQUAL","value":{"integerValue":"1"}}},{"fieldFilter":{"field":{"fieldPath":"b"},"op":"EQUAL","value":{"integerValue":"1"}}}]}}}"#,
            isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"resource.data.a == 1"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"compositeFilter":{"op":"OR","filters":[{"fieldFilter":{"field":{"fieldPath":"a"},"op":"EQUAL","value":{"integerValue":"1"}}},{"compositeFilter":{"op":"AND","filters":[{"fieldFilter":{"field":{"fieldPath":"a"},"op":"EQUAL","value":{"integerValue":"1"}}},{"fieldFilter":{"field":{"fieldPath":"b"},"op":"EQUAL","value":{"integerValue":"1"}}}]}}]}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data.a == resource.data.a"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"resource.data.a == resource.data.b"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"compositeFilter":{"op":"AND","filters":[{"fieldFilter":{"field":{"fieldPath":"a"},"op":"EQUAL","value":{"integerValue":"1"}}},{"fieldFilter":{"field":{"fieldPath":"b"},"op":"EQUAL","value":{"integerValue":"1"}}}]}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data.n == 1.0"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"n"},"op":"EQUAL","value":{"integerValue":"1"}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data.n == 1"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"n"},"op":"EQUAL","value":{"doubleValue":1.0}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.data.n < 5"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"n"},"op":"LESS_THAN","value":{"doubleValue":5.0}}}}"#,
            isAllowed: true, officialAnswer: false),
        Row(
            match: "/c/{id}", condition: #"resource.data.n in [1,2,3]"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"n"},"op":"NOT_IN","value":{"arrayValue":{"values":[{"integerValue":"4"}]}}}}}"#,
            isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"!(resource.data.n in [1,2])"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"n"},"op":"NOT_IN","value":{"arrayValue":{"values":[{"integerValue":"1"},{"integerValue":"2"}]}}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"exists(/databases/$(database)/documents/zz/$(request.auth.uid)) || true"#,
            parent: "", query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"get(/databases/$(database)/documents/zz/yy).data.a == 1"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"get(/databases/$(database)/documents/zz/$(id)).data.a == 1"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"request.query.orderBy is string"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"orderBy":[{"field":{"fieldPath":"n"},"direction":"DESCENDING"}],"limit":3}"#,
            isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"request.query.orderBy is list"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"orderBy":[{"field":{"fieldPath":"n"},"direction":"DESCENDING"}],"limit":3}"#,
            isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"request.query.orderBy is map"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"orderBy":[{"field":{"fieldPath":"n"},"direction":"DESCENDING"}],"limit":3}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"request.query.orderBy == null"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"orderBy":[{"field":{"fieldPath":"n"},"direction":"DESCENDING"}],"limit":3}"#,
            isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"request.query.limit is int"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"orderBy":[{"field":{"fieldPath":"n"},"direction":"DESCENDING"}],"limit":3}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"request.query.keys().hasAll(['limit','offset','orderBy'])"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"orderBy":[{"field":{"fieldPath":"n"},"direction":"DESCENDING"}],"limit":3}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"request.query.keys().size() == 3"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"orderBy":[{"field":{"fieldPath":"n"},"direction":"DESCENDING"}],"limit":3}"#,
            isAllowed: true, officialAnswer: false),
        Row(
            match: "/c/{id}", condition: #"request.query.orderBy == ['n']"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"orderBy":[{"field":{"fieldPath":"n"},"direction":"DESCENDING"}],"limit":3}"#,
            isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"request.query.orderBy.size() == 1"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"orderBy":[{"field":{"fieldPath":"n"},"direction":"DESCENDING"}],"limit":3}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"request.query.orderBy == {}"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"orderBy":[{"field":{"fieldPath":"n"},"direction":"DESCENDING"}],"limit":3}"#,
            isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"true"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":true}]}"#, isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"true"#, parent: "/x/y",
            query: #"{"from":[{"collectionId":"c","allDescendants":true}]}"#, isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"true"#, parent: "/x/y",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"true"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: true),
        Row(
            match: "/{p=**}/c/{id}", condition: #"true"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":true}]}"#, isAllowed: true),
        Row(
            match: "/{p=**}/c/{id}", condition: #"true"#, parent: "/x/y",
            query: #"{"from":[{"collectionId":"c","allDescendants":true}]}"#, isAllowed: true),
        Row(
            match: "/{p=**}/c/{id}", condition: #"true"#, parent: "/x/y",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: true),
        Row(
            match: "/{p=**}/c/{id}", condition: #"true"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: true),
        Row(
            match: "/{p=**}", condition: #"true"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":true}]}"#, isAllowed: true),
        Row(
            match: "/{p=**}", condition: #"true"#, parent: "/x/y",
            query: #"{"from":[{"collectionId":"c","allDescendants":true}]}"#, isAllowed: true),
        Row(
            match: "/{p=**}", condition: #"true"#, parent: "/x/y",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: true),
        Row(
            match: "/{p=**}", condition: #"true"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: true),
        Row(
            match: "/{a}/{b}/c/{id}", condition: #"true"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":true}]}"#, isAllowed: false),
        Row(
            match: "/{a}/{b}/c/{id}", condition: #"true"#, parent: "/x/y",
            query: #"{"from":[{"collectionId":"c","allDescendants":true}]}"#, isAllowed: false),
        Row(
            match: "/{a}/{b}/c/{id}", condition: #"true"#, parent: "/x/y",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: true),
        Row(
            match: "/{a}/{b}/c/{id}", condition: #"true"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: false),
        Row(
            match: "/x/{b}/c/{id}", condition: #"true"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":true}]}"#, isAllowed: false),
        Row(
            match: "/x/{b}/c/{id}", condition: #"true"#, parent: "/x/y",
            query: #"{"from":[{"collectionId":"c","allDescendants":true}]}"#, isAllowed: false),
        Row(
            match: "/x/{b}/c/{id}", condition: #"true"#, parent: "/x/y",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: true),
        Row(
            match: "/x/{b}/c/{id}", condition: #"true"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: false),
        Row(
            match: "/{p=**}/c/{id}", condition: #"p == null"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":true}]}"#, isAllowed: false),
        Row(
            match: "/{p=**}/c/{id}", condition: #"p is path"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":true}]}"#, isAllowed: true),
        Row(
            match: "/x/{b}/c/{id}", condition: #"b == 'y'"#, parent: "/x/y",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: true),
        Row(
            match: "/{p=**}", condition: #"p is path"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: true),
        Row(
            match: "/{p=**}", condition: #"p == /c"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"request.query.limit == 3"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":false}]}"#, isAllowed: false),
        Row(
            match: "/c/{id}", condition: #"id == 'x'"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"__name__"},"op":"EQUAL","value":{"referenceValue":"projects/demo-x/databases/(default)/documents/c/x"}}}}"#,
            isAllowed: true),
        Row(
            match: "/c/{id}", condition: #"resource.id == 'x'"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"__name__"},"op":"EQUAL","value":{"referenceValue":"projects/demo-x/databases/(default)/documents/c/x"}}}}"#,
            isAllowed: true, officialAnswer: false),
        Row(
            match: "/c/{id}", condition: #"resource.__name__[4] == 'x'"#, parent: "",
            query:
                #"{"from":[{"collectionId":"c","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"__name__"},"op":"EQUAL","value":{"referenceValue":"projects/demo-x/databases/(default)/documents/c/x"}}}}"#,
            isAllowed: true, officialAnswer: false),
        Row(
            match: "/zz/{id}", condition: #"resource.data.a == 1"#, parent: "",
            query:
                #"{"from":[{"collectionId":"zz","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"__name__"},"op":"EQUAL","value":{"referenceValue":"projects/demo-x/databases/(default)/documents/zz/yy"}}}}"#,
            isAllowed: true),
        Row(
            match: "/zz/{id}", condition: #"resource.data.a == 2"#, parent: "",
            query:
                #"{"from":[{"collectionId":"zz","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"__name__"},"op":"EQUAL","value":{"referenceValue":"projects/demo-x/databases/(default)/documents/zz/yy"}}}}"#,
            isAllowed: false),
        Row(
            match: "/zz/{id}", condition: #"resource.data.keys().hasOnly(['a']) && resource.data.size() == 1"#,
            parent: "",
            query:
                #"{"from":[{"collectionId":"zz","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"__name__"},"op":"IN","value":{"arrayValue":{"values":[{"referenceValue":"projects/demo-x/databases/(default)/documents/zz/yy"}]}}}}}"#,
            isAllowed: true),
        Row(
            match: "/zz/{id}", condition: #"resource.data.a == 1"#, parent: "",
            query:
                #"{"from":[{"collectionId":"zz","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"__name__"},"op":"IN","value":{"arrayValue":{"values":[{"referenceValue":"projects/demo-x/databases/(default)/documents/zz/yy"},{"referenceValue":"projects/demo-x/databases/(default)/documents/zz/no"}]}}}}}"#,
            isAllowed: false),
        Row(
            match: "/zz/{id}", condition: #"id == 'no' || resource.data.a == 1"#, parent: "",
            query:
                #"{"from":[{"collectionId":"zz","allDescendants":false}],"where":{"fieldFilter":{"field":{"fieldPath":"__name__"},"op":"IN","value":{"arrayValue":{"values":[{"referenceValue":"projects/demo-x/databases/(default)/documents/zz/yy"},{"referenceValue":"projects/demo-x/databases/(default)/documents/zz/no"}]}}}}}"#,
            isAllowed: true),
        Row(
            match: "/{path=**}/zz/{id}", condition: #"resource.data.a == 1"#, parent: "",
            query:
                #"{"from":[{"collectionId":"zz","allDescendants":true}],"where":{"fieldFilter":{"field":{"fieldPath":"__name__"},"op":"EQUAL","value":{"referenceValue":"projects/demo-x/databases/(default)/documents/zz/yy"}}}}"#,
            isAllowed: true),
        Row(
            match: "/{p=**}/c/{id}", condition: #"request.path == /databases/(default)/documents/c"#, parent: "",
            query: #"{"from":[{"collectionId":"c","allDescendants":true}]}"#, isAllowed: false),
        Row(
            match: "/{p=**}/c/{id}", condition: #"request.path[3] == 'x'"#, parent: "/x/y",
            query: #"{"from":[{"collectionId":"c","allDescendants":true}]}"#, isAllowed: false),
    ]
}
