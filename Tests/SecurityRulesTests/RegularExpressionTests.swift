import Testing

@testable import SecurityRules

@Suite struct RegularExpressionTests {
    @Test(arguments: [
        ("a.c", "abc", true), ("a.c", "a\nc", false), ("(?s)a.c", "a\nc", true), ("a|b|", "", true),
        ("a*", "aaaa", true),
        ("(ab)+", "abab", true), ("(ab)+", "aba", false), ("[^a-c]", "d", true), ("[^a-c]", "b", false),
        ("[]a]", "]", true),
        ("[a-]", "-", true), ("[\\d_]+", "12_", true), ("\\bab\\b", "ab", true), ("a{2,3}", "aaaa", false),
        ("a{2,3}", "aaa", true), ("a{,3}", "a{,3}", true), ("(?i)É", "é", true), ("(?i:a)b", "Ab", true),
        ("(?i:a)b", "AB", false), ("\\p{Lu}\\p{Ll}", "Ab", true), ("\\PL", "1", true), ("[[:^digit:]]", "a", true),
        ("\\Qa.b\\E", "a.b", true), ("\\x{1F600}", "😀", true), ("(?m)^a$\\n^b$", "a\nb", true), ("^$", "", true),
        ("a+?b", "aab", true), ("(?U)a+b", "aab", true), ("\\101", "A", true), ("x*y*z*", "xyz", true),
    ])
    func textsMatch(pattern: String, text: String, matches: Bool) throws {
        var work = 1_000_000
        #expect(try RegularExpression(pattern).matches(text, &work) == matches)
    }

    @Test(arguments: [
        "(", ")", "[", "[a", "a**", "*", "+a", "(?=a)", "(?<!a)", "(a)\\1", "\\", "[b-a]", "\\p{Nope}",
        "a{1001}",
        "(?z)", "[[:nope:]]", "(?P<a", "((a{1000}){1000}){1000}", "((){1000}){1000}", "\\y",
    ])
    func aPatternThatIsNoneIsRefused(pattern: String) {
        #expect(throws: RegularExpression.Problem.self) {
            _ = try RegularExpression(pattern)
        }
    }

    /// What other engines take exponential time for.
    @Test(arguments: ["(a*)*b", "(a|aa)+$", "(a|a)*b", "(.*)*x", "((a+)+)+b"])
    func matchingIsLinear(pattern: String) throws {
        let text = String(repeating: "a", count: 20_000)
        var work = 5_000_000
        _ = try RegularExpression(pattern).matches(text, &work)
    }

    @Test func aTooLongTextIsRefused() throws {
        let expression = try RegularExpression("(.*a){60}")
        #expect(throws: RegularExpression.TooCostly.self) {
            var work = 5_000_000
            _ = try expression.matches(String(repeating: "a", count: 100_000), &work)
        }
        var work = 5_000_000
        #expect(try RegularExpression("b").matches(String(repeating: "a", count: 100_000), &work) == false)
        // What is read again and again is paid for again and again.
        #expect(throws: RegularExpression.TooCostly.self) {
            var work = 5_000_000
            _ = try RegularExpression("<[^>]*>|<").replace(
                String(repeating: "<", count: 60_000), "", maxBytes: 1_000_000, &work)
        }
    }

    /// Each character is compared with all ranges of a class.
    @Test(arguments: [("ab", 10, true), ("ab", 5000, false), ("\\pL", 10, true), ("\\pL", 1000, false)])
    func aClassOfManyRangesCostsMore(ranges: String, count: Int, isPossible: Bool) throws {
        let expression = try RegularExpression("[^" + String(repeating: ranges, count: count) + "]*")
        let text = String(repeating: "1", count: 1000)
        var work = 100_000
        let isMatch = try? expression.matches(text, &work)
        #expect(isMatch == (isPossible ? true : nil))
        #expect((work > 0) == isPossible)
    }

    /// One match may stand for a text many times as long.
    @Test func aReplacementIsNotMadeLongerThanATextMayBe() throws {
        let text = String(repeating: "a", count: 60_000)
        var work = 5_000_000
        #expect(throws: RegularExpression.TooCostly.self) {
            _ = try RegularExpression("a+").replace(
                text, String(repeating: "$0", count: 500_000), maxBytes: 1_000_000, &work)
        }
    }

    @Test func nestedGroupsEnd() {
        let pattern = String(repeating: "(", count: 10_000)
        #expect(throws: RegularExpression.Problem.self) { _ = try RegularExpression(pattern) }
    }
}
