import RealtimeHashing
import RealtimeModel
import StrictJSON
import RealtimeTesting
import TestSupport
import Testing

/// The compound hashes of mobile clients. The expected ones were computed apart, with another language.
struct RealtimeCompoundHashTests {
    private static let data =
        #"{"a":{"x":1,"y":"q\"\\"},"b":{".priority":3,"-M":1,"c":{".value":true,".priority":"p"},"d":{"e":2.5}},"10":"ten"}"#

    @Test(
        arguments: [
            ([], ["ujwQ2xUUOlwkKeCq3bgPlU2KJCg="]),
            (["10"], ["pfduDpANk3ljVHkUt4HdLwrlDao=", "ZsB+UAubOtjG/j08h3Zk8fse39Q="]),
            (
                ["a/x", "b/-M"],
                ["jS3Cyg3SWzCqVu3lSRM0FBbXvIk=", "b8c/vtCJ5nqhOyi1BhybxjkES64=", "IEpO2qWyN27ZNcHD1k7zWsBAIgM="]
            ),
            (
                ["a/y", "b/c", "b/d/e"],
                ["WJEcy6wu5rMYUNOKqvGuInnLIMw=", "OVfyWFH1HQ4W/bEmhGCdeWB+x3M=", "vt7Sr6RYLEKs7I1W6eTSykItNdA=", ""]
            ),
            (
                ["a", "b/.priority"],
                ["pfduDpANk3ljVHkUt4HdLwrlDao=", "7NgKFy0Ni45JecpdBekFOe6qVwc=", "jGK3M+omh9qn7PGzxz9JFQ3KWDo="]
            ),
        ] as [([String], [String])])
    func equalRangesDoNotDiffer(paths: [String], hashes: [String]) throws {
        let compound = try #require(RealtimeCompoundHash(hashes: hashes, paths: paths.map { try RealtimeTarget($0) }))
        #expect(try node(Self.data).ranges(differingFrom: compound) == [])
    }

    @Test func aRangeThatDiffersIsSentWithItsLeaves() throws {
        let compound = try #require(
            RealtimeCompoundHash(
                try JSONValue(
                    parsing: Array(
                        #"{"hs":["WJEcy6wu5rMYUNOKqvGuInnLIMw=","OVfyWFH1HQ4W/bEmhGCdeWB+x3M=","vt7Sr6RYLEKs7I1W6eTSykItNdA=",""],"ps":["a/y","b/c","b/d/e"]}"#
                            .utf8))))
        func push(_ data: String) throws -> String {
            var writer = JSONWriter()
            writer.realtime(try #require(try node(data).ranges(differingFrom: compound)))
            return String(decoding: writer.bytes, as: UTF8.self)
        }
        #expect(try push(Self.data) == "[]")
        // Clients would remove the priority of a leaf at which a range begins.
        #expect(try node(Self.data.replacing("2.5", with: "3")).ranges(differingFrom: compound) == nil)
        #expect(
            try push(Self.data.replacing(#""-M":1"#, with: #""-M":2"#))
                == #"[{"s":"a/y","e":"b/c","m":{"b":{"-M":2,"c":{".value":true,".priority":"p"},".priority":3}}},{"s":"b/d/e","m":null}]"#
        )
        #expect(
            try push("null")
                == #"[{"e":"a/y","m":null},{"s":"a/y","e":"b/c","m":null},{"s":"b/c","e":"b/d/e","m":null},{"s":"b/d/e","m":null}]"#
        )
    }

    /// What doesn't differ counts for nothing, and isn't kept while it is compared.
    @Test func rangesThatAreTooLargeAreNotSent() throws {
        let long = String(repeating: "t", count: 1_000)
        let data = #"{"a":"\#(long)","b":"\#(long)","c":1}"#
        let whole = try #require(
            RealtimeCompoundHash(hashes: ["", "", ""], paths: [try RealtimeTarget("a"), try RealtimeTarget("b")]))
        let ranges = try #require(try node(data).ranges(differingFrom: whole))
        #expect(ranges.map { $0.node != nil } == [true, true, true])
        #expect(try node(data).ranges(differingFrom: whole, maxBytes: 2_200) == ranges)
        #expect(try node(data).ranges(differingFrom: whole, maxBytes: 2_000) == nil)
        #expect(try node(data).ranges(differingFrom: whole, maxBytes: 0) == nil)
        var random = SeededGenerator(seed: 1)
        let known = MobileClient(try node(data)).compoundHash(splitting: &random)
        #expect(try node(data).ranges(differingFrom: known, maxBytes: 0) == [])
    }

    @Test(arguments: [
        #"{"hs":[""],"ps":["a"]}"#, #"{"hs":["","",""],"ps":["b","a"]}"#, #"{"hs":["",""],"ps":["a.b"]}"#,
        #"{"hs":[""]}"#,
        #"{"hs":["",1],"ps":["a"]}"#, "1",
    ])
    func invalidCompoundHashesAreIgnored(text: String) throws {
        #expect(RealtimeCompoundHash(try JSONValue(parsing: Array(text.utf8))) == nil)
    }

    @Test func aPriorityThatClientsDoNotHashIsRemovedWithAnotherChange() throws {
        var random = SeededGenerator(seed: 1)
        var client = MobileClient(try node(#"{"-M":1,".priority":2}"#))
        let compound = client.compoundHash(splitting: &random)
        #expect(client.hasUnhashedPriority)
        #expect(try node(#"{"-M":1}"#).ranges(differingFrom: compound) == [])
        for range in try #require(try node(#"{"-M":2}"#).ranges(differingFrom: compound)) { client.merge(range) }
        #expect(text(client.node) == #"{"-M":2}"#)
        #expect(try node(#"{"-M":1,".priority":3}"#).ranges(differingFrom: compound) == nil)
    }

    /// A client computes its hash, receives the ranges, and merges them into what it has.
    @Test func clientsReachTheServersData() async throws {
        var (fallbacks, rounds) = (0, 0)
        try await FuzzRounds.run("ranges", count: 500) { random, seed in
            rounds += 1
            let old = try node(RandomValues.json(&random))
            var tree = RealtimeTree(old)
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let change = try node(RandomValues.json(&random, depth: 1))
                tree.apply(RealtimeChange(RealtimeTarget(RandomValues.path(&random)), change))
            }
            var client = MobileClient(old)
            let compound = client.compoundHash(splitting: &random)
            guard !client.hasUnhashedPriority else { return }
            guard let ranges = tree.root.ranges(differingFrom: compound) else {
                fallbacks += 1
                return
            }
            for range in ranges { client.merge(range) }
            #expect(text(client.node) == text(tree.root), "seed \(seed): \(text(old)), \(compound.paths)")
        }
        #expect(fallbacks * 2 < rounds)
    }
}
