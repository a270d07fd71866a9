import Foundation
import Synchronization
import TestSupport
import Testing

/// People sign up, change and leave while keys rotate and the host is killed again and again: nothing that was acknowledged
/// is lost, no token is refused, no user is without the event of being created, and no event is without its user.
///
/// `SOAK_SECONDS` makes the storm longer, `SOAK_SEED` repeats one.
@Suite struct SignInStormTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let seconds = environment["SOAK_SECONDS"].flatMap { Int($0) } ?? 6
    private static let people = 6

    @Test(.endsHangs(afterWorking: seconds))
    func killsLoseNoUserAndNoEvent() async throws {
        await HostSlots.take()
        defer { HostSlots.release() }
        let seed = Self.environment["SOAK_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0...999_999)
        print("the storm's seed is \(seed)")
        let host = try await MortalHost(
            [.fixture], extra: #""auth": { "signedTokens": true, "passwords": { "hashMiB": 1 } }"#)
        let storm = SignInStorm()
        let end = ContinuousClock.now + .seconds(Self.seconds)
        let (kills, after) = try await withThrowingTaskGroup(of: Person.self) { group in
            for number in 0..<Self.people {
                group.addTask {
                    var person = Person(host: host, number: number, seed: seed &+ UInt64(number) + 1)
                    while !storm.isOver || person.known.count < 2, !Task.isCancelled {
                        try await person.act()
                    }
                    return person
                }
            }
            var random = SeededGenerator(seed: seed)
            var kills = 0
            while ContinuousClock.now < end || kills == 0 {
                try await Bound.pause(milliseconds: Int64.random(in: 50...1000, using: &random))
                // The host dies in the midst of it, or the command finds it dead and rotates by itself.
                let rotation = Task { try? await Self.rotate(host) }
                try await Bound.pause(milliseconds: Int64.random(in: 0...300, using: &random))
                try await host.dieAndReturn { await rotation.value }
                kills += 1
            }
            storm.end()
            return (kills, try await group.reduce(into: []) { $0.append($1) })
        }
        try await host.settle()

        let users = try await Self.users(host.current)
        let (welcomes, farewells) = (try await Self.counts(host, "welcomes"), try await Self.counts(host, "farewells"))
        for (uid, expected) in after.reduce(into: [String: Person.Known](), { $0.merge($1.known) { $1 } }) {
            switch expected {
            case .named(let names): #expect(users[uid].map { names.contains($0) } == true, "\(uid): \(names)")
            case .deleted: #expect(users[uid] == nil, "\(uid) was deleted")
            case .unsure: break
            }
        }
        #expect(Set(welcomes.keys) == Set(users.keys).union(farewells.keys))
        #expect(Set(farewells.keys).isDisjoint(with: users.keys))
        #expect(welcomes.values.allSatisfy { $0 == 1 })
        #expect(farewells.values.allSatisfy { $0 == 1 })
        let checked = try await host.current.command(["data", "check"])
        #expect(checked.status == 0, "\(checked.output)")
        print("\(welcomes.count) users through \(kills) kills")
        #expect(welcomes.count >= 2 * Self.people)
        try await host.end()
    }

    private static func rotate(_ host: MortalHost) async throws {
        _ = try await DataCommandRun.run(["rotate", "--early"], in: host.directory, command: "keys")
    }

    /// The users of the project, with their names.
    private static func users(_ host: RunningHost) async throws -> [String: String] {
        var (users, page) = ([String: String](), "")
        repeat {
            let answer = try await host.auth.send(
                "GET",
                "/identitytoolkit.googleapis.com/v1/projects/demo-shop/accounts:batchGet?maxResults=1000&nextPageToken=\(page)",
                headers: ["Authorization": "Bearer owner"])
            for user in answer.json["users"]?.list ?? [] {
                users[user["localId"]?.text ?? ""] = user["displayName"]?.text ?? ""
            }
            page = answer.json["nextPageToken"]?.text ?? ""
        } while !page.isEmpty
        return users
    }

    private static func counts(_ host: MortalHost, _ collection: String) async throws -> [String: Int] {
        var (counts, page) = ([String: Int](), "")
        repeat {
            let answer = try await host.current.firestore.send(
                "GET",
                "/v1/projects/demo-shop/databases/(default)/documents/\(collection)?pageSize=300&pageToken=\(page)",
                headers: ["Authorization": "Bearer owner"])
            for document in answer.json["documents"]?.list ?? [] {
                let id = document["name"]?.text?.split(separator: "/").last.map(String.init) ?? ""
                counts[id] = document["fields"]?["n"]?["integerValue"]?.integer
            }
            page = answer.json["nextPageToken"]?.text ?? ""
        } while !page.isEmpty
        return counts
    }
}

/// Goes on until it is ended.
private final class SignInStorm: Sendable {
    private let hasEnded = Atomic(false)

    var isOver: Bool { hasEnded.load(ordering: .relaxed) }
    func end() { hasEnded.store(true, ordering: .relaxed) }
}

/// Signs up, changes the name, and leaves, at random.
private struct Person {
    /// What must be stored of a user.
    enum Known {
        /// The name is one of these: the last acknowledged one, and those that were not answered since.
        case named([String])
        case deleted
        case unsure
    }

    let host: MortalHost
    let number: Int
    var random: SeededGenerator
    private(set) var known: [String: Known] = [:]
    private var current: (uid: String, token: String)?
    private var steps = 0

    init(host: MortalHost, number: Int, seed: UInt64) {
        self.host = host
        self.number = number
        random = SeededGenerator(seed: seed)
    }

    mutating func act() async throws {
        steps += 1
        guard let (uid, token) = current else {
            let json =
                Bool.random(using: &random)
                ? #"{"returnSecureToken":true}"#
                : #"{"email":"p\#(number)s\#(steps)@example.com","password":"secret1","returnSecureToken":true}"#
            guard let answer = await send("signUp", json), let uid = answer.json["localId"]?.text,
                let token = answer.json["idToken"]?.text
            else { return }
            current = (uid, token)
            known[uid] = .named([""])
            return
        }
        if Int.random(in: 0..<4, using: &random) == 0 {
            current = nil
            known[uid] = await send("delete", #"{"idToken":"\#(token)"}"#) == nil ? .unsure : .deleted
        } else {
            let name = "n\(steps)"
            let answer = await send("update", #"{"idToken":"\#(token)","displayName":"\#(name)"}"#)
            guard case .named(let names)? = known[uid] else { return }
            known[uid] = .named(answer == nil ? names + [name] : [name])
        }
    }

    /// - Returns: nil if there was no answer.
    private func send(_ operation: String, _ json: String) async -> HTTPAnswer? {
        let answer = try? await host.current.auth.send(
            "POST", "/identitytoolkit.googleapis.com/v1/accounts:\(operation)?key=local",
            headers: ["Content-Type": "application/json"], json)
        #expect(answer?.json["error"]?["message"]?.text != "INVALID_ID_TOKEN", "a key was lost")
        guard let answer, answer.status == 200 else {
            try? await Bound.pause(milliseconds: 20)
            return nil
        }
        return answer
    }
}
