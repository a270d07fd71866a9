import RealtimeHashing
import RealtimeModel
import StrictJSON
import RealtimeTesting
import TestSupport
import Testing

/// The hashes that clients send. The expected ones were computed apart, from contracts and with another language.
struct RealtimeHashTests {
    @Test(arguments: [
        ("null", ""), ("10", "+r5aI9HvKKagELki8SYKBk0q7D4="), ("-0.5", "/r6we9NY8SVfOWrAH6omHfBJtYA="),
        ("0", "7ysMph9WPitGP7poMnMHMVPtUlI="), ("true", "E5z61QM0lN/U2WsOnusszCTkR8M="),
        ("false", "aSSNoqcS4oQwJ2xxH20rvpp3zP0="), (#""""#, "Ki0Xy0V6morg0TO3Sxi/jwugYDQ="),
        (#""text""#, "x7g2SlseqW4tQc4+nDsWMcKEh5c="), (#""é🛒\"\\""#, "aHcp3nlBij9KnNvp0lTDc3E+vfQ="),
        ("9007199254740993", "m4qsp/5BbIWTdjthNlnOX+WCTB0="),
        ("-9223372036854775808", "t8Zsu6QlM7Q4staTHVsgiTYxyUs="), ("1e300", "PATxuxN46FZOmKG2i19P8ZCsqpw="),
        (#"{".value":"p",".priority":3}"#, "vstg97eDNKXgPLQ2Bcl4jtf43w8="),
        (#"{".value":1,".priority":"high"}"#, "/NQaCIsjFPmK0EEMWIQE8plPyMA="),
        (#"{"a":1,"b":{"c":true}}"#, "QdIn4puNorUlMbgaw/ee4rbYsxM="),
        (
            #"{"k":{"a":1,"b":[true,"s"],"c":{".value":"p",".priority":3}},"10":1.5,"9":2}"#,
            "7tK8aHd/H0dlRw48AxqxRRVFZp8="
        ),
        (
            #"{"a":{".value":1,".priority":2},"b":{".value":2,".priority":1},"c":3,"d":{".value":4,".priority":"x"},"e":{"x":1,".priority":1}}"#,
            "Q/Xgs/KUbJhuj8oOXwjDlKrCG38="
        ),
        (#"{".priority":0.5,"ключ 鍵 %":"v","-1":1,"01":2,"1":3}"#, "aZ8CocCEZybWyFlAsmsoaFbMgzo="),
        (#"["a",null,{"c":[1,2]}]"#, "SBjKQEDbm1lSsdDJnIFjTvLonLs="), (#"{"a":{},"c":{"d":[]}}"#, ""),
        ("{\"\u{FFEE}\":1,\"🛒\":2,\"z\":3}", "tc4LVK4w2l8dLPbISpTzfE94PP4="),
    ])
    func hashIsThatOfClients(text: String, expected: String) throws {
        #expect(try node(text).hash == expected)
    }

    @Test func longTextIsHashedInPieces() throws {
        // base64(SHA-1("string:" + 10,000 × "é")), computed apart.
        #expect(try node("\"\(String(repeating: "é", count: 10_000))\"").hash == "PcuD056cqbG8SDRoGOjQC4GpFPY=")
    }

    @Test func rowsHaveTheHashOfTheirNode() async throws {
        try await FuzzRounds.run("hashes of rows", count: 300) { random, seed in
            let node = try node(RandomValues.json(&random))
            for isExact in [false, true] {
                var hasher = RealtimeRowHasher(isExact: isExact)
                node?.send(to: &hasher)
                let hash = hasher.finalize()
                #expect(hash == (isExact ? node.exactHash : node.hash), "seed \(seed)")
                #expect(hasher.hasLargeNumbers == (node.hash != node.exactHash), "seed \(seed)")
                #expect(node.has(hash), "seed \(seed)")
            }
            var builder = RealtimeNodeBuilder()
            node?.send(to: &builder)
            #expect(builder.finalize() == node, "seed \(seed)")
        }
    }

    /// Clients have doubles, and one hash for all integers with the same one.
    @Test(arguments: ["%", #"{"a":[1,%]}"#, #"{".value":true,".priority":%}"#, #"{"a":1,".priority":%}"#])
    func exactHashesTellLargeIntegersApart(text: String) throws {
        for (one, other) in [
            ("9007199254740992", "9007199254740993"), ("9223372036854775807", "9223372036854775808"),
            ("-9007199254740993", "-9007199254740992"),
        ] {
            let nodes = try [one, other].map { try node(text.replacing("%", with: $0)) }
            #expect(nodes[0].hash == nodes[1].hash)
            #expect(Set(nodes.flatMap { [$0.hash, $0.exactHash] }).count == 3)
            #expect(nodes[0].has(nodes[0].exactHash) && nodes[0].has(nodes[1].hash))
            #expect(!nodes[0].has(nodes[1].exactHash))
        }
        let small = try node(text.replacing("%", with: "9007199254740991"))
        #expect(small.hash == small.exactHash)
    }

    @Test func anObjectWithoutLeavesHasNoHash() {
        var hasher = RealtimeHasher()
        hasher.openObject(priority: 1, key: nil)
        hasher.openObject(priority: nil, key: RealtimeKey(unchecked: "a"))
        hasher.closeObject()
        hasher.closeObject()
        #expect(hasher.finalize() == "")
    }
}
