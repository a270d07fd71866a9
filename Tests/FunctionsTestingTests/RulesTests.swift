import Foundation
import FunctionsRuntime
import FunctionsTesting
import Testing

private struct Empty: FunctionBundle {
    var functions: [Function] { onCall("noop") { (request: CallableRequest<NoData>) in } }
}

/// Clients under rules in an author's tests.
struct RulesTests {
    private func tester(_ condition: String) throws -> FunctionsTester {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).rules")
        defer { try? FileManager.default.removeItem(at: file) }
        let text = """
            rules_version = '2';
            service cloud.firestore {
              match /databases/{database}/documents/users/{user} {
                allow read, write: if \(condition);
              }
            }
            """
        try Data(text.utf8).write(to: file)
        return try FunctionsTester(Empty(), rules: file.path)
    }

    @Test func clientsAreUnderTheRules() async throws {
        let tester = try tester("request.auth.uid == user && request.auth.token.level > 1")
        let ada = tester.firestore(as: .user("ada", claims: ["level": 2])).document("users/ada")
        try await ada.setData(["n": 1])
        #expect(try await ada.getDocument().n?.intValue == 1)
        try await tester.firestore(as: .user("ada", claims: ["level": 2])).runTransaction { transaction in
            let n = try await transaction.getDocument(ada).n?.intValue ?? 0
            try transaction.updateData(["n": n + 1], forDocument: ada)
        }
        let refused = await #expect(throws: DocumentError.self) {
            try await tester.firestore(as: .user("ada", claims: ["level": 1])).document("users/ada").getDocument()
        }
        #expect(refused?.code == .permissionDenied)
        #expect(refused?.message == "Missing or insufficient permissions. 4:5: false")
        let nobody = await #expect(throws: DocumentError.self) {
            try await tester.firestore(as: .nobody).document("users/ada").getDocument()
        }
        #expect(nobody?.message.hasSuffix("4:5: 4:27: null has no member 'uid'") == true, "\(nobody?.message ?? "")")
        // Names of all documents are for admins alone, whatever the rules.
        let listed = await #expect(throws: DocumentError.self) {
            try await tester.firestore(as: .user("ada", claims: ["level": 2])).collection("users").listDocuments()
        }
        #expect(listed?.code == .permissionDenied)
        // Functions and tests have admin access.
        #expect(try await tester.firestore.document("users/ada").getDocument().n?.intValue == 2)
    }

    @Test func aFileWithErrorsFails() {
        let error = #expect(throws: TestError.self) { try tester("(") }
        #expect(error.map { "\($0)" }?.contains(":4:28: error: expected an expression, found ';'") == true)
        #expect(throws: TestError.self) { try FunctionsTester(Empty(), rules: "/nowhere.rules") }
    }
}
