import FunctionsRuntime
import FunctionsTesting
import Testing

@testable import ChatFunctions

@Suite struct LikesTests {
    private let chat: FunctionsTester
    private let request = Likes.Request(room: "lobby", message: "m")

    init() async throws {
        chat = try FunctionsTester(ChatFunctions())
        try await chat.database.reference(withPath: "rooms/lobby/messages/m").setValue(
            from: Message(text: "Hello", author: "bob", sent: 1))
    }

    private func call(_ name: String, _ request: Likes.Request? = nil, as uid: String? = "ada") async throws -> Bool {
        let answer: Likes.Answer = try await chat.call(
            name, request ?? self.request, as: uid.map { .user($0) })
        return answer.liked
    }

    private struct Counted: Equatable {
        /// In the tree.
        var count: Int?
        /// Of the documents.
        var users: [String] = []
    }

    private func likes() async throws -> Counted {
        let count = try await chat.database.reference(withPath: "rooms/lobby/likes/m").getData().value?.intValue
        let documents = try await chat.firestore.collection("rooms/lobby/messages/m/likes").getDocuments().documents
        return Counted(count: count, users: documents.map(\.documentID))
    }

    @Test func aUserCountsOnce() async throws {
        #expect(try await call("like"))
        #expect(try await call("like"))
        #expect(try await likes() == Counted(count: 1, users: ["ada"]))
        #expect(try await call("like", as: "bob"))
        #expect(try await likes() == Counted(count: 2, users: ["ada", "bob"]))
    }

    @Test func onlyALikeIsTakenBack() async throws {
        #expect(try await !call("unlike"))
        #expect(try await likes() == Counted())
        #expect(try await call("like", as: "bob"))
        #expect(try await call("like"))
        #expect(try await !call("unlike"))
        #expect(try await !call("unlike"))
        #expect(try await likes() == Counted(count: 1, users: ["bob"]))
        #expect(try await call("like"))
        #expect(try await likes() == Counted(count: 2, users: ["ada", "bob"]))
    }

    @Test func concurrentLikesOfAllUsersCount() async throws {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            // Each twice, as from two devices.
            for number in 0..<40 { group.addTask { try await call("like", as: "user\(number % 20)") } }
            for try await liked in group { #expect(liked) }
        }
        let likes = try await likes()
        #expect(likes.count == 20)
        #expect(likes.users.count == 20)
    }

    @Test func unauthenticatedCallersAreRefused() async throws {
        let error = await #expect(throws: HttpsError.self) { try await call("like", as: nil) }
        #expect(error?.code == .unauthenticated)
        #expect(try await likes() == Counted())
    }

    @Test(
        arguments: [
            ("lobby", "other", .notFound), ("other", "m", .notFound), ("lobby", "m/text", .invalidArgument),
            ("lobby", "", .invalidArgument), ("", "m", .invalidArgument), ("lobby/messages", "m", .invalidArgument),
            ("lobby", "a.b", .invalidArgument), ("lobby", "__m__", .invalidArgument),
            ("lobby", String(repeating: "m", count: 101), .invalidArgument),
        ] as [(String, String, FunctionsErrorCode)])
    func onlyMessagesAreLiked(room: String, message: String, code: FunctionsErrorCode) async throws {
        let error = await #expect(throws: HttpsError.self) {
            try await call("like", Likes.Request(room: room, message: message))
        }
        #expect(error?.code == code)
        #expect(try await !chat.database.reference(withPath: "rooms/lobby/likes").getData().exists())
    }
}
