import DocumentModel
import DocumentStore
@testable import HostConfiguration
import Testing

struct IndexFileTests {
    private func errors(of text: String) -> String {
        do throws(ConfigurationError) {
            _ = try ConfigurationReader.readIndexes(Array(text.utf8), file: "i.json")
            return ""
        } catch {
            return error.description
        }
    }

    private func read(_ text: String) throws -> IndexFile {
        try ConfigurationReader.readIndexes(Array(text.utf8), file: "i.json")
    }

    private func field(_ segments: String..., kind: IndexDefinition.Kind) -> IndexDefinition.Field {
        IndexDefinition.Field(FieldPath(segments: segments), kind)
    }

    @Test func readsFilesOfFirebaseTools() throws {
        let file = try read(
            """
            {
              "indexes": [
                { "collectionGroup": "orders", "queryScope": "COLLECTION", "density": "SPARSE_ALL", "multikey": false,
                  "apiScope": "ANY_API", "unique": false,
                  "fields": [ { "fieldPath": "buyer.id", "order": "ASCENDING" },
                              { "fieldPath": "`odd name`.x", "order": "DESCENDING" },
                              { "fieldPath": "__name__", "order": "DESCENDING" } ] },
                { "collectionGroup": "orders", "queryScope": "COLLECTION_GROUP",
                  "fields": [ { "fieldPath": "tags", "arrayConfig": "CONTAINS" },
                              { "fieldPath": "time", "order": "ASCENDING" } ] }
              ],
              "fieldOverrides": [
                { "collectionGroup": "orders", "fieldPath": "note", "ttl": false, "indexes": [] },
                { "collectionGroup": "orders", "fieldPath": "*",
                  "indexes": [ { "order": "ASCENDING", "queryScope": "COLLECTION" } ] },
                { "collectionGroup": "orders", "fieldPath": "sku", "ttl": true,
                  "indexes": [ { "order": "ASCENDING" }, { "order": "DESCENDING" }, { "arrayConfig": "CONTAINS" },
                               { "order": "ASCENDING", "queryScope": "COLLECTION_GROUP" },
                               { "order": "DESCENDING", "queryScope": "COLLECTION_GROUP" },
                               { "arrayConfig": "CONTAINS", "queryScope": "COLLECTION_GROUP" } ] }
              ]
            }
            """)
        let group = { IndexDefinition(collectionID: "orders", scope: .collectionGroup, fields: [$0]) }
        #expect(
            file.configuration.indexes == [
                IndexDefinition(
                    collectionID: "orders",
                    fields: [
                        field("buyer", "id", kind: .ascending), field("odd name", "x", kind: .descending),
                    ]),
                IndexDefinition(
                    collectionID: "orders", scope: .collectionGroup,
                    fields: [field("tags", kind: .contains), field("time", kind: .ascending)]),
                group(field("sku", kind: .ascending)), group(field("sku", kind: .contains)),
            ])
        func exemption(_ name: String?, _ isOrdered: Bool, _ hasElements: Bool) -> FieldExemption {
            FieldExemption(
                collectionID: "orders", field: name.map { FieldPath(segments: [$0]) }, isOrdered: isOrdered,
                hasElements: hasElements)
        }
        #expect(
            file.configuration.exemptions == [
                exemption("note", false, false), exemption(nil, true, false), exemption("sku", true, true),
            ])
        #expect(file.expiring == ["orders.sku"])
        #expect(try read("{}") == IndexFile())
    }

    @Test(arguments: [
        ("[]", "i.json:1:1: an array is not an object; write { … }"),
        ("{\"indexes\": [}", "i.json:1:14: a value should be here"),
        (
            "{\"fieldOverrides\": [\n{\"collectionGroup\": \"a\", \"fieldPath\": \"caf\u{65}\u{301}\", "
                + "\"indexes\": []}]}",
            "i.json:2:39: fieldOverrides[0].fieldPath: \"caf\u{65}\u{301}\" is not a field path: the field name "
                + "\"caf\u{65}\u{301}\" is not in Unicode's normal form C (NFC), as names of fields have to be; "
                + "normalize it"
        ),
        ("{\"indices\": []}", "i.json:1:2: indices: unknown key; did you mean \"indexes\"?"),
        ("{\"indexes\": {}}", "i.json:1:13: indexes: an object is not a list of indexes; write [ … ]"),
        (
            "{\"indexes\": [{}]}",
            "i.json:1:14: indexes[0]: \"collectionGroup\" is missing; write the collection's id\n"
                + "i.json:1:14: indexes[0]: \"fields\" is missing; write the fields, in order\n"
                + "i.json:1:14: indexes[0]: \"queryScope\" is missing; write COLLECTION or COLLECTION_GROUP"
        ),
        (
            "{\"fieldOverrides\": [{\"collectionGroup\": \"a/b\", \"fieldPath\": \"a..b\", \"indexes\": []}]}",
            "i.json:1:41: fieldOverrides[0].collectionGroup: \"a/b\" is not a collection ID; write the last "
                + "part of its "
                + "path, such as orders for users/ada/orders\n"
                + "i.json:1:61: fieldOverrides[0].fieldPath: \"a..b\" is not a field path: field path \"a..b\" "
                + "has an empty segment; write names separated by dots, and put names with special characters "
                + "in backticks"
        ),
        (
            "{\"fieldOverrides\": [{\"collectionGroup\": \"a\", \"fieldPath\": \"b\", \"ttl\": 1, \"indexes\": "
                + "[{\"order\": \"UP\"}, {}, {\"order\": \"ASCENDING\", \"arrayConfig\": \"CONTAINS\"}]}]}",
            "i.json:1:71: fieldOverrides[0].ttl: 1 is neither true nor false\n"
                + "i.json:1:96: fieldOverrides[0].indexes[0].order: \"UP\" is not allowed here; write \"ASCENDING\" or "
                + "\"DESCENDING\"\n"
                + "i.json:1:103: fieldOverrides[0].indexes[1]: write \"order\" with ASCENDING or DESCENDING, or "
                + "\"arrayConfig\" with CONTAINS\n"
                + "i.json:1:145: fieldOverrides[0].indexes[2].arrayConfig: \"order\" and \"arrayConfig\" exclude each "
                + "other; keep one"
        ),
        (
            "{\"fieldOverrides\": [{\"collectionGroup\": \"a\", \"fieldPath\": \"*\", \"indexes\": "
                + "[{\"order\": \"ASCENDING\", \"queryScope\": \"COLLECTION_GROUP\"}]},\n"
                + "{\"collectionGroup\": \"a\", \"fieldPath\": \"*\", \"indexes\": []},"
                + "{\"collectionGroup\": \"a\", \"fieldPath\": \"__name__\", \"indexes\": []}]}",
            "i.json:1:76: fieldOverrides[0].indexes[0]: * is not possible for a collection group; name each field\n"
                + "i.json:2:1: fieldOverrides[1]: this field is also on line 1; keep one\n"
                + "i.json:2:97: fieldOverrides[2].fieldPath: __name__ is not a field; documents are always "
                + "ordered by it"
        ),
    ])
    func problemsNameTheirLocation(text: String, expected: String) {
        #expect(errors(of: text) == expected)
    }

    @Test(arguments: [
        (
            "{ \"fieldPath\": \"a\", \"order\": \"ASCENDING\" }",
            "a composite index needs two fields or more besides __name__; each field already has an index of its own"
        ),
        (
            "{ \"fieldPath\": \"__name__\", \"order\": \"ASCENDING\" }, { \"fieldPath\": \"b\", \"order\": "
                + "\"ASCENDING\" }",
            "__name__ can only be the last field"
        ),
        (
            "{ \"fieldPath\": \"a\", \"order\": \"ASCENDING\" }, { \"fieldPath\": \"a\", \"order\": \"DESCENDING\" }",
            "\"a\" is in this index twice"
        ),
        (
            "{ \"fieldPath\": \"a\", \"arrayConfig\": \"CONTAINS\" }, { \"fieldPath\": \"b\", \"arrayConfig\": "
                + "\"CONTAINS\" }",
            "an index can have only one array field"
        ),
    ])
    func impossibleFieldsAreRejected(fields: String, expected: String) {
        let text =
            "{ \"indexes\": [ { \"collectionGroup\": \"c\", \"queryScope\": \"COLLECTION\", \"fields\": [ "
            + "\(fields) ] } ] }"
        let errors = errors(of: text)
        #expect(errors.contains(expected), "\(errors)")
        #expect(errors.split(separator: "\n").count == 1, "\(errors)")
    }

    @Test(arguments: [
        (
            "{ \"fieldPath\": \"a\", \"order\": \"ASCENDING\" }, { \"fieldPath\": \"b\", \"order\": \"ASCENDING\" }, "
                + "{ \"fieldPath\": \"__name__\", \"order\": \"DESCENDING\" }",
            "fields[2]: the index is skipped: this host supports __name__ only in the direction"
        ),
        (
            "{ \"fieldPath\": \"a\", \"order\": \"DESCENDING\" }, "
                + "{ \"fieldPath\": \"__name__\", \"order\": \"DESCENDING\" }",
            "indexes[0]: the index is skipped: an index of one field and __name__"
        ),
        (
            "{ \"fieldPath\": \"a\", \"vectorConfig\": { \"dimension\": 3, \"flat\": {} } }",
            "fields[0].vectorConfig: the index is skipped: this host finds nearest vectors without one"
        ),
    ])
    func unsupportedIndexesAreSkipped(fields: String, expected: String) throws {
        let file = try read(
            "{ \"indexes\": [ { \"collectionGroup\": \"c\", \"queryScope\": \"COLLECTION\", "
                + "\"fields\": [ \(fields) ] }, \(Self.index("d")) ] }")
        #expect(file.configuration.indexes.map(\.collectionID) == ["d"])
        #expect(file.skipped.count == 1)
        #expect(file.skipped.first?.contains(expected) == true, "\(file.skipped)")
        #expect(file.skipped.first?.hasPrefix("i.json:1:") == true)
    }

    private static func index(_ id: String, more: String = "") -> String {
        "{ \"collectionGroup\": \"\(id)\", \"queryScope\": \"COLLECTION\", \(more) \"fields\": [ "
            + "{ \"fieldPath\": \"a\", \"order\": \"ASCENDING\" }, { \"fieldPath\": \"b\", \"order\": "
            + "\"ASCENDING\" } ] }"
    }

    @Test func duplicateIndexesAreRejected() {
        let errors = errors(of: "{ \"indexes\": [ \(Self.index("c")),\n\(Self.index("d")),\n\(Self.index("c")) ] }")
        #expect(errors == "i.json:3:1: indexes[2]: this index is also on line 1; keep one")
    }

    @Test func moreThan200IndexesAreRejected() throws {
        let indexes = (0..<201).map { Self.index("c\($0)") }
        let text = { (count: Int) in "{ \"indexes\": [ \(indexes.prefix(count).joined(separator: ",")) ] }" }
        #expect(try read(text(200)).configuration.indexes.count == 200)
        #expect(errors(of: text(201)).contains("201 composite indexes are more than 200, the limit"))
    }

    @Test(arguments: [
        ("\"density\": \"DENSE\",", "write \"SPARSE_ALL\" or omit it"),
        ("\"apiScope\": \"MONGODB_COMPATIBLE_API\",", "write \"ANY_API\" or omit it"),
        ("\"multikey\": true,", "write false or omit it"),
        ("\"unique\": true,", "write false or omit it"),
    ])
    func optionsOfOtherDatabasesAreRejected(more: String, expected: String) {
        #expect(errors(of: "{ \"indexes\": [ \(Self.index("c", more: more)) ] }").contains(expected))
    }
}
