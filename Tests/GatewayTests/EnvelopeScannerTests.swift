import StrictJSON
import TestSupport
@testable import Gateway
import NIOCore
import Testing

@Suite struct EnvelopeScannerTests {
    private func data(_ body: String) throws(EnvelopeScanner.Failure) -> String {
        String(buffer: try EnvelopeScanner.data(in: ByteBuffer(string: body)))
    }

    @Test(arguments: [
        (#"{"data":null}"#, "null"),
        (#"{"data":{"a":[1,2,{"b":"}"}]}}"#, #"{"a":[1,2,{"b":"}"}]}"#),
        (" {\n\"data\" :\t[ ] } ", "[ ]"),
        (#"{"data":"\"\\\u0041"}"#, #""\"\\\u0041""#),
        (#"{"data":-0.5e+10}"#, "-0.5e+10"),
        (#"{"d\u0061ta":1}"#, "1"), (#"{"\u0064\u0061\u0074\u0061":1}"#, "1"),
        (#"{"data":"購入 🛒"}"#, #""購入 🛒""#),
    ])
    func dataIsFoundAsItStands(body: String, expected: String) throws { #expect(try data(body) == expected) }

    @Test(arguments: [
        ("", EnvelopeScanner.Failure.empty),
        ("{}", .missingData), (#"{"dat":1}"#, .otherKey), (#"{"data":1,"extra":2}"#, .otherKey),
        (#"[{"data":1}]"#, .notAnObject), ("1", .notAnObject), (#""data""#, .notAnObject),
    ])
    func otherBodiesAreRefused(body: String, expected: EnvelopeScanner.Failure) {
        #expect(throws: expected) { try data(body) }
    }

    @Test(arguments: [
        #"{"data":"#, #"{"data":1"#, #"{"data":1}}"#, #"{"data":01}"#, #"{"data":1.}"#, #"{"data":.5}"#,
        #"{"data":+1}"#, #"{"data":1e}"#, #"{"data":tru}"#, #"{"data":"a}"#, #"{"data":"\x"}"#, #"{"data":"\u00g0"}"#,
        "{\"data\":\"a\nb\"}", #"{data:1}"#, #"{"data":1,}"#, #"{"data":[1,]}"#, #"{"data":[1 2]}"#, #"{"data":{"a"}}"#,
        #"{"data":{"a":1,}}"#, #"{"data":NaN}"#, #"{'data':1}"#, #"{"data":[}]}"#, #"{"data":1}x"#,
    ])
    func brokenJSONIsRefused(body: String) {
        #expect { try data(body) } throws: { error in
            if case EnvelopeScanner.Failure.malformed = error { true } else { false }
        }
    }

    @Test func nestingIsBounded() throws {
        func nested(_ depth: Int) -> String {
            #"{"data":"# + String(repeating: "[", count: depth) + String(repeating: "]", count: depth) + "}"
        }
        #expect(reason(nested(10_000)) == .tooDeep)
        #expect(reason(nested(JSONScanner.maxDepth + 1)) == .tooDeep)
        #expect(reason(#"{"data":"# + String(repeating: #"{"a":"#, count: 1_000_000)) == .tooDeep)
        _ = try data(nested(JSONScanner.maxDepth))
    }

    @Test(arguments: [
        (#"{"data":1,"data":2}"#, JSONError(.duplicateKey("data"), at: 10)),
        (#"{"data":1,"d\u0061ta":2}"#, JSONError(.duplicateKey("data"), at: 10)),
        (#"{"data":[1,"data":2}"#, JSONError(.missingElementSeparator, at: 17)),
    ])
    func invalidEnvelopesAreRefusedWithTheirPlace(body: String, error: JSONError) {
        #expect(throws: EnvelopeScanner.Failure.malformed(error)) { try data(body) }
    }

    /// The worker compares the keys within `data` when it decodes them.
    @Test(arguments: [
        (#"{"data":{"a":[{"b":1,"c":2,"b":3}]}}"#, #"{"a":[{"b":1,"c":2,"b":3}]}"#),
        (#"{"data":{"data":1,"data":2}}"#, #"{"data":1,"data":2}"#), (#"{"data":"\ud800"}"#, #""\ud800""#),
        ("\u{feff}{\"data\":1}", "1"),
    ])
    func dataPassesAsFarAsTheEnvelopeIsConcerned(body: String, expected: String) throws {
        #expect(try data(body) == expected)
    }

    private func reason(_ body: String) -> JSONError.Problem? {
        do {
            _ = try data(body)
            return nil
        } catch {
            guard case .malformed(let error) = error else { return nil }
            return error.problem
        }
    }

    @Test(arguments: [[0xFF], [0xC3, 0x28], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80]] as [[UInt8]])
    func invalidUTF8IsRefused(bytes: [UInt8]) {
        let body = ByteBuffer(bytes: Array(#"{"data":""#.utf8) + bytes + Array(#""}"#.utf8))
        #expect(throws: EnvelopeScanner.Failure.malformed(JSONError(.invalidUTF8, at: 8))) {
            _ = try EnvelopeScanner.data(in: body)
        }
    }

    @Test(arguments: 0..<50) func randomBytesNeverCrash(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let alphabet = Array(#"{}[]":,\u0123456789eE+-.truefalsn data"#.utf8) + [0xFF, 0x00, 0x0A]
        for _ in 0..<500 {
            let noise = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
            }
            _ = try? EnvelopeScanner.data(in: ByteBuffer(bytes: Array(#"{"data":"#.utf8) + noise))
        }
    }
}
