import DocumentModel
import Foundation
import SecurityRules
import Testing

/// Who may do what in the sample shop.
struct ShopRulesTests {
    private static let rules = Result {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appending(path: "firestore.rules"), encoding: .utf8)
        return ClientRules(.rules(try Ruleset(text)))
    }

    private static func isAllowed(_ uid: String?, _ access: Access) throws -> Bool {
        let policy = try rules.get().policy(
            of: uid.map { ClientIdentity(uid: $0) }, in: DatabaseID(project: "demo-shop"))
        let view = AccessView(
            time: Timestamp(seconds: 1_795_000_000, nanoseconds: 0), document: { _ in nil }, documentAfter: { _ in nil }
        )
        do {
            try policy.check(access, in: view)
            return true
        } catch let error as DocumentError {
            #expect(error == DocumentError(.permissionDenied, "Missing or insufficient permissions."))
            return false
        }
    }

    private static func document(_ path: String, _ fields: [String: Value] = [:]) throws -> Document {
        let time = Timestamp(seconds: 0, nanoseconds: 0)
        return Document(path: try DocumentPath(path), fields: fields, createTime: time, updateTime: time)
    }

    private static func reference(_ path: String, database: String = "(default)") -> Value {
        guard let name = try? DocumentName("projects/demo-shop/databases/\(database)/documents/\(path)") else {
            return .null
        }
        return .reference(name)
    }

    @Test(arguments: [
        ("users/ada", "ada", true), ("users/ada", "bob", false), ("users/ada", nil, false),
        ("users/e\u{301}", "\u{e9}", false),
        ("users/ada/cart_items/1", "ada", true), ("users/ada/cart_items/1", "bob", false),
        ("users/ada/orders/1", "ada", true), ("users/ada/orders/1", "bob", false),
        ("users/ada/secrets/1", "ada", false), ("users/ada/orders/1/lines/1", "ada", false),
        ("products/p", "bob", true), ("products/p", nil, false), ("products/p/reviews/1", "bob", false),
        ("other/ada", "ada", false),
    ])
    func gets(path: String, uid: String?, allowed: Bool) throws {
        #expect(try Self.isAllowed(uid, .get(DocumentPath(path), nil)) == allowed)
    }

    @Test(
        arguments: [
            (nil, "products", false, "ada", true), (nil, "products", false, nil, false),
            (nil, "products", true, "ada", false),
            (nil, "users", false, "ada", false), ("users/ada", "cart_items", false, "ada", true),
            ("users/ada", "orders", false, "ada", true), ("users/ada", "orders", false, "bob", false),
            (nil, "orders", true, "ada", false), ("users/ada", "orders", true, "ada", false),
            ("users/ada", "products", false, "ada", false),
        ] as [(String?, String, Bool, String?, Bool)])
    func lists(parent: String?, collection: String, group: Bool, uid: String?, allowed: Bool) throws {
        let query = Query(
            parent: try parent.map { try DocumentPath($0) }, collectionID: collection, allDescendants: group)
        #expect(try Self.isAllowed(uid, .list(query)) == allowed)
    }

    @Test(
        arguments: [
            ("users/ada", [:], true), ("users/bob", [:], false),
            ("users/ada/cart_items/1", ["quantity": .integer(1), "product": reference("products/p")], true),
            ("users/ada/cart_items/1", ["quantity": .integer(0), "product": reference("products/p")], false),
            ("users/ada/cart_items/1", ["quantity": .double(1), "product": reference("products/p")], false),
            ("users/ada/cart_items/1", ["quantity": .integer(1), "product": .string("p")], false),
            ("users/bob/cart_items/1", ["quantity": .integer(1), "product": reference("products/p")], false),
            ("users/ada/orders/1", [:], false),
            ("products/p", ["owner": reference("users/ada")], true),
            ("products/p", ["owner": reference("users/bob")], false),
            ("products/p", ["owner": reference("users/ada", database: "other")], false), ("products/p", [:], false),
        ] as [(String, [String: Value], Bool)])
    func creates(path: String, fields: [String: Value], allowed: Bool) throws {
        let document = try Self.document(path, fields)
        #expect(try Self.isAllowed("ada", .create(document)) == allowed)
        #expect(try !Self.isAllowed(nil, .create(document)))
    }

    @Test(
        arguments: [
            ("users/ada", [:], [:], true), ("users/bob", [:], [:], false), ("users/ada/orders/1", [:], [:], false),
            ("users/ada/cart_items/1", [:], ["quantity": .integer(2), "product": reference("products/p")], true),
            ("users/ada/cart_items/1", ["quantity": .integer(2), "product": reference("products/p")], [:], false),
            ("products/p", ["owner": reference("users/ada")], ["owner": reference("users/ada")], true),
            ("products/p", ["owner": reference("users/ada")], ["owner": reference("users/bob")], false),
            ("products/p", ["owner": reference("users/bob")], ["owner": reference("users/ada")], false),
        ] as [(String, [String: Value], [String: Value], Bool)])
    func updates(path: String, old: [String: Value], new: [String: Value], allowed: Bool) throws {
        let (old, new) = (try Self.document(path, old), try Self.document(path, new))
        #expect(try Self.isAllowed("ada", .update(from: old, to: new)) == allowed)
    }

    @Test(
        arguments: [
            ("users/ada", nil, true), ("users/bob", nil, false), ("users/ada/cart_items/1", nil, true),
            ("users/ada/orders/1", nil, false), ("products/p", nil, false),
            ("products/p", ["owner": reference("users/ada")], true),
            ("products/p", ["owner": reference("users/bob")], false),
        ] as [(String, [String: Value]?, Bool)])
    func deletes(path: String, fields: [String: Value]?, allowed: Bool) throws {
        let document = try fields.map { try Self.document(path, $0) }
        #expect(try Self.isAllowed("ada", .delete(DocumentPath(path), document)) == allowed)
    }
}
