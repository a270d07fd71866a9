import FunctionsRuntime
import FunctionsTesting
import Testing

/// Users as functions manage them, over the code that the host runs.
@Suite struct UserTests {
    private let tester: FunctionsTester
    private var users: Users { tester.users }

    init() throws {
        tester = try FunctionsTester(UserFixtures(), startingAt: Timestamp(seconds: 1_767_323_045, nanoseconds: 0))
    }

    private func expect(
        _ code: AuthError.Code, sourceLocation: SourceLocation = #_sourceLocation,
        _ body: () async throws -> Void
    ) async {
        let error = await #expect(throws: AuthError.self, sourceLocation: sourceLocation) { try await body() }
        #expect(error?.code == code, sourceLocation: sourceLocation)
    }

    // MARK: One operation at a time

    @Test func aUserIsFoundByEachOfItsIdentifiers() async throws {
        let made = try await users.create(
            UserCreation(
                uid: "ada", email: "Ada@Example.com", emailVerified: true, password: "secret1", displayName: "Ada",
                photoURL: "https://example.com/ada.png", phoneNumber: "+49 151 1234-5678"))
        #expect(made.email == "ada@example.com")
        #expect(made.phoneNumber == "+4915112345678")
        #expect(made.emailVerified && !made.disabled)
        #expect(made.metadata.creationTime?.seconds == 1_767_323_045)
        #expect(made.metadata.lastSignInTime == nil)
        #expect(Set(made.providerData.map(\.providerID)) == ["password", "phone"])
        let linked = try await users.update("ada") {
            $0.providerToLink = UserInfo(providerID: "google.com", uid: "g1", email: "ada@gmail.com")
        }
        #expect(linked.providerData.contains { $0.providerID == "google.com" && $0.uid == "g1" })
        #expect(try await users.get("ada") == linked)
        #expect(try await users.get(email: "ADA@example.com") == linked)
        #expect(try await users.get(phoneNumber: "+4915112345678") == linked)
        #expect(try await users.get(providerID: "google.com", providerUID: "g1") == linked)

        try await users.create(UserCreation(uid: "bob"))
        let identifiers: [UserIdentifier] = [
            .uid("ada"), .email("ADA@example.com"), .uid("unknown"), .phoneNumber("+1 555 000000"), .uid("bob"),
            .provider("google.com", uid: "g1"), .provider("phone", uid: "+4915112345678"),
        ]
        let result = try await users.get(identifiers)
        #expect(Set(result.users.map(\.uid)) == ["ada", "bob"])
        #expect(result.notFound == [.uid("unknown"), .phoneNumber("+1 555 000000")])
        #expect(try await users.get([]).users.isEmpty)
    }

    @Test func whatIsMissingTakenOrInvalidHasTheCodesOfAdminSDKs() async throws {
        try await users.create(UserCreation(uid: "ada", email: "ada@example.com", phoneNumber: "+4915112345678"))
        let known = users
        await expect(.userNotFound) { _ = try await known.get("unknown") }
        await expect(.userNotFound) { _ = try await known.get(email: "unknown@example.com") }
        await expect(.userNotFound) { _ = try await known.update("unknown") { $0.displayName = "x" } }
        await expect(.userNotFound) { try await known.delete("unknown") }
        await expect(.userNotFound) { try await known.disable("unknown") }
        await expect(.uidAlreadyExists) { _ = try await known.create(UserCreation(uid: "ada")) }
        await expect(.emailAlreadyExists) { _ = try await known.create(UserCreation(email: "ADA@example.com")) }
        await expect(.phoneNumberAlreadyExists) {
            _ = try await known.create(UserCreation(phoneNumber: "+4915112345678"))
        }
        await expect(.invalidEmail) { _ = try await known.create(UserCreation(email: "ada")) }
        await expect(.invalidPhoneNumber) { _ = try await known.create(UserCreation(phoneNumber: "0151")) }
        await expect(.invalidPassword) { _ = try await known.create(UserCreation(password: "12345")) }
        await expect(.invalidUID) {
            _ = try await known.create(UserCreation(uid: String(repeating: "x", count: 129)))
        }
        await expect(.forbiddenClaim) { try await known.setCustomClaims(["sub": "eve"], for: "ada") }
        await expect(.claimsTooLarge) {
            try await known.setCustomClaims(["x": .string(String(repeating: "x", count: 1000))], for: "ada")
        }
        await expect(.argumentError) { _ = try await known.list(limit: 1001) }
        await expect(.maximumUserCountExceeded) {
            _ = try await known.get((0...100).map { UserIdentifier.uid("\($0)") })
        }
        await expect(.maximumUserCountExceeded) { _ = try await known.delete((0...1000).map { "\($0)" }) }
        await expect(.emailNotFound) { _ = try await known.passwordResetLink(for: "unknown@example.com") }
        await expect(.invalidContinueURI) {
            _ = try await known.passwordResetLink(for: "ada@example.com", settings: ActionCodeSettings(url: "here"))
        }
        // Nothing of what was refused was made.
        #expect(try await known.list().users.map(\.uid) == ["ada"])
    }

    @Test func anUpdateChangesWhatItSetsAndRemovesWhatItSetsToNil() async throws {
        try await users.create(
            UserCreation(
                uid: "ada", email: "ada@example.com", emailVerified: true, displayName: "Ada",
                photoURL: "https://example.com/ada.png", phoneNumber: "+4915112345678"))
        var ada = try await users.update("ada") { $0.photoURL = nil }
        #expect(ada.photoURL == nil && ada.displayName == "Ada" && ada.phoneNumber != nil && ada.emailVerified)
        ada = try await users.update("ada") {
            $0.displayName = nil
            $0.phoneNumber = nil
            $0.email = "lovelace@example.com"
        }
        #expect(ada.displayName == nil && ada.phoneNumber == nil)
        #expect(ada.email == "lovelace@example.com" && !ada.emailVerified)
        #expect(try await users.get([.email("ada@example.com")]).users.isEmpty)
        try await users.create(UserCreation(uid: "bob", phoneNumber: "+4915112345678"))

        try await users.setCustomClaims(["staff": true, "level": 3], for: "ada")
        #expect(try await users.get("ada").customClaims == ["staff": true, "level": 3])
        try await users.setCustomClaims(nil, for: "ada")
        #expect(try await users.get("ada").customClaims.isEmpty)
        try await users.disable("ada")
        #expect(try await users.get("ada").disabled)
        try await users.enable("ada")
        #expect(try await !users.get("ada").disabled)
        try await tester.advance(by: .seconds(10))
        try await users.revokeRefreshTokens(for: "ada")
        #expect(try await users.get("ada").tokensValidAfterTime?.seconds == 1_767_323_055)
        ada = try await users.update("ada") {
            $0.providerToLink = UserInfo(providerID: "google.com", uid: "g1")
        }
        ada = try await users.update("ada") { $0.providersToUnlink = ["google.com"] }
        #expect(ada.providerData.isEmpty)
    }

    @Test func allUsersAreListedOnceAndInPages() async throws {
        for number in 0..<25 { try await users.create(UserCreation(uid: "user-\(number)")) }
        let page = try await users.list(limit: 10)
        #expect(page.users.count == 10)
        let next = try await users.list(limit: 20, after: page.pageToken)
        #expect(next.users.count == 15 && next.pageToken == nil)
        var all: [String] = []
        for try await user in users.all { all.append(user.uid) }
        #expect(all.count == 25 && Set(all) == Set((page.users + next.users).map(\.uid)))
    }

    @Test func manyUsersAreDeletedAtOnce() async throws {
        for uid in ["a", "b", "c"] { try await users.create(UserCreation(uid: uid)) }
        let result = try await users.delete(["a", "b", "missing"])
        #expect(result.successCount == 3 && result.failureCount == 0)
        #expect(try await users.list().users.map(\.uid) == ["c"])
        let deliveries = try await tester.deliverAll()
        #expect(deliveries.filter { $0.function == "goodbye" }.count == 2)
    }

    @Test func linksAndTokensAreMade() async throws {
        try await users.create(UserCreation(uid: "ada", email: "ada@example.com", password: "secret1"))
        let settings = ActionCodeSettings(url: "https://shop.example.com/done")
        let reset = try await users.passwordResetLink(for: "ada@example.com", settings: settings)
        #expect(reset.hasPrefix("http://127.0.0.1:9099/") && reset.contains("mode=resetPassword"))
        #expect(reset.contains("continueUrl=https%3A//shop.example.com/done"))
        #expect(try await users.emailVerificationLink(for: "ada@example.com").contains("mode=verifyEmail"))
        #expect(
            try await users.signInLink(for: "new@example.com", settings: settings).contains("mode=signIn"))
        #expect(
            try await users.verifyAndChangeEmailLink(for: "ada@example.com", newEmail: "l@example.com")
                .contains("mode=verifyAndChangeEmail"))
        let known = users
        await expect(.emailAlreadyExists) {
            _ = try await known.verifyAndChangeEmailLink(for: "ada@example.com", newEmail: "ada@example.com")
        }
        let token = try await users.customToken(for: "someone", claims: ["first_name": "Ada"])
        #expect(token.split(separator: ".", omittingEmptySubsequences: false).count == 3)
        await expect(.forbiddenClaim) { _ = try await known.customToken(for: "someone", claims: ["aud": "x"]) }
        await expect(.invalidUID) { _ = try await known.customToken(for: "") }
    }

    // MARK: In functions

    @Test func aFunctionSetsAClaim() async throws {
        try await users.create(UserCreation(uid: "ada", email: "ada@example.com"))
        let _: NoData = try await tester.call("makeStaff", "ada@example.com")
        #expect(try await users.get("ada").customClaims == ["staff": true])
        let error = await #expect(throws: HttpsError.self) {
            let _: NoData = try await tester.call("makeStaff", "eve@example.com")
        }
        #expect(error?.code == .notFound)
    }

    @Test func functionsAreNotifiedOfUsers() async throws {
        try await users.create(UserCreation(uid: "ada", email: "ada@example.com", displayName: "Ada"))
        #expect(try await tester.deliverAll().map(\.function) == ["welcome"])
        #expect(
            try await tester.firestore.document("welcomes/ada").getDocument()["email"] == .string("ada@example.com"))
        try await users.delete("ada")
        #expect(try await tester.deliverAll().map(\.function) == ["goodbye"])
        #expect(try await tester.firestore.document("farewells/ada").getDocument()["name"] == .string("Ada"))
    }

    // MARK: In a transaction

    private func invite(_ email: String, _ team: String, isDisturbed: Bool = false) async throws -> String {
        try await tester.call(
            "invite", UserFixtures.Invitation(email: email, team: team, isDisturbed: isDisturbed))
    }

    private func team(_ name: String) async throws -> [String: Value]? {
        try await tester.firestore.document("teams/\(name)").getDocument().data()
    }

    @Test func usersDocumentsAndEventsAreOneCommit() async throws {
        try await users.create(UserCreation(uid: "ada", email: "ada@example.com", displayName: "Ada"))
        _ = try await tester.deliverAll()
        let guest = try await invite("ada@example.com", "red")
        #expect(try await users.get("ada").customClaims == ["team": "red"])
        #expect(try await users.get(guest).email == "guest-of-ada@example.com")
        #expect(try await users.get(guest).providerData.map(\.providerID) == ["password"])
        #expect(try await team("red") == ["members": .integer(1), "last": .string("Ada")])
        #expect(try await tester.deliverAll().map(\.function) == ["welcome"])
    }

    @Test func anAbandonedTransactionLeavesNothing() async throws {
        try await users.create(UserCreation(uid: "ada", email: "ada@example.com"))
        _ = try await tester.deliverAll()
        let error = await #expect(throws: HttpsError.self) { _ = try await invite("ada@example.com", "full") }
        #expect(error?.code == .resourceExhausted)
        #expect(try await users.list().users.map(\.uid) == ["ada"])
        #expect(try await users.get("ada").customClaims.isEmpty)
        #expect(try await team("full") == nil)
        #expect(try await tester.deliverAll().isEmpty)
    }

    /// The guest's address is taken, which only the commit finds out.
    @Test func aRefusedChangeOfUsersKeepsTheDocumentsFromBeingWritten() async throws {
        try await users.create(UserCreation(uid: "ada", email: "ada@example.com"))
        try await users.create(UserCreation(uid: "taken", email: "guest-of-ada@example.com"))
        _ = try await tester.deliverAll()
        await #expect(throws: HttpsError.self) { _ = try await invite("ada@example.com", "red") }
        #expect(try await users.get("ada").customClaims.isEmpty)
        #expect(try await team("red") == nil)
        #expect(try await tester.deliverAll().isEmpty)
        let known = tester
        await expect(.emailAlreadyExists) {
            try await known.firestore.runTransaction { transaction in
                _ = try transaction.users.create(UserCreation(email: "ada@example.com"))
            }
        }
        await expect(.invalidPassword) {
            try await known.firestore.runTransaction { transaction in
                try transaction.setData(["n": 1], forDocument: transaction.firestore.document("a/b"))
                try transaction.users.update("ada") { $0.password = "123" }
            }
        }
        #expect(try await tester.firestore.document("a/b").getDocument().exists == false)
    }

    @Test func aUserThatChangedMeanwhileIsReadAgain() async throws {
        try await users.create(UserCreation(uid: "ada", email: "ada@example.com"))
        _ = try await invite("ada@example.com", "red", isDisturbed: true)
        #expect(try await team("red") == ["members": .integer(1), "last": .string("Disturbed")])
        #expect(try await users.get("ada").displayName == "Disturbed")
        #expect(try await users.list().users.count == 2)
    }

    /// A user who wasn't there when the transaction looked.
    @Test func aUserThatIsCreatedMeanwhileIsSeenByTheNextAttempt() async throws {
        let known = tester
        let seen = try await known.firestore.runTransaction { transaction in
            let found = try await transaction.users.get([.email("new@example.com")]).users
            if found.isEmpty { try await known.users.create(UserCreation(uid: "new", email: "new@example.com")) }
            try transaction.setData(["n": found.count], forDocument: transaction.firestore.document("a/b"))
            return found.count
        }
        #expect(seen == 1)
        #expect(try await tester.firestore.document("a/b").getDocument()["n"] == .integer(1))
    }

    /// A change of users alone is validated against the documents that the transaction has read.
    @Test func aDocumentThatChangedMeanwhileKeepsUsersFromBeingChanged() async throws {
        try await users.create(UserCreation(uid: "ada"))
        let known = tester
        let document = tester.firestore.document("settings/level")
        try await document.setData(["n": 1])
        try await known.firestore.runTransaction { transaction in
            let level = try await transaction.getDocument(transaction.firestore.document("settings/level"))["n"]
            if level == .integer(1) { try await document.setData(["n": 2]) }
            guard case .integer(let number)? = level else { return }
            try transaction.users.setCustomClaims(["level": .integer(number)], for: "ada")
        }
        #expect(try await users.get("ada").customClaims == ["level": 2])
    }

    @Test func writesOfATransactionSeeTheOnesBeforeThem() async throws {
        try await tester.firestore.runTransaction { transaction in
            try transaction.users.create(UserCreation(uid: "a", email: "a@example.com"))
            try transaction.users.update("a") { $0.email = "b@example.com" }
            try transaction.users.create(UserCreation(uid: "b", email: "a@example.com"))
            try transaction.users.create(UserCreation(uid: "c"))
            try transaction.users.delete("c")
        }
        let all = try await users.list().users
        #expect(all.map(\.uid) == ["a", "b"])
        #expect(all.map(\.email) == ["b@example.com", "a@example.com"])
        let known = tester
        await expect(.userNotFound) {
            try await known.firestore.runTransaction { try $0.users.delete("unknown") }
        }
    }

    @Test(arguments: ["readAfterWrite", "documentAfterWrite", "readOnly"])
    func whatTransactionsCannotDoIsRefused(how: String) async throws {
        try await users.create(UserCreation(uid: "ada"))
        await #expect(throws: HttpsError.self) { let _: NoData = try await tester.call("misuse", how) }
        #expect(try await !users.get("ada").disabled)
    }
}
