import Testing

@testable import SecurityRules

@Suite struct DatabasePatternTests {
    private static func matches(_ pattern: String, _ text: String, ignoresCase: Bool = false) throws -> Bool {
        var work = 1_000_000
        return try DatabasePatternParser.compile(pattern, ignoresCase: ignoresCase).matches(text, &work)
    }

    @Test(arguments: [
        ("a", "bab", true), ("^a", "ab", true), ("^a", "ba", false), ("a$", "ba", true), ("a$", "ab", false),
        ("^a$", "a", true), ("^$", "x", nil), ("........", "Firebase", true), ("a.c", "a\nc", true),
        ("a.c", "ac", false),
        ("^a*$", "", true), ("^a*$", "aab", false), ("^a+$", "", false), ("^a?$", "a", true), ("^a?$", "aa", false),
        ("^(ab)*$", "abab", true), ("a|bc", "xbc", true), ("^(foo|bar)$", "bar", true), ("^foo|bar$", "foo!", false),
        ("^foo|bar$", "bar", true), ("^a{2}$", "aa", true), ("^a{2}$", "aaa", false), ("^a{2,}$", "aaa", true),
        ("^a{1,2}$", "aaa", false), ("[akz]", "bkb", true), ("^[0-9A-F]+$", "1F", true), ("^[^0-9]$", "1", false),
        ("^[^0-9]$", "a", true), ("^[-a]$", "-", true), ("^[a-]$", "-", true), ("^[\\]]$", "]", true),
        ("^[\\d_]+$", "1_2", true),
        ("^[^\\W]$", "a", true), ("^[^\\s]+$", "a b", false), ("^\\s\\S\\w\\W\\d\\D$", " aa-1a", true),
        ("^\\s$", "\u{0B}", true),
        ("^\\w$", "é", false), ("\\.\\*\\/\\{\\}\\$\\^", ".*/{}$^", true), ("}", "}", true), ("\\{foo}", "{foo}", true),
        ("^((a)b){2}$", "abab", true), ("[$^]", "$", true), ("^[😀-😂]$", "😁", true), ("((0-9)*)*x", "x", true),
        ("^(19|20)[0-9][0-9][-\\/. ](0[1-9]|1[012])$", "1999-12", true),
    ])
    func textsMatch(pattern: String, text: String, matches: Bool?) throws {
        let compiled = try? DatabasePatternParser.compile(pattern, ignoresCase: false)
        var work = 1_000_000
        #expect(try compiled?.matches(text, &work) == matches)
    }

    @Test(arguments: [
        ("^[a-f]+$", "AbF", true), ("^[^a]$", "A", false), ("^é$", "É", true), ("^[à-ö]$", "Ö", true),
        ("^\\w$", "A", true),
        ("^a-z$", "A-Z", true), ("^[@-Z]$", "z", true), ("^[@-Z]$", "{", false), ("^ß$", "SS", false),
    ])
    func caseIsIgnored(pattern: String, text: String, matches: Bool) throws {
        #expect(try Self.matches(pattern, text, ignoresCase: true) == matches)
    }

    @Test(arguments: [
        ("", 0), ("a||b", 2), ("|a", 0), ("a|", 2), ("()", 1), ("(a|)", 3), ("(^a|b)", 1), ("a^b", 1), ("a$b", 1),
        ("(a$)", 2),
        ("a|^b", 2), ("$", 0), ("(?:a)", 1), ("(?=a)", 1), ("(?<n>a)", 1), ("(a)\\1", 3), ("\\b", 0), ("\\n", 0),
        ("\\", 0),
        ("a*?", 2), ("a+?", 2), ("a??", 2), ("a{2}?", 4), ("a**", 2), ("a{2}{3}", 4), ("*", 0), ("+a", 0), ("?", 0),
        ("{2}", 0),
        ("a{", 1), ("a{,2}", 1), ("a{2", 1), ("a{x}", 1), ("a{3,2}", 1), ("a{1001}", 1), ("(", 1), ("(a", 0), (")", 0),
        ("a)", 1), ("[", 0), ("[a", 0), ("[]", 0), ("[^]", 0), ("[b-a]", 1), ("]", 0), ("é(", 3),
        ("(a{1000}){1000}", 0),
    ])
    func aPatternOutsideOfTheDialectIsRefused(pattern: String, offset: Int) {
        let problem = #expect(throws: DatabasePatternParser.Problem.self) {
            _ = try DatabasePatternParser.compile(pattern, ignoresCase: false)
        }
        #expect(problem?.offset == offset, "\(problem?.message ?? "")")
    }

    /// What other engines take exponential time for costs a bounded number of steps for each character.
    @Test(arguments: ["^(a*)*b$", "(a|aa)+$", "(a|a)*b", "(.*)*x", "((a+)+)+b", "(a*a*a*a*)*c"])
    func matchingIsLinear(pattern: String) throws {
        let expression = try DatabasePatternParser.compile(pattern, ignoresCase: false)
        var costs: [Int] = []
        for count in [10_000, 20_000] {
            var work = 100_000_000
            _ = try expression.matches(String(repeating: "a", count: count), &work)
            costs.append(100_000_000 - work)
        }
        #expect(costs[1] < 3 * costs[0])
    }

    @Test func nestedGroupsAreBounded() {
        #expect(throws: DatabasePatternParser.Problem.self) {
            _ = try Self.matches(String(repeating: "(", count: 10_000), "")
        }
    }
}
