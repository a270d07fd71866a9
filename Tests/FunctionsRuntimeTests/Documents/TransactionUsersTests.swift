import DocumentModel
import FunctionsRuntime
import Testing
import UserModel
import WorkerProtocol

/// What a worker sends for users in a transaction.
@Suite struct TransactionUsersTests {
    private static let answer = Array(#"{"users":[{"localId":"ada","displayName":"Ada"}]}"#.utf8)
    private static let lookup = Array(#"{"localId":["ada"]}"#.utf8)
    private static let id = TransactionID(rawValue: 1)

    @Test func theCommitNamesWhatWasReadAndChanged() async throws {
        let transport = ScriptedTransport([.began(1), .users(Self.answer), .committed(1)])
        try await Firestore(transport: transport).runTransaction { transaction in
            let ada = try await transaction.users.get("ada")
            // The second time from memory.
            #expect(try await transaction.users.get("ada") == ada)
            try transaction.users.delete("ada")
            try transaction.setData(["n": 1], forDocument: transaction.firestore.document("a/b"))
        }
        let write = Write(path: try DocumentPath("a/b"), operation: .set(["n": .integer(1)]))
        #expect(
            transport.requests == [
                .begin(.readWrite(retrying: nil)), .users(UserRequest(.lookUp, body: Self.lookup)),
                .commitAll(
                    TransactionChanges(
                        users: UserChanges(
                            expectations: [.init(lookup: Self.lookup, answer: Self.answer)],
                            writes: [UserRequest(.delete, body: Array(#"{"localId":"ada"}"#.utf8))])),
                    [write], transaction: Self.id, completing: nil),
            ])
    }

    @Test func aRefusalIsThrownAndRolledBack() async throws {
        let transport = ScriptedTransport([.began(1), .usersRefused("EMAIL_EXISTS")])
        let error = await #expect(throws: AuthError.self) {
            try await Firestore(transport: transport).runTransaction { transaction in
                _ = try transaction.users.create(UserCreation(email: "ada@example.com"))
            }
        }
        #expect(error?.code == .emailAlreadyExists)
        #expect(transport.requests.last == .rollback(Self.id))
    }

    @Test func aConflictIsTriedAgainAndReadsAgain() async throws {
        let transport = ScriptedTransport([
            .began(1), .users(Self.answer), .aborted, .began(2), .users(Array("{}".utf8)), .committed(0),
        ])
        let count = try await Firestore(transport: transport).runTransaction { transaction in
            try await transaction.users.get([.uid("ada")]).users.count
        }
        #expect(count == 0)
        guard case .commitAll(let changes, _, _, _, _)? = transport.requests.last else {
            Issue.record("\(transport.requests)")
            return
        }
        #expect(changes.users.expectations.map(\.answer) == [Array("{}".utf8)])
    }

    @Test(arguments: ["[]", "{", #"{"users":[{"email":"x"}]}"#]) func anAnswerThatIsNoneFails(answer: String) async {
        let transport = ScriptedTransport([.users(Array(answer.utf8)), .users(Array(answer.utf8))])
        let users = Users(transport: transport)
        await #expect(throws: (any Error).self) { try await users.get("ada") }
    }

    @Test(arguments: [
        ("EMAIL_EXISTS", AuthError.Code.emailAlreadyExists),
        ("WEAK_PASSWORD : Password should be at least 6 characters", .invalidPassword),
        ("PERMISSION_DENIED", .insufficientPermission), ("SOMETHING_NEW : of tomorrow", .internalError),
        ("", .internalError),
    ])
    func refusalsHaveTheCodesOfAdminSDKs(message: String, code: AuthError.Code) {
        let error = AuthError(refusal: message)
        #expect(error.code == code)
        #expect(code == .internalError ? error.message == message : !error.message.isEmpty)
    }
}
