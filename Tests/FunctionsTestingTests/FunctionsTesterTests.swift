import Foundation
import FunctionsRuntime
import FunctionsTesting
import Testing

@Suite struct FunctionsTesterTests {
    private let tester: FunctionsTester

    init() throws {
        tester = try FunctionsTester(
            EventFixtures(), startingAt: Timestamp(seconds: 1_767_323_045, nanoseconds: 0))
    }

    private func fields(_ path: String) async throws -> [String: Value]? {
        try await tester.firestore.document(path).getDocument().data()
    }

    @Test func whatACallCausesIsDelivered() async throws {
        let _: NoData = try await tester.call("buy", 500)
        #expect(try await fields("sales/all") == nil)
        let deliveries = try await tester.deliverAll()
        #expect(deliveries.map(\.function) == ["recordSale", "sendReceipt", "thank", "audit"])
        #expect(deliveries.allSatisfy { $0.outcome == .succeeded && $0.attempt == 1 })
        #expect(try await fields("sales/all") == ["amount": .integer(500)])
        #expect(try await fields("receipts/o1") == ["task": .string("receipt-o1"), "retries": .integer(0)])
        #expect(try await fields("thanks/o1")?.keys.first == "at")
        #expect(try await fields("audits/o1")?.keys.first == "id")
        #expect(try await tester.deliverAll().isEmpty)
    }

    @Test func failedCallCausesNothing() async throws {
        await #expect(throws: HttpsError.self) {
            let _: NoData = try await tester.call("buy", 0)
        }
        #expect(try await tester.deliverAll().isEmpty)
    }

    @Test func failedTryIsDueAgainAfterItsPause() async throws {
        try await tester.firestore.document("flaky/a").setData(["fails": 3])
        var outcomes = try await tester.deliverAll(toleratingFailures: true)
        #expect(try await tester.deliverAll().isEmpty)
        #expect(try await tester.advance(by: .milliseconds(500)).isEmpty)
        outcomes += try await tester.advance(by: .seconds(30), toleratingFailures: true)
        #expect(outcomes.map(\.attempt) == [1, 2, 3, 4])
        #expect(Set(outcomes.map(\.eventID)).count == 1)
        #expect(outcomes.last?.outcome == .succeeded)
        // Delays of 1 s, 2 s and 3 s, each after the previous attempt.
        let times = outcomes.compactMap { if case .retried(let time) = $0.outcome { time } else { nil } }
        let pauses = zip(times, times.dropFirst()).map { $1.microseconds - $0.microseconds }
        #expect(pauses.count == 2)
        #expect((2_000_000..<2_001_000).contains(pauses.first ?? 0))
        #expect((3_000_000..<3_001_000).contains(pauses.last ?? 0))
        #expect(try await tester.deadLetters().isEmpty)
    }

    @Test func timeStandsStillButForTheTest() async throws {
        let time = tester.now
        #expect(time.seconds == 1_767_323_045)
        try await tester.advance(by: .seconds(86_400))
        let document = tester.firestore.document("orders/o")
        try await document.setData(["n": 1])
        let written = try #require(try await document.getDocument().updateTime)
        #expect(written.seconds == 1_767_323_045 + 86_400)
        // A committed change is immediately in the past.
        let seen = try await tester.firestore.runTransaction(.readOnly(at: written)) { transaction in
            try await transaction.getDocument(transaction.firestore.document("orders/o")).exists
        }
        #expect(seen)
    }

    @Test func triesEndWithADeadLetter() async throws {
        try await tester.firestore.document("flaky/a").setData(["fails": 9])
        let error = await #expect(throws: TestDeliveryError.self) { try await tester.advance(by: .seconds(60)) }
        #expect(error?.failures.map(\.attempt) == [1, 2, 3, 4])
        #expect(error?.failures.last?.outcome == .dead)
        #expect(error?.description.contains("failed for the last time, was dead-lettered: UNAVAILABLE: try 4") ?? false)
        let letters = try await tester.deadLetters()
        #expect(letters.map(\.function) == ["flaky"])
        #expect(letters.map(\.attempts) == [4])
        #expect(letters.map(\.error) == ["UNAVAILABLE: try 4"])
    }

    @Test func aTreeIsDeletedAndItsCollectionsAreListed() async throws {
        let firestore = tester.firestore
        for number in 0..<600 { try await firestore.document("trees/a/leaves/l\(number)").setData([:]) }
        // Documents that don't exist have collections too.
        for path in ["trees/a/twigs/t/leaves/l", "trees/b", "forests/f/trees/t"] {
            try await firestore.document(path).setData([:])
        }
        #expect(try await firestore.listCollections().map(\.path) == ["forests", "trees"])
        let tree = firestore.document("trees/a")
        #expect(try await tree.listCollections().map(\.path) == ["trees/a/leaves", "trees/a/twigs"])
        let trees = try await firestore.collection("trees").listDocuments()
        #expect(trees == [tree, firestore.document("trees/b")])
        #expect(try await trees[0].getDocument().exists == false)
        // More than a page.
        let leaves = firestore.collection("trees/a/leaves")
        for number in 600..<1001 { try await leaves.document("l\(number)").setData([:]) }
        let listed = try await leaves.listDocuments().map(\.documentID)
        #expect(listed == (0..<1001).map { "l\($0)" }.sorted())
        try await firestore.recursiveDelete(tree)
        #expect(try await tree.listCollections().isEmpty)
        #expect(try await firestore.collection("trees").getDocuments().map(\.documentID) == ["b"])
        try await firestore.recursiveDelete(firestore.collection("trees"))

        // Failures of the caller's own writes stay with its writer.
        let (writer, kept) = (firestore.bulkWriter(), firestore.document("kept/a"))
        try await kept.setData([:])
        try await writer.create([:], forDocument: kept)
        try await firestore.recursiveDelete(tree, bulkWriter: writer)
        #expect(await writer.close().map(\.error.code) == [.alreadyExists])
        try await kept.delete()
        #expect(try await firestore.listCollections().map(\.path) == ["forests"])
        await #expect(throws: DocumentError.self) { try await firestore.recursiveDelete(firestore.document("odd")) }
    }

    /// The caller has not asked for its failures yet.
    @Test func anEarlierWriteThatFailedIsNoFailureOfADeletion() async throws {
        let firestore = tester.firestore
        let (writer, kept) = (firestore.bulkWriter(), firestore.document("kept/a"))
        try await kept.setData([:])
        try await writer.create([:], forDocument: kept)
        try await firestore.recursiveDelete(firestore.collection("kept"), bulkWriter: writer)
        try await kept.setData([:])
        try await writer.create([:], forDocument: kept)
        try await firestore.recursiveDelete(kept, bulkWriter: writer)
        #expect(await writer.close().map(\.error.code) == [.alreadyExists, .alreadyExists])
        #expect(try await kept.getDocument().exists == false)
    }

    @Test func aPermanentFailureIsADeadLetterAtOnce() async throws {
        try await tester.firestore.document("unmendable/a").setData([:])
        #expect(try await tester.deliverAll(toleratingFailures: true).map(\.outcome) == [.dead])
        #expect(try await tester.deadLetters().map(\.error) == ["INTERNAL: The order has no customer."])
    }

    @Test func anEventThatDoesNotDecodeIsADeadLetterAtOnce() async throws {
        try await tester.firestore.document("undecodable/a").setData(["id": 1])
        #expect(try await tester.deliverAll(toleratingFailures: true).map(\.outcome) == [.dead])
        #expect(
            try await tester.deadLetters().map(\.error) == [
                "INTERNAL: undecodable/a.id: expected a string, found an integer"
            ])
    }

    @Test func failureWithoutRetryIsDroppedAndLeavesNoTrace() async throws {
        try await tester.firestore.document("fails/a").setData(["n": 1])
        let outcomes = try await tester.deliverAll(toleratingFailures: true)
        #expect(outcomes.map(\.function) == ["fails", "failsInTransaction"])
        #expect(outcomes.first?.outcome == .dropped)
        #expect(try await fields("traces/t") == nil)
        #expect(try await tester.deadLetters().isEmpty)
        // The other one is retried, and what it would have enqueued doesn't exist.
        #expect(
            try await tester.advance(by: .seconds(11), toleratingFailures: true).map(\.function) == [
                "failsInTransaction"
            ])
    }

    @Test func taskIsDueAtItsTimeAndTriedAsItsQueueSays() async throws {
        try await tester.dispatch("sendReceipt", EventFixtures.Order(id: "o9"), retryCount: 2)
        #expect(try await fields("receipts/o9")?["retries"] == .integer(2))
        try await tester.taskQueue("sendReceipt").enqueue(
            EventFixtures.Order(id: "bad"), options: TaskOptions(scheduleDelay: .seconds(3600)))
        #expect(try await tester.advance(by: .seconds(3500)).isEmpty)
        let attempts = try await tester.advance(by: .seconds(200), toleratingFailures: true)
        #expect(attempts.map(\.attempt) == [1, 2])
        #expect(attempts.last?.outcome == .dead)
    }

    @Test func nameIsTakenOnceAndUnknownQueuesAreTold() async throws {
        let queue = tester.taskQueue("sendReceipt")
        let order = EventFixtures.Order(id: "o1")
        try await queue.enqueue(order, options: TaskOptions(id: "receipt-o1"))
        let again = await #expect(throws: DocumentError.self) {
            try await queue.enqueue(order, options: TaskOptions(id: "receipt-o1"))
        }
        #expect(again?.code == .alreadyExists)
        await #expect(throws: HttpsError.self) { let _: NoData = try await tester.call("buy", 500) }
        #expect(try await fields("orders/o1") == nil)
        let unknown = await #expect(throws: DocumentError.self) {
            try await tester.taskQueue("missing").enqueue(order)
        }
        #expect(unknown?.code == .notFound)
        #expect(try await tester.deliverAll().map(\.function) == ["sendReceipt"])
    }

    @Test func deletedTaskIsNotRunEvenByOneThatIsDueBesideIt() async throws {
        let queue = tester.taskQueue("sendReceipt")
        for id in ["o1", "o2", "o3"] {
            try await queue.enqueue(EventFixtures.Order(id: id), options: TaskOptions(id: "receipt-\(id)"))
        }
        try await queue.delete("receipt-o1")
        try await queue.delete("nothing")
        // Due at the same time as the tasks, and delivered before one of them.
        try await queue.enqueue(EventFixtures.Order(id: "cancels receipt-o5"))
        try await queue.enqueue(EventFixtures.Order(id: "o5"), options: TaskOptions(id: "receipt-o5"))
        #expect(try await tester.deliverAll().count == 3)
        #expect(try await fields("receipts/o2") != nil)
        #expect(try await fields("receipts/o1") == nil)
        #expect(try await fields("receipts/o5") == nil)
        let unknown = await #expect(throws: DocumentError.self) { try await tester.taskQueue("missing").delete("a") }
        #expect(unknown?.code == .notFound)
    }

    @Test func impossibleSchedulesAreToldAsAHostDoes() throws {
        struct Jobs: FunctionBundle {
            var functions: [Function] {
                onSchedule("monkey", schedule: "every banana") { _ in }
                onSchedule("martian", schedule: "every day 03:00", .timeZone("Mars")) { _ in }
            }
        }
        let error = #expect(throws: TestError.self) { try FunctionsTester(Jobs()) }
        #expect(error?.description.contains("\"monkey\": the schedule \"every banana\" is invalid") ?? false)
        #expect(error?.description.contains("\"martian\": \"Mars\" isn't a time zone") ?? false)
    }

    @Test func loopEndsWithADeadLetterThatNamesIt() async throws {
        try await tester.firestore.document("ping/p").setData(["n": 1])
        let deliveries = try await tester.deliverAll()
        #expect(deliveries.count == 16)
        let letters = try await tester.deadLetters()
        #expect(letters.count == 1)
        #expect(letters.first?.error.contains("ping → pong → ping") ?? false)
    }

    @Test func changesOfOneDocumentKeepTheirOrder() async throws {
        let line = tester.firestore.document("lines/l")
        try await line.setData(["n": 1, "stumbles": true])
        try await line.setData(["n": 2])
        try await line.setData(["n": 3])
        #expect(try await tester.deliverAll(toleratingFailures: true).map(\.attempt) == [1])
        try await tester.advance(by: .seconds(2))
        #expect(try await fields("seen/s") == ["n": .array([.integer(1), .integer(2), .integer(3)])])
    }

    @Test func eventsTellWhoChangedTheDocument() async throws {
        try await tester.firestore(as: .user("ada")).document("deeds/d1").setData(["n": 1])
        try await tester.deliverAll()
        #expect(
            try await fields("doers/d")
                == ["type": .string("app_user"), "id": .string("ada"), "params": .map(["id": .string("d1")])])
        try await tester.fire("whoDidIt", path: "deeds/d2", after: [:], auth: EventAuth(.system))
        #expect(
            try await fields("doers/d")
                == ["type": .string("system"), "id": .null, "params": .map(["id": .string("d2")])])
    }

    @Test func functionsAreHandedWhatATestMakesUp() async throws {
        let time = Timestamp(seconds: 5, nanoseconds: 0)
        try await tester.run("nightly", scheduleTime: time)
        #expect(try await fields("runs/nightly") == ["time": .timestamp(time)])
        let event = try CloudEvent(
            type: "shop.order.paid", source: "//shop", attributes: ["shop": "tokyo"],
            json: EventFixtures.Order(id: "o5"))
        #expect(try await tester.publish(event).map(\.function) == ["thank"])
        #expect(try await fields("thanks/o5") != nil)
        try await tester.publish(json: EventFixtures.Order(id: "o6"), to: "orders")
        #expect(try await fields("audits/o6") != nil)
        await #expect(throws: HttpsError.self) { try await tester.fire("fails", path: "fails/f", after: [:]) }
    }

    @Test func usersWhoComeAndGoAreReported() async throws {
        let user = UserRecord(
            uid: "ada", email: "ada@example.com", displayName: "Ada",
            metadata: UserMetadata(creationTime: Timestamp(seconds: 5, nanoseconds: 0)),
            providerData: [UserInfo(providerID: "google.com", uid: "7")], customClaims: ["admin": true])
        try await tester.fire("welcome", user: user)
        #expect(
            try await fields("profiles/ada")
                == ["name": .string("Ada"), "type": .string("google.firebase.auth.user.v1.created")])
        try await tester.fire("forget", user: user)
        #expect(try await fields("profiles/ada") == nil)
        let bytes = try JSONEncoder().encode(user)
        #expect(try JSONDecoder().decode(UserRecord.self, from: bytes) == user)
        await #expect(throws: TestError.self) { try await tester.fire("thank", user: user) }
    }

    @Test func functionsRefuseAndChangeWhoSignsIn() async throws {
        let user = UserRecord(uid: "ada", email: "ada@example.com")
        #expect(
            try await tester.beforeUserCreated("onlyCompany", user: user, signInMethod: "emailLink")
                == BeforeCreateResponse(displayName: "emailLink", customClaims: ["member": true]))
        let error = await #expect(throws: HttpsError.self) {
            try await tester.beforeUserCreated("onlyCompany", user: UserRecord(uid: "eve", email: "eve@evil.example"))
        }
        #expect(error?.code == .permissionDenied)
        #expect(error?.message == "Only for members of the company.")
        #expect(
            try await tester.beforeUserSignedIn("office", user: user)
                == BeforeSignInResponse(sessionClaims: ["ip": "127.0.0.1"]))
        try await tester.beforeEmailSent("noReset", email: "ada@example.com", emailType: "EMAIL_SIGN_IN")
        await #expect(throws: HttpsError.self) { try await tester.beforeEmailSent("noReset", email: "a@b.example") }
        await #expect(throws: TestError.self) { try await tester.beforeUserSignedIn("onlyCompany", user: user) }
    }

    @Test func blockingFunctionsSeeTheWholeUser() async throws {
        struct Onlooker: FunctionBundle {
            var functions: [Function] {
                beforeUserSignedIn("looks") { event in
                    let (times, provider) = (event.data.metadata, event.data.providerData.first)
                    return BeforeSignInResponse(
                        displayName: provider?.displayName, photoURL: provider?.photoURL,
                        sessionClaims: [
                            "email": .string(provider?.email ?? ""),
                            "times": .array([
                                .integer(times.creationTime?.seconds ?? 0),
                                .integer(times.lastSignInTime?.seconds ?? 0),
                            ]),
                        ])
                }
            }
        }
        let user = UserRecord(
            uid: "ada",
            metadata: UserMetadata(
                creationTime: Timestamp(seconds: 5, nanoseconds: 0),
                lastSignInTime: Timestamp(seconds: 7, nanoseconds: 0)),
            providerData: [
                UserInfo(
                    providerID: "google.com", uid: "7", email: "ada@example.com", displayName: "Ada",
                    photoURL: "https://example.com/ada.png")
            ])
        #expect(
            try await FunctionsTester(Onlooker()).beforeUserSignedIn("looks", user: user, signInMethod: "google.com")
                == BeforeSignInResponse(
                    displayName: "Ada", photoURL: "https://example.com/ada.png",
                    sessionClaims: ["email": "ada@example.com", "times": [5, 7]]))
    }

    @Test func whatCannotBeIsTold() async throws {
        await #expect(throws: TestError.self) { try await tester.fire("nightly", path: "a/b", after: [:]) }
        await #expect(throws: TestError.self) { try await tester.run("fails") }
        await #expect(throws: TestError.self) { try await tester.dispatch("fails", 1) }
        await #expect(throws: TestError.self) {
            try await tester.publish(CloudEvent(type: "shop.order.paid", source: "s"))
        }
        await #expect { try await tester.fire("fails", path: "other/f", after: [:]) } throws: {
            "\($0)".contains("the function handles documents fails/{id} created")
        }
    }
}
