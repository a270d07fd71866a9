import CommitPipeline
import Crypto
import DocumentModel
import DocumentStore
import Foundation
import FunctionsHost
import SQLiteStorage
import StorageEngine
import StoreTestSupport
import Synchronization
import TestSupport
import Testing

@testable import UserStore

@Suite struct UserStoreTests {
    /// The time of the store.
    private static let start: Int64 = 1_000_000

    private func withUsers<Result>(
        _ kind: EngineKind, _ body: (UserStore, CommitPipeline) async throws -> Result
    ) async throws -> Result {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let engine = try kind.make(in: directory)
        let pipeline = try CommitPipeline(engine: engine, now: { Timestamp(seconds: Self.start, nanoseconds: 0) })
        let users = try UserStore(on: pipeline, project: "demo-shop")
        try pipeline.start()
        let result = try await body(users, pipeline)
        await pipeline.shutdown()
        try engine.close()
        return result
    }

    private func problems(_ pipeline: CommitPipeline) throws -> [String] {
        var problems: [String] = []
        _ = try pipeline.check(report: { problems.append($0) }, progress: { _ in })
        return problems
    }

    private static func user(_ uid: String, email: String? = nil) -> UserRecord {
        var user = UserRecord(uid: uid, createdAt: 1)
        user.email = email
        return user
    }

    @Test func everyFieldSurvivesStoring() throws {
        var user = Self.user("ada", email: "ada@example.com")
        user.isEmailVerified = true
        user.displayName = "Ada"
        user.photoURL = "https://example.com/a.png"
        user.phoneNumber = "+4915112345678"
        user.isDisabled = true
        let schemes: [PasswordScheme] = [
            .scrypt(cost: 32_768, blockSize: 8, parallelism: 1),
            .firebaseScrypt(signerKey: [1, 2], saltSeparator: [3], rounds: 8, memoryCost: 14),
            .hmac(.sha512, key: [4], order: .passwordFirst), .digest(.md5, rounds: 0, order: .saltFirst),
            .pbkdf2(.sha256, rounds: 120_000), .bcrypt,
        ]
        user.passwordUpdatedAt = 2
        user.usesEmailLink = true
        user.usesCustomToken = true
        var identity = ProviderIdentity(provider: "google.com", rawID: "7")
        identity.email = "a@gmail.com"
        identity.screenName = "ada"
        user.identities = [identity, ProviderIdentity(provider: "apple.com", rawID: "8")]
        user.secondFactors = [
            SecondFactor(id: "1", displayName: "work", enrolledAt: 3, kind: .phone("+441")),
            SecondFactor(id: "2", displayName: nil, enrolledAt: 4, kind: .authenticator(secret: [9], lastPeriod: 5)),
        ]
        user.claims = #"{"admin":true}"#
        user.initialEmail = "old@example.com"
        user.lastSignInAt = 6
        user.lastRefreshAt = 7
        user.validSince = 8
        user.recoveryEmail = "lost@example.com"
        user.recoverySince = 9
        user.isRecoveryVerified = true
        user.signInGeneration = 10
        for scheme in schemes {
            user.password = PasswordHash(scheme: scheme, hash: [1, 2, 3], salt: [4])
            #expect(try UserRecord(uid: "ada", stored: user.stored) == user)
        }
        #expect(throws: DecodingFailure.self) { try UserRecord(uid: "ada", stored: [200]) }
    }

    @Test(arguments: [
        OneTimeCode.Purpose.mail(MailAction(.passwordReset, email: "ada@example.com", uid: "ada")),
        .phone(PhoneChallenge(phoneNumber: "+441", for: .signIn, proof: [1], failures: 2, code: "123456")),
        .phone(PhoneChallenge(phoneNumber: "+441", for: .enrollment(uid: "ada"), proof: [1])),
        .phone(PhoneChallenge(phoneNumber: "+441", for: .secondFactor(uid: "ada"), proof: [1])), .phoneProof("+441"),
        .secondFactor(SignInSession(uid: "ada", provider: "password", signedInAt: 3)),
        .authenticator(uid: "ada", secret: [4]),
    ]) func everyFieldOfACodeSurvivesStoring(purpose: OneTimeCode.Purpose) throws {
        for generation in [0, 7] as [Int64] {
            let code = OneTimeCode(purpose, createdAt: 5, expires: 6, text: "x", signInGeneration: generation)
            #expect(try OneTimeCode(stored: code.stored) == code)
        }
    }

    @Test func aPhonesCodeOfAnEarlierVersionIsForSignIns() throws {
        var writer = ByteWriter(reservingCapacity: 64)
        writer.write(signed: 5)
        writer.write(signed: 6)
        writer.write(byte: 0)
        writer.write(byte: 1)
        writer.write("+441")
        writer.write(blob: [1])
        writer.write(byte: 2)
        writer.write(byte: 0)
        let challenge = PhoneChallenge(phoneNumber: "+441", for: .signIn, proof: [1], failures: 2)
        #expect(try OneTimeCode(stored: writer.bytes) == OneTimeCode(.phone(challenge), createdAt: 5, expires: 6))
    }

    @Test(arguments: EngineKind.allCases) func aUserIsFoundByEachOfItsIDs(kind: EngineKind) async throws {
        try await withUsers(kind) { users, pipeline in
            var user = Self.user("ada", email: "ada@example.com")
            user.phoneNumber = "+49151"
            var identity = ProviderIdentity(provider: "google.com", rawID: "7")
            identity.email = "a@gmail.com"
            user.identities = [identity]
            let (added, changed) = (
                user,
                { () -> UserRecord in
                    var changed = user
                    changed.email = "new@example.com"
                    changed.phoneNumber = nil
                    changed.identities = []
                    return changed
                }()
            )
            try await users.commit { try $0.insert(added) }
            try await users.read { (users: UserSnapshot) throws in
                #expect(try users.user("ada") == added)
                #expect(try users.user(email: "ada@example.com") == added)
                #expect(try users.user(phoneNumber: "+49151") == added)
                #expect(try users.user(provider: "google.com", rawID: "7") == added)
                #expect(try users.users(withEmail: "a@gmail.com") == [added])
            }
            try await users.commit { try $0.update(changed) }
            try await users.read { (users: UserSnapshot) throws in
                #expect(try users.user(email: "ada@example.com") == nil)
                #expect(try users.user(email: "new@example.com") == changed)
                #expect(try users.user(phoneNumber: "+49151") == nil)
                #expect(try users.user(provider: "google.com", rawID: "7") == nil)
                #expect(try users.users(withEmail: "a@gmail.com").isEmpty)
            }
            #expect(try problems(pipeline) == [])
        }
    }

    /// One of many concurrent sign-ups of an address wins, and the others change nothing.
    @Test(arguments: EngineKind.allCases) func anAddressBelongsToOneUser(kind: EngineKind) async throws {
        try await withUsers(kind) { users, pipeline in
            let won = try await withThrowingTaskGroup(of: Bool.self) { group in
                for n in 0..<50 {
                    group.addTask {
                        do {
                            try await users.commit { try $0.insert(Self.user("u\(n)", email: "ada@example.com")) }
                            return true
                        } catch UserConflict.emailExists {
                            return false
                        }
                    }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(won == 1)
            #expect(try await users.read { try $0.userCount() } == 1)
            #expect(try problems(pipeline) == [])
        }
    }

    @Test(arguments: EngineKind.allCases) func aDeletedUserLeavesNothing(kind: EngineKind) async throws {
        try await withUsers(kind) { users, pipeline in
            try await users.commit { transaction in
                try transaction.insert(Self.user("ada", email: "ada@example.com"))
                for n in UInt8(0)..<5 {
                    let session = SignInSession(uid: "ada", provider: "password", signedInAt: 1)
                    try transaction.insert(
                        RefreshToken(session: session, issuedAt: Int64(n), family: [n], origin: []),
                        hash: [UInt8](repeating: n, count: 32))
                }
            }
            #expect(try problems(pipeline) == [])
            try await users.commit { (transaction: UserTransaction) throws in #expect(try transaction.delete("ada")) }
            let rows = try pipeline.engine.makeReadSession().read { try $0.count(.users, .all) }
            #expect(rows == 0)
            #expect(try await users.commit { try $0.delete("ada") } == false)
        }
    }

    @Test func aUserKeepsTheTokensOfTheLastSignIns() async throws {
        try await withUsers(.memory) { users, pipeline in
            try await users.commit { try $0.insert(Self.user("ada")) }
            func hash(_ n: Int) -> [UInt8] { Array(SHA256.hash(data: Data("\(n)".utf8))) }
            let count = UserTransaction.maxRefreshTokens + 3
            for n in 0..<count {
                let hash = hash(n)
                try await users.commit { transaction in
                    let session = SignInSession(uid: "ada", provider: "custom", signedInAt: Int64(n))
                    try transaction.insert(
                        RefreshToken(session: session, issuedAt: Int64(n), family: hash, origin: []), hash: hash)
                }
            }
            let (gone, kept, last) = (hash(2), hash(3), hash(count - 1))
            try await users.read { (users: UserSnapshot) throws in
                #expect(try users.refreshToken(gone) == nil)
                #expect(try users.refreshToken(kept) != nil)
                #expect(try users.refreshToken(last) != nil)
            }
            #expect(try problems(pipeline) == [])
        }
    }

    /// A token that is used from another address than before gets a successor, which has its time of issue.
    @Test func theOldestSignInGoesOnFromAnotherNetwork() async throws {
        try await withUsers(.memory) { users, pipeline in
            func hash(_ n: Int) -> [UInt8] { Array(SHA256.hash(data: Data("\(n)".utf8))) }
            func token(_ n: Int, after predecessor: [UInt8]? = nil) -> RefreshToken {
                RefreshToken(
                    session: SignInSession(uid: "ada", provider: "custom", signedInAt: Int64(n)), issuedAt: Int64(n),
                    family: hash(n), origin: [], predecessor: predecessor)
            }
            let count = UserTransaction.maxRefreshTokens
            let tokens = (0..<count).map { (token($0), hash($0)) }
            try await users.commit { transaction in
                try transaction.insert(Self.user("ada"))
                for (token, hash) in tokens { try transaction.insert(token, hash: hash) }
            }
            let (oldest, second, successor) = (hash(0), hash(1), hash(count))
            let moved = token(0, after: oldest)
            try await users.commit { try $0.insert(moved, hash: successor) }
            try await users.read { (users: UserSnapshot) throws in
                #expect(try users.refreshToken(oldest) != nil)
                #expect(try users.refreshToken(successor) != nil)
                #expect(try users.refreshToken(second) == nil)
            }
            #expect(try problems(pipeline) == [])
        }
    }

    @Test(arguments: EngineKind.allCases) func aRefusedChangeLeavesNoTrace(kind: EngineKind) async throws {
        struct Refusal: Error {}
        try await withUsers(kind) { users, pipeline in
            await #expect(throws: Refusal.self) {
                try await users.commit { transaction in
                    try transaction.insert(Self.user("ada"))
                    throw Refusal()
                }
            }
            #expect(try await users.read { try $0.user("ada") } == nil)
            let rows = try pipeline.engine.makeReadSession().read { try $0.count(.users, .all) }
            #expect(rows == 0)
        }
    }

    @Test func aSignUpAndItsEventAreOneCommit() async throws {
        try await withUsers(.sqlite) { users, pipeline in
            pipeline.outbox.routes = EventRoutes(events: [
                .init(function: "welcome", type: UserEvent.created),
                .init(function: "farewell", type: UserEvent.deleted),
            ])
            try await users.commit { try $0.insert(Self.user("ada", email: "ada@example.com")) }
            #expect(try await pipeline.outbox.pendingCount(of: "welcome") == 1)
            #expect(try await pipeline.outbox.pendingCount(of: "farewell") == 0)
            try await users.commit { _ = try $0.delete("ada") }
            #expect(try await pipeline.outbox.pendingCount(of: "farewell") == 1)
            let due = try await pipeline.outbox.dueDeliveries(
                of: "welcome", at: Timestamp(seconds: 2_000_000, nanoseconds: 0), except: [], limit: 10,
                maxBytes: 1 << 20)
            let event = try Event(decoding: try #require(due.deliveries.first).event)
            guard case .custom(let cloud) = event.content else {
                Issue.record("another kind of event")
                return
            }
            #expect(cloud.subject == "users/ada")
            #expect(cloud.source == "//firebaseauth.googleapis.com/projects/demo-shop")
            #expect(String(decoding: cloud.data, as: UTF8.self).contains(#""email":"ada@example.com""#))
        }
    }

    @Test func theCheckFindsDamage() async throws {
        try await withUsers(.sqlite) { users, pipeline in
            try await users.commit { try $0.insert(Self.user("ada", email: "ada@example.com")) }
            try pipeline.engine.write { storage in
                try storage.delete(.users, UserKeys.email("ada@example.com"))
                try storage.put(.users, UserKeys.email("bob@example.com"), Array("bob".utf8))
                try storage.put(.users, UserKeys.code([UInt8](repeating: 1, count: 32)), [9])
                try storage.put(.users, [99], [])
            }
            let problems = try problems(pipeline)
            #expect(problems.count == 4)
            #expect(problems.contains("the user ada isn't found by an email address"))
            #expect(problems.contains("an email address leads to the user bob, who doesn't exist"))
            #expect(!problems.joined().contains("example.com"))
        }
    }

    /// Earlier versions removed the codes of mails when they expired.
    @Test func aMailsCodeOfAnEarlierVersionIsDeletedWhole() async throws {
        try await withUsers(.sqlite) { users, pipeline in
            let hash = [UInt8](repeating: 1, count: 32)
            let action = MailAction(.verifyEmail, email: "ada@example.com", uid: "ada")
            let code = OneTimeCode(.mail(action), createdAt: 0, expires: Self.start + 100)
            try pipeline.engine.write { storage in
                try storage.put(.users, UserKeys.code(hash), code.stored)
                try storage.put(.users, UserKeys.expiry(hash, at: code.expires), [])
            }
            #expect(try problems(pipeline) == [])
            try await users.commit { $0.delete(code, hash: hash) }
            #expect(try problems(pipeline) == [])
        }
    }

    @Test func expiredCodesAndOldAttemptsAreRemoved() async throws {
        let clock = ManualClock()
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let engine = try EngineKind.sqlite.make(in: directory)
        let pipeline = try CommitPipeline(
            engine: engine, now: { Timestamp(seconds: 1_000_000 + clock.seconds, nanoseconds: 0) },
            elapsed: { .seconds(clock.seconds) })
        let users = try UserStore(on: pipeline, project: "demo-shop")
        try pipeline.start()
        let (short, long) = ([UInt8](repeating: 1, count: 32), [UInt8](repeating: 2, count: 32))
        let (mailed, texted) = ([UInt8](repeating: 3, count: 32), [UInt8](repeating: 4, count: 32))
        try await users.commit { transaction in
            transaction.insert(OneTimeCode(.phoneProof("+1"), createdAt: 0, expires: 1_000_100), hash: short)
            transaction.insert(OneTimeCode(.phoneProof("+1"), createdAt: 0, expires: 1_000_900), hash: long)
            let action = MailAction(.verifyEmail, email: "ada@example.com", uid: "ada")
            transaction.insert(OneTimeCode(.mail(action), createdAt: 0, expires: 1_000_100), hash: mailed)
            let challenge = PhoneChallenge(phoneNumber: "+1", for: .signIn, proof: [1])
            transaction.insert(OneTimeCode(.phone(challenge), createdAt: 0, expires: 1_000_100), hash: texted)
            transaction.setAttempts(FailedAttempts(count: 3, lastAt: 1_000_000), of: "ada")
            // Sign-in may have been switched off since.
            let text = TextContent(phoneNumber: "+1", code: "1", language: "en")
            try transaction.store(
                OutgoingMessage(id: [1], .text(text), createdAt: 1_000_000_000, expires: 1_000_600), subject: short)
        }
        clock.advance(by: 200)
        try await users.commit { _ in }
        try await users.read { (users: UserSnapshot) throws in
            #expect(try users.code(short) == nil)
            #expect(try users.code(long) != nil)
            #expect(try users.code(mailed) != nil, "who follows an old link learns that it has expired")
            #expect(try users.code(texted) != nil, "who types an old code learns that it has expired")
            #expect(try users.attempts("ada")?.count == 3)
            #expect(try users.waitingMessages() == 1)
        }
        clock.advance(by: 31 * 86_400)
        try await users.commit { _ in }
        #expect(try engine.makeReadSession().read { try $0.count(.users, .all) } == 0)
        await pipeline.shutdown()
        try engine.close()
    }

    /// Any commit removes what was left to lie.
    @Test(arguments: [UserKeys.stored(count: 1), [255]])
    func aDamagedMessageThatWasLeftFailsNoCommit(count: [UInt8]) async throws {
        let engine = MemoryEngine()
        let subject = [UInt8](repeating: 1, count: 32)
        try engine.write { storage in
            try storage.put(.users, UserKeys.message(subject), [200])
            try storage.put(.users, UserKeys.messageDue(subject, .text, at: Self.start - 3 * 86_400), [])
            try storage.put(.users, UserKeys.waitingMessages, count)
        }
        let pipeline = try CommitPipeline(engine: engine, now: { Timestamp(seconds: Self.start, nanoseconds: 0) })
        let users = try UserStore(on: pipeline, project: "demo-shop")
        try pipeline.start()
        try await users.commit { try $0.insert(Self.user("ada")) }
        try await users.read { (users: UserSnapshot) throws in
            #expect(try users.user("ada") != nil)
            #expect(try users.message(subject) == nil)
            #expect(try users.waitingMessages() == 0)
        }
        #expect(try problems(pipeline) == [])
        await pipeline.shutdown()
    }

    /// Such a message keeps the row that says when it is due, and is counted: so it goes once it can be read.
    @Test(arguments: [StorageError.Kind.damaged, .unavailable])
    func messagesThatWereLeftGoBesideOneThatCannotBeRead(kind: StorageError.Kind) async throws {
        let engine = UnreadRows()
        let (first, second) = ([UInt8](repeating: 1, count: 32), [UInt8](repeating: 2, count: 32))
        try engine.write { try Self.putLeft([first, second], in: $0) }
        engine.errors.withLock { $0[UserKeys.message(second)] = StorageError(kind, "the page can't be read") }
        let pipeline = try CommitPipeline(engine: engine, now: { Timestamp(seconds: Self.start, nanoseconds: 0) })
        let users = try UserStore(on: pipeline, project: "demo-shop")
        try pipeline.start()
        for uid in ["ada", "bob"] { try await users.commit { try $0.insert(Self.user(uid)) } }
        engine.errors.withLock { $0 = [:] }
        try await users.read { (users: UserSnapshot) throws in
            #expect(try users.user("bob") != nil)
            #expect(try users.message(first) == nil)
            #expect(try users.message(second) != nil)
            #expect(try users.waitingMessages() == 1)
        }
        #expect(try problems(pipeline) == [])
        await pipeline.shutdown()
    }

    /// Stores messages that were due long ago.
    private static func putLeft(_ subjects: [[UInt8]], in storage: any StorageWriter) throws {
        let time = start - 3 * 86_400
        let message = OutgoingMessage(
            id: [1], .text(TextContent(phoneNumber: "+1", code: "1", language: "en")), createdAt: time * 1000,
            expires: time + 600)
        for subject in subjects {
            try storage.put(.users, UserKeys.message(subject), message.stored)
            try storage.put(.users, UserKeys.messageDue(subject, .text, at: message.due), [])
        }
        try storage.put(.users, UserKeys.waitingMessages, UserKeys.stored(count: subjects.count))
    }

    /// Otherwise all messages would wait for it.
    @Test func aMessageThatTheEngineFindsDamagedIsNoLongerDue() async throws {
        let engine = UnreadRows()
        let subject = [UInt8](repeating: 1, count: 32)
        let pipeline = try CommitPipeline(engine: engine, now: { Timestamp(seconds: Self.start, nanoseconds: 0) })
        let users = try UserStore(on: pipeline, project: "demo-shop")
        try pipeline.start()
        let message = OutgoingMessage(
            id: [1], .text(TextContent(phoneNumber: "+1", code: "1", language: "en")), createdAt: Self.start * 1000,
            expires: Self.start + 600)
        try await users.commit { try $0.store(message, subject: subject) }
        engine.errors.withLock { $0[UserKeys.message(subject)] = StorageError(.damaged, "the page can't be read") }
        let isDamaged = try await users.commit { transaction in
            guard try transaction.readableMessage(subject) == nil else { return false }
            return try transaction.repairDue(subject, message.lane, at: message.due)
        }
        #expect(isDamaged)
        try await users.read { (users: UserSnapshot) throws in
            #expect(try users.nextMessageTime([message.lane]) == nil)
            #expect(try users.waitingMessages() == 0)
        }
        await pipeline.shutdown()
    }

    /// So it is an error of its own in a batch of users.
    @Test func aUserWhomTheEngineFindsDamagedIsOneWhoCannotBeRead() async throws {
        let engine = UnreadRows()
        let pipeline = try CommitPipeline(engine: engine, now: { Timestamp(seconds: Self.start, nanoseconds: 0) })
        let users = try UserStore(on: pipeline, project: "demo-shop")
        try pipeline.start()
        for uid in ["ada", "bob"] { try await users.commit { try $0.insert(Self.user(uid)) } }
        engine.errors.withLock { $0[UserKeys.user("ada")] = StorageError(.damaged, "the page can't be read") }
        let damaged = try await users.commit { transaction in
            var uids: [String] = []
            for uid in ["ada", "bob"] {
                do { try transaction.delete(uid) } catch is DecodingFailure { uids.append(uid) }
            }
            return uids
        }
        #expect(damaged == ["ada"])
        #expect(try await users.read { try $0.user("bob") } == nil)
        await pipeline.shutdown()
    }

    @Test func oldAttemptsGoBesideOneThatCannotBeRead() async throws {
        let engine = UnreadRows()
        try engine.write { storage in
            for subject in ["ada", "bob"] {
                try storage.put(.users, UserKeys.attempts(subject), FailedAttempts(count: 3, lastAt: 0).stored)
            }
        }
        let error = StorageError(.damaged, "the page can't be read")
        engine.errors.withLock { $0[UserKeys.attempts("ada")] = error }
        let pipeline = try CommitPipeline(
            engine: engine, now: { Timestamp(seconds: Self.start + 365 * 86_400, nanoseconds: 0) })
        let users = try UserStore(on: pipeline, project: "demo-shop")
        try pipeline.start()
        try await users.commit { try $0.insert(Self.user("ada")) }
        #expect(try await users.read { try $0.attempts("bob") } == nil)
        await #expect(throws: error) { try await users.read { try $0.attempts("ada") } }
        await pipeline.shutdown()
    }

    @Test func usersAreVisitedBesideOneWhoCannotBeRead() async throws {
        let engine = MemoryEngine()
        let pipeline = try CommitPipeline(
            engine: engine, now: { Timestamp(seconds: Self.start, nanoseconds: 0) })
        let users = try UserStore(on: pipeline, project: "demo-shop")
        try pipeline.start()
        for uid in ["ada", "bob", "eve"] { try await users.commit { try $0.insert(Self.user(uid)) } }
        try engine.write { try $0.put(.users, UserKeys.user("bob"), [255]) }
        var (visited, damaged) = ([String](), [String]())
        try engine.makeReadSession().read { storage in
            try UserSnapshot(storage).eachUser {
                visited.append($0.uid)
            } damaged: { uid, _ in
                damaged.append(uid)
            }
        }
        #expect(visited == ["ada", "eve"])
        #expect(damaged == ["bob"])
        await pipeline.shutdown()
    }

    /// An operation on many users would not say which of them it is.
    @Test func aUserWhoCannotBeReadIsNamed() async throws {
        let engine = MemoryEngine()
        let pipeline = try CommitPipeline(
            engine: engine, now: { Timestamp(seconds: Self.start, nanoseconds: 0) })
        let users = try UserStore(on: pipeline, project: "demo-shop")
        try pipeline.start()
        try await users.commit { try $0.insert(Self.user("bob", email: "bob@example.com")) }
        try engine.write { try $0.put(.users, UserKeys.user("bob"), [255]) }
        let byUID = await #expect(throws: DocumentError.self) { _ = try await users.read { try $0.user("bob") } }
        let byEmail = await #expect(throws: DocumentError.self) {
            _ = try await users.read { try $0.user(email: "bob@example.com") }
        }
        let change = await #expect(throws: DocumentError.self) { _ = try await users.commit { try $0.delete("bob") } }
        for error in [byUID, byEmail, change] {
            #expect(error?.code == .dataLoss)
            #expect(error?.message.hasPrefix("a stored user can't be read, the store is damaged: uid bob: ") == true)
        }
        await pipeline.shutdown()
    }

    @Test func noCommitFailsForExpiredRowsThatCannotBeRead() async throws {
        let damaged = Mutex<[String]>([])
        var configuration = CommitConfiguration()
        configuration.onDamage = { work, _ in damaged.withLock { $0.append(work) } }
        let pipeline = try CommitPipeline(
            engine: DamagedRemains(.users), now: { Timestamp(seconds: Self.start, nanoseconds: 0) },
            configuration: configuration)
        let users = try UserStore(on: pipeline, project: "demo-shop")
        try pipeline.start()
        for uid in ["ada", "bob"] { try await users.commit { try $0.insert(Self.user(uid)) } }
        #expect(try await users.read { try $0.user("bob") } != nil)
        await pipeline.shutdown()
        // Damage to one kind of rows doesn't stop the removal of others.
        let rows = ["codes", "consumed tokens", "messages"]
        #expect(damaged.withLock { $0 } == rows.map { "removing old \($0) of users" })
    }

    /// The batch that meets them can't be kept on SQLite, and those that follow don't meet them.
    @Test func fewBatchesMeetExpiredRowsThatCannotBeReadForTheMoment() async throws {
        let pipeline = try CommitPipeline(
            engine: DamagedRemains(.users, .unavailable), now: { Timestamp(seconds: Self.start, nanoseconds: 0) },
            elapsed: { .zero })
        let users = try UserStore(on: pipeline, project: "demo-shop")
        try pipeline.start()
        // In the first batch, unless that had no jobs.
        _ = try? await users.commit { try $0.insert(Self.user("ada")) }
        for uid in ["bob", "eve"] { try await users.commit { try $0.insert(Self.user(uid)) } }
        #expect(try await users.read { try $0.user("eve") } != nil)
        await pipeline.shutdown()
    }

    @Test func everyFieldOfAMessageSurvivesStoring() throws {
        let mail = MailContent(
            .verifyAndChangeEmail, to: "new@example.com", link: "https://x", email: "a@example.com",
            newEmail: "new@example.com", displayName: "Ada", language: "de")
        for content in [
            OutgoingMessage.Content.mail(mail), .text(TextContent(phoneNumber: "+1", code: "012345", language: "en")),
        ] {
            var message = OutgoingMessage(id: [1, 2], content, createdAt: 5_000, expires: 9)
            message.attempts = 3
            message.due = 7
            #expect(try OutgoingMessage(stored: message.stored) == message)
            message.content = nil
            #expect(try OutgoingMessage(stored: message.stored) == message)
        }
        #expect(throws: DecodingFailure.self) { try OutgoingMessage(stored: [200]) }
    }

    @Test(arguments: EngineKind.allCases) func messagesAreDueInOrderAndCounted(kind: EngineKind) async throws {
        try await withUsers(kind) { users, pipeline in
            @Sendable func message(_ due: Int64) -> OutgoingMessage {
                var message = OutgoingMessage(
                    id: [1], .text(TextContent(phoneNumber: "+1", code: "1", language: "en")), createdAt: 0, expires: 9)
                message.due = Self.start + due
                return message
            }
            let subjects = (1...3).map { [UInt8](repeating: $0, count: 32) }
            try await users.commit { transaction in
                for (subject, due) in zip(subjects, [30, 10, 20]) {
                    try transaction.store(message(Int64(due)), subject: subject)
                }
                #expect(try transaction.waitingMessages() == 3)
                // Another time replaces the earlier one.
                try transaction.store(message(5), subject: subjects[0])
                #expect(try transaction.waitingMessages() == 3)
                #expect(
                    try transaction.dueMessages(.text, at: Self.start + 10, limit: 9).map(\.subject) == [
                        subjects[0], subjects[1],
                    ])
            }
            #expect(try problems(pipeline) == [])
            try await users.commit { transaction in
                var settled = message(40)
                settled.content = nil
                try transaction.store(settled, subject: subjects[1])
                try transaction.deleteMessage(subjects[2])
                try transaction.deleteMessage(subjects[2])
                #expect(try transaction.waitingMessages() == 1)
                #expect(try transaction.nextMessageTime([.mail, .text]) == Self.start + 5)
                #expect(
                    try transaction.dueMessages(.text, at: Self.start + 100, limit: 1).map(\.subject) == [subjects[0]])
            }
            #expect(try problems(pipeline) == [])
            try await users.commit { transaction in
                for subject in subjects { try transaction.deleteMessage(subject) }
            }
            #expect(try await users.read { try $0.keys(startingWith: [], limit: 9) } == [])
        }
    }

    @Test func dueRowsOfEarlierVersionsAreRepaired() async throws {
        try await withUsers(.sqlite) { users, pipeline in
            let (text, none) = ([UInt8](repeating: 1, count: 32), [UInt8](repeating: 2, count: 32))
            try pipeline.engine.write { storage in
                // One lane had all.
                let message = OutgoingMessage(
                    id: [1], .text(TextContent(phoneNumber: "+1", code: "1", language: "en")), createdAt: 0, expires: 9)
                try storage.put(.users, UserKeys.message(text), message.stored)
                try storage.put(.users, UserKeys.waitingMessages, UserKeys.stored(count: 1))
                for subject in [text, none] {
                    try storage.put(.users, UserKeys.messageDue(subject, .mail, at: message.due), [])
                }
            }
            try await users.commit { transaction in
                for (subject, due) in try transaction.dueMessages(.mail, at: Self.start, limit: 9) {
                    try transaction.repairDue(subject, .mail, at: due)
                }
                #expect(try transaction.dueMessages(.mail, at: Self.start, limit: 9).isEmpty)
                #expect(try transaction.dueMessages(.text, at: Self.start, limit: 9).map(\.subject) == [text])
            }
            #expect(try problems(pipeline) == [])
        }
    }

    @Test func damagedMessagesAreFound() async throws {
        try await withUsers(.sqlite) { users, pipeline in
            try pipeline.engine.write { storage in
                let subject = [UInt8](repeating: 1, count: 32)
                let message = OutgoingMessage(
                    id: [1], .text(TextContent(phoneNumber: "+1", code: "1", language: "en")), createdAt: 0, expires: 9)
                try storage.put(.users, UserKeys.message(subject), message.stored)
                try storage.put(.users, UserKeys.messageDue([UInt8](repeating: 2, count: 32), .text, at: 4), [])
            }
            #expect(
                try Set(problems(pipeline)) == [
                    "a message would never be sent", "a message that is due is missing",
                    "1 messages wait to be sent, and 0 are counted",
                ])
        }
    }

    /// A file as the first version made it, which noted its migration under this name.
    @Test func theFileOfAnEarlierVersionIsMovedOnce() async throws {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let (token, count) = ("u0001.secret", 1234)
        let old = try SQLiteFile(directory.path + "/users.sqlite", migrations: [])
        try await old.write { connection in
            try connection.execute(
                """
                CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
                INSERT INTO grdb_migrations VALUES ('users and refresh tokens');
                CREATE TABLE users (
                    localId TEXT NOT NULL PRIMARY KEY, createdAt INTEGER NOT NULL, lastLoginAt INTEGER NOT NULL,
                    lastRefreshAt INTEGER NOT NULL, disabled INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
                CREATE TABLE refreshTokens (
                    hash BLOB NOT NULL PRIMARY KEY, localId TEXT NOT NULL REFERENCES users(localId) ON DELETE CASCADE,
                    signedInAt INTEGER NOT NULL) WITHOUT ROWID;
                CREATE INDEX refreshTokensOfUser ON refreshTokens(localId);
                """)
            for n in 0..<count {
                try connection.execute(
                    "INSERT INTO users VALUES (?, 1000, 2000, 3000, ?)",
                    .text("u" + String(repeating: "0", count: 4 - String(n).count) + String(n)),
                    .integer(n == 7 ? 1 : 0))
            }
            try connection.execute(
                "INSERT INTO refreshTokens VALUES (?, 'u0001', 1)", .blob(Array(SHA256.hash(data: Data(token.utf8)))))
        }
        try old.close()
        try await withUsers(.sqlite) { users, pipeline in
            let file = EarlierUsersFile(in: directory.path)
            // As if the process had died in the middle of the first attempt.
            try await users.commit { try $0.insert(Self.user("u0000")) }
            #expect(try await file.move(to: users) == count)
            #expect(try await file.move(to: users) == nil)
            #expect(!FileManager.default.fileExists(atPath: directory.path + "/users.sqlite"))
            try await users.read { (users: UserSnapshot) throws in
                #expect(try users.userCount() == count)
                let user = try #require(try users.user("u0001"))
                #expect((user.createdAt, user.lastSignInAt, user.lastRefreshAt) == (1000, 2000, 3000))
                #expect(try users.user("u0007")?.isDisabled == true)
                let stored = try users.refreshToken(Array(SHA256.hash(data: Data(token.utf8))))
                #expect(stored?.session == SignInSession(uid: "u0001", provider: "anonymous", signedInAt: 1))
            }
            #expect(try problems(pipeline) == [])
        }
    }
}

/// A clock that tests set.
private final class ManualClock: @unchecked Sendable {
    private let lock = NSLock()
    private var now: Int64 = 0

    var seconds: Int64 { lock.withLock { now } }
    func advance(by seconds: Int64) { lock.withLock { now += seconds } }
}
