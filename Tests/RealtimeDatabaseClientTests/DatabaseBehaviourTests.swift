import DocumentModel
import FunctionsRuntime
import TestSupport
import Testing

/// What functions do with a Realtime Database comes to the same within the host and by REST.
@Suite(.endsHangs) struct DatabaseBehaviourTests {
    typealias Way = ServedDatabases.Way

    private struct Message: Codable, Equatable {
        var text: String
        var sent: Int
    }

    @Test(arguments: Way.allCases) func valuesPrioritiesAndCodableTypes(way: Way) async throws {
        try await ServedDatabases.run(way) { database in
            let reference = database.reference(withPath: "/a/b c+/ü%/")
            try await reference.setValue(from: Message(text: "t", sent: 1))
            #expect(try await reference.data() == Message(text: "t", sent: 1))
            try await reference.setValue(from: Message(text: "t", sent: 9_007_199_254_740_993))
            #expect(try await reference.getData().value == ["sent": 9_007_199_254_740_993, "text": "t"])
            #expect(try await reference.data() == Message(text: "t", sent: 9_007_199_254_740_993))
            // An object with such keys is an array to clients.
            for members in [["1": true, "2": false], ["0": true], ["1": true, "10": true, "a": true]] {
                try await reference.setValue(from: members)
                #expect(try await reference.data() == members)
            }
            try await reference.setValue(from: [1: true, 3: false])
            #expect(try await reference.data() == [1: true, 3: false])
            await #expect(throws: DecodingError.self) { try await reference.data(as: Message.self) }
            try await reference.setValue(from: Message(text: "t", sent: 1))
            try await reference.setPriority(3)
            #expect(try await reference.getData().valueInExportFormat == ["sent": 1, "text": "t", ".priority": 3])
            try await reference.setPriority(nil)
            #expect(try await reference.getData().priority == nil)
            try await reference.setValue([10, nil, 30], andPriority: "p")
            let array = try await reference.getData()
            #expect(array.value == [10, nil, 30])
            #expect(array.priority == "p")
            try await reference.setValue(9_007_199_254_740_993)
            #expect(try await reference.getData().value == 9_007_199_254_740_993)
            try await reference.removeValue()
            #expect(try await !reference.getData().exists())
            #expect(try await !database.reference().getData().exists())
        }
    }

    private struct Counter: Codable, Equatable {
        var sum: UInt64
    }

    /// Numbers are doubles. What one of them isn't would come back as another number.
    @Test(arguments: Way.allCases) func integersAreStoredAsTheyAreOrRefused(way: Way) async throws {
        try await ServedDatabases.run(way) { database in
            let reference = database.reference(withPath: "counter")
            for sum in [7, UInt64(Int64.max), 1 << 63, 1 << 63 + 2_048, UInt64.max - 2_047] as [UInt64] {
                try await reference.setValue(from: Counter(sum: sum))
                #expect(try await reference.data() == Counter(sum: sum))
            }
            for sum in [1 << 63 + 1, .max] as [UInt64] {
                let encoding = await #expect(throws: EncodingError.self) {
                    try await reference.setValue(from: ["list": [Counter(sum: 1), Counter(sum: sum)]])
                }
                #expect(encoding?.explanation.hasPrefix("value.list[1].sum: the database would round \(sum)") == true)
                for value in [.unsigned(sum), ["a": [1, .unsigned(sum)]]] as [JSONValue] {
                    let error = await failure { () throws(DocumentError) in try await reference.setValue(value) }
                    #expect(error?.code == .invalidArgument)
                }
                let priority = await failure { () throws(DocumentError) in
                    try await reference.setPriority(.unsigned(sum))
                }
                #expect(priority?.code == .invalidArgument)
                for setsPriority in [false, true] {
                    await #expect(throws: DocumentError.self) {
                        try await reference.runTransactionBlock { data in
                            if setsPriority { data.priority = .unsigned(sum) } else { data.value = .unsigned(sum) }
                            return .success(withValue: data)
                        }
                    }
                }
            }
            #expect(try await reference.data() == Counter(sum: .max - 2_047))
        }
    }

    @Test(arguments: Way.allCases) func severalPathsAreUpdatedTogether(way: Way) async throws {
        try await ServedDatabases.run(way) { database in
            try await database.reference(withPath: "posts/a").setValue(["stars": 1, "old": true])
            try await database.reference().updateChildValues([
                "posts/a/stars": ServerValue.increment(2), "posts/a/old": nil, "users/ada/posts/a": true,
            ])
            #expect(
                try await database.reference().getData().value == [
                    "posts": ["a": ["stars": 3]], "users": ["ada": ["posts": ["a": true]]],
                ])
            try await database.reference(withPath: "at").setValue(ServerValue.timestamp())
            #expect(try await database.reference(withPath: "at").getData().value?.intValue ?? 0 > 1_600_000_000_000)
        }
    }

    @Test(arguments: Way.allCases, ["a.b", "a/$x", "[", String(repeating: "k/", count: 40)])
    func aPathThatCantBeIsRefused(way: Way, path: String) async throws {
        try await ServedDatabases.run(way) { database in
            let reference = database.reference(withPath: path)
            let error = await failure { () throws(DocumentError) in try await reference.setValue(1) }
            #expect(error?.code == .invalidArgument)
        }
    }

    @Test(arguments: Way.allCases) func databasesAreApart(way: Way) async throws {
        try await ServedDatabases.run(way) { database in
            try await database.database("other").reference(withPath: "a").setValue(1)
            #expect(try await !database.reference().getData().exists())
            #expect(try await database.database("other").reference().getData().value == ["a": 1])
        }
    }

    // MARK: Transactions

    @Test(arguments: Way.allCases) func aTransactionBlockRunsAgainIfOthersAreFaster(way: Way) async throws {
        try await ServedDatabases.run(way) { database in
            let sum = database.reference(withPath: "sum")
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<5 {
                    group.addTask {
                        try await sum.runTransactionBlock { data in
                            data.value = .integer(Int64((data.value?.intValue ?? 0) + 2))
                            return .success(withValue: data)
                        }.committed
                    }
                }
                for try await committed in group { #expect(committed) }
            }
            #expect(try await sum.getData().value == 10)
            // What was set meanwhile is seen by the second attempt.
            var attempts = 0
            let seen = try await sum.runTransactionBlock { data in
                attempts += 1
                guard data.value?.intValue == 10 else { return .abort() }
                return .abort()
            }
            #expect(!seen.committed)
            #expect(attempts == 1)
            let removed = try await sum.runTransactionBlock { data in
                data.value = nil
                return .success(withValue: data)
            }
            #expect(removed.committed)
            #expect(try await !sum.getData().exists())
        }
    }

    @Test(arguments: Way.allCases) func aTransactionBlockSetsServerValues(way: Way) async throws {
        try await ServedDatabases.run(way) { database in
            let post = database.reference(withPath: "post")
            try await post.setValue(["stars": 4])
            let result = try await post.runTransactionBlock { data in
                data.value = ["stars": ServerValue.increment(2), "at": ServerValue.timestamp()]
                // As it would be now.
                guard data.value?["stars"] == 6 else { return .abort() }
                data.priority = 3
                return .success(withValue: data)
            }
            #expect(result.committed)
            let written = try await post.getData()
            #expect(written.value?["stars"] == 6)
            #expect(try #require(written.value?["at"]?.intValue) > 1_000_000)
            #expect(written.priority == 3)
            #expect(result.snapshot.value == written.value)
        }
    }

    @Test(arguments: Way.allCases) func aTransactionBlockChangesChildren(way: Way) async throws {
        try await ServedDatabases.run(way) { database in
            let post = database.reference(withPath: "post")
            try await post.setValue(["stars": 4, "tags": ["b": 1, "a": 2]])
            let result = try await post.runTransactionBlock { data in
                let stars = data.childData(byAppendingPath: "stars")
                stars.value = .integer(Int64((stars.value?.intValue ?? 0) + 1))
                let tags = data.childData(byAppendingPath: "tags")
                guard tags.children.map(\.key) == ["a", "b"], stars.key == "stars" else { return .abort() }
                for tag in tags.children where tag.value == 1 { tag.value = nil }
                try tags.childData(byAppendingPath: "new/one").setValue(from: ["n": 1])
                tags.childData(byAppendingPath: "a").priority = 7
                data.childData(byAppendingPath: "at").value = ServerValue.timestamp()
                guard tags.hasChild("new"), data.value?["tags"]?["a"] == 2 else { return .abort() }
                return .success(withValue: data)
            }
            #expect(result.committed)
            let written = try await post.getData()
            #expect(written.value?["stars"] == 5)
            #expect(written.value?["tags"] == ["a": 2, "new": ["one": ["n": 1]]])
            #expect(written.childSnapshot(forPath: "tags/a").priority == 7)
            #expect(try #require(written.value?["at"]?.intValue) > 1_000_000)
        }
    }

    @Test func aTransactionBlockThatSetsWhatCantBeFails() async throws {
        try await ServedDatabases.run(.byREST) { database in
            let post = database.reference(withPath: "post")
            let error = await #expect(throws: DocumentError.self) {
                try await post.runTransactionBlock { data in
                    data.childData(byAppendingPath: "a").value = ["b.c": 1]
                    data.childData(byAppendingPath: "d").value = 1
                    return .success(withValue: data)
                }
            }
            #expect(error?.code == .invalidArgument)
            #expect(error?.message.contains("b.c") == true)
            await #expect(throws: DocumentError.self) {
                try await post.runTransactionBlock { data in
                    data.childData(byAppendingPath: "a#").value = 1
                    return .success(withValue: data)
                }
            }
            #expect(try await !post.getData().exists())
            // What replaces it counts.
            try await post.runTransactionBlock { data in
                data.childData(byAppendingPath: "a/x").value = ["b.c": 1]
                data.childData(byAppendingPath: "a").value = 1
                return .success(withValue: data)
            }
            #expect(try await post.getData().value == ["a": 1])
        }
    }

    // MARK: Queries

    private static let rules = #"{"rules":{"users":{".indexOn":["n",".value"]}}}"#

    @Test(arguments: Way.allCases) func queriesFindWhatTheyAskFor(way: Way) async throws {
        try await ServedDatabases.run(way, rules: Self.rules) { database in
            let users = database.reference(withPath: "users")
            try await users.setValue([
                "a": ["n": 3], "b": ["n": 1], "c": ["n": 2], "d": ["n": "x"], "e": ["n": 2], "f": ["n": 2], "g": true,
            ])
            func keys(_ query: some DatabaseQueryable) async throws -> String {
                try await query.getData().children.compactMap(\.key).joined()
            }
            let byN = users.queryOrdered(byChild: "n")
            #expect(try await keys(users) == "abcdefg")
            #expect(try await keys(byN) == "gbcefad")
            #expect(try await keys(byN.queryStarting(atValue: 2)) == "cefad")
            #expect(try await keys(byN.queryStarting(afterValue: 2)) == "ad")
            #expect(try await keys(byN.queryStarting(afterValue: 2).queryLimited(toFirst: 1)) == "a")
            #expect(try await keys(byN.queryStarting(afterValue: nil).queryLimited(toFirst: 2)) == "bc")
            #expect(try await keys(byN.queryStarting(atValue: 2, childKey: "e")) == "efad")
            #expect(try await keys(byN.queryStarting(atValue: 2, childKey: "f").queryLimited(toFirst: 1)) == "f")
            #expect(try await keys(byN.queryStarting(afterValue: 2, childKey: "e").queryLimited(toFirst: 2)) == "fa")
            #expect(try await keys(byN.queryEnding(beforeValue: 2)) == "gb")
            #expect(try await keys(byN.queryEnding(beforeValue: 2).queryLimited(toLast: 1)) == "b")
            #expect(try await keys(byN.queryEnding(atValue: 2, childKey: "c").queryLimited(toLast: 2)) == "bc")
            #expect(try await keys(byN.queryEqual(toValue: "x")) == "d")
            #expect(try await keys(byN.queryEqual(toValue: nil)) == "g")
            #expect(try await keys(byN.queryEqual(toValue: 2, childKey: "e")) == "e")
            #expect(try await keys(byN.queryLimited(toLast: 2)) == "ad")
            #expect(try await keys(users.queryOrderedByValue().queryEqual(toValue: true)) == "g")
            #expect(
                try await keys(users.queryOrderedByKey().queryStarting(atValue: "b").queryLimited(toFirst: 2)) == "bc")
            #expect(
                try await keys(users.queryOrderedByKey().queryStarting(afterValue: "b").queryEnding(atValue: "c"))
                    == "c")
            #expect(
                try await keys(users.queryOrderedByKey().queryEnding(beforeValue: "c").queryLimited(toLast: 1)) == "b")
            try await users.child("c").setPriority(1)
            #expect(try await keys(users) == "abdefgc")
            #expect(try await keys(users.queryOrderedByPriority().queryStarting(atValue: 1)) == "c")
        }
    }

    // MARK: Observations

    @Test(arguments: Way.allCases) func whatIsObservedFollowsTheChanges(way: Way) async throws {
        try await ServedDatabases.run(way) { database in
            let reference = database.reference(withPath: "room")
            var values = reference.observe(.value).makeAsyncIterator()
            #expect(try await values.next()?.exists() == false)
            try await reference.child("a").setValue(1, andPriority: 2)
            #expect(try await values.next()?.valueInExportFormat == ["a": [".value": 1, ".priority": 2]])
            try await reference.child("a").setPriority(nil)
            #expect(try await values.next()?.valueInExportFormat == ["a": 1])
            try await reference.updateChildValues(["b/c": 2, "a": nil])
            #expect(try await values.next()?.value == ["b": ["c": 2]])
            var added = reference.observe(.childAdded).makeAsyncIterator()
            #expect(try await added.next()?.key == "b")
            try await reference.child("d").setValue(2)
            #expect(try await added.next()?.key == "d")
            try await database.reference().removeValue()
            // The last two changes may be seen at once.
            while let seen = try await values.next(), seen.exists() { #expect(seen.value == ["b": ["c": 2], "d": 2]) }
        }
    }

    @Test(arguments: Way.allCases, [true, false])
    func anObservedQueryHasItsChildrenOnly(way: Way, isExact: Bool) async throws {
        try await ServedDatabases.run(way, rules: Self.rules) { database in
            let users = database.reference(withPath: "users")
            try await users.setValue(["a": ["n": 1], "b": ["n": 2], "c": ["n": 3]])
            let byN = users.queryOrdered(byChild: "n")
            let range = isExact ? byN.queryStarting(atValue: 2) : byN.queryStarting(afterValue: 1)
            var values = range.queryLimited(toFirst: 2).observe(.value).makeAsyncIterator()
            func next() async throws -> String? {
                try await values.next()?.children.compactMap(\.key).joined()
            }
            #expect(try await next() == "bc")
            try await users.child("d").setValue(["n": 2])
            // One comes in, and one leaves; both may be seen at once or one after the other.
            while let seen = try await next(), seen != "bd" { #expect(seen == "bdc" || seen == "b") }
            try await users.child("b").removeValue()
            while let seen = try await next(), seen != "dc" { #expect(seen == "d") }
        }
    }
}
