import CFunctionsSystem
import DocumentModel
import FirestoreJSON
import GoogleREST
import NIOCore
import StrictJSON
import Testing

/// What may be long gives way on its way.
@Suite(.serialized) struct LongWorkStepsTests {
    private static let values = Array(repeating: Value.null, count: 100)
    private static let text =
        #"{"arrayValue":{"values":["# + Array(repeating: #"{"nullValue":null}"#, count: 100).joined(separator: ",")
        + "]}}"

    /// How many steps the body makes, of at most 511.
    private func steps(_ body: () throws -> Void) rethrows -> Int32 {
        functions_begin_long_work()
        defer { functions_end_long_work() }
        let start = functions_steps_left()
        try body()
        return start - functions_steps_left()
    }

    @Test func readingAndWritingValuesMakesSteps() throws {
        var node = JSONNode(kind: .null, offset: 0)
        // The array and its elements, with two nodes of JSON each.
        #expect(try steps { node = try JSONNode(parsing: Array(Self.text.utf8)) } >= 200)
        #expect(try steps { _ = try node.value() } >= 101)
        #expect(steps { node.free() } >= 200)
        var text = JSONWriter()
        #expect(steps { text.value(.array(Self.values)) } == 101)
        var bytes = ByteWriter()
        bytes.write(.array(Self.values))
        var reader = ByteReader(bytes.bytes)
        #expect(try steps { _ = try reader.value() } == 101)
        let paths = try (0..<100).map { try FieldPath("f\($0)") }
        #expect(steps { _ = FieldMask(paths) } == 100)
        let spaces = [UInt8](repeating: 0x20, count: 100 * 256) + [0x31]
        #expect(try steps { _ = try JSONNode(parsing: spaces) } >= 100)
    }

    @Test func aRequestFreesItsNodesInSteps() throws {
        let body = RESTBody(ByteBuffer(string: Self.text))
        let parsing = try steps { _ = try JSONNode(parsing: Array(Self.text.utf8)) }
        #expect(try steps { _ = try body.read { $0.offset } } >= 2 * parsing)
    }
}
