import DocumentModel
import TestSupport
import Testing
import UserModel

@Suite struct UserRequestTests {
    private static func decoded<Part>(
        _ bytes: [UInt8], _ part: (inout ByteReader) throws(DecodingFailure) -> Part
    ) throws -> Part {
        var reader = ByteReader(bytes)
        let result = try part(&reader)
        try reader.finish()
        return result
    }

    @Test(arguments: UserRequest.Operation.allCases) func aRequestIsDecodedAsItWasEncoded(
        operation: UserRequest.Operation
    ) throws {
        let request = UserRequest(operation, body: Array(#"{"localId":"ada"}"#.utf8))
        var writer = ByteWriter()
        request.write(to: &writer)
        #expect(try Self.decoded(writer.bytes) { r throws(DecodingFailure) in try UserRequest(from: &r) } == request)
    }

    @Test func changesAreDecodedAsTheyWereEncoded() throws {
        let changes = UserChanges(
            expectations: [.init(lookup: [1, 2], answer: []), .init(lookup: [], answer: [3])],
            writes: [UserRequest(.create, body: [123, 125]), UserRequest(.delete, body: [])])
        var writer = ByteWriter()
        changes.write(to: &writer)
        #expect(try Self.decoded(writer.bytes) { r throws(DecodingFailure) in try UserChanges(from: &r) } == changes)
        for length in 0..<writer.bytes.count {
            #expect(throws: DecodingFailure.self) {
                try Self.decoded(Array(writer.bytes.prefix(length))) { r throws(DecodingFailure) in
                    try UserChanges(from: &r)
                }
            }
        }
    }

    /// Whatever a worker sends, decoding ends, with a value or a failure.
    @Test func hostileBytesAreRefusedOrHarmless() throws {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            let changes = try? Self.decoded(bytes) { r throws(DecodingFailure) in try UserChanges(from: &r) }
            if let changes { #expect(changes.expectations.count + changes.writes.count <= bytes.count) }
        }
    }

    @Test(arguments: [0, 9, 255] as [UInt8]) func unknownOperationsAreRefused(code: UInt8) {
        #expect(throws: DecodingFailure("unknown user operation \(code)")) {
            try Self.decoded([code, 0]) { r throws(DecodingFailure) in try UserRequest(from: &r) }
        }
    }

    @Test func changesAreBounded() throws {
        let write = UserRequest(.delete, body: [])
        try UserChanges(
            expectations: Array(repeating: .init(lookup: [], answer: []), count: 100),
            writes: Array(repeating: write, count: 100)
        ).check()
        for changes in [
            UserChanges(writes: Array(repeating: write, count: 101)),
            UserChanges(expectations: Array(repeating: .init(lookup: [], answer: []), count: 101)),
            UserChanges(writes: [UserRequest(.mailLink, body: [])]),
            UserChanges(writes: [UserRequest(.create, body: Array(repeating: 32, count: 1_048_577))]),
        ] {
            #expect(throws: DocumentError.self) { try changes.check() }
        }
    }
}
