import DocumentModel
import Testing

@Suite struct FieldPathTests {
    @Test func aSegmentIsQuotedByItsBytes() throws {
        let segments = [
            ("a", "a"), ("a b", "`a b`"), ("a`b\\c", "`a\\`b\\\\c`"), ("", "``"), ("1", "`1`"),
            ("\u{E9}", "`\u{E9}`"), ("e\u{301}", "`e\u{301}`"),
            // A mark makes one character with what is before it.
            ("\\\u{301}", "`\\\\\u{301}`"), ("`\u{301}", "`\\`\u{301}`"), ("\u{301}", "`\u{301}`"),
            ("\\\u{200D}", "`\\\\\u{200D}`"),
            // As text equal to a backtick.
            ("a\u{1FEF}b", "`a\u{1FEF}b`"),
        ]
        for (segment, quoted) in segments {
            let path = FieldPath(segments: [segment, "x"])
            #expect(Array(path.description.utf8) == Array("\(quoted).x".utf8))
            #expect(try FieldPath(path.description) == path)
        }
    }
}
