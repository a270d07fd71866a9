import StrictJSON
import Testing

@testable import SecurityRules

/// Files: their form, the places of errors, strict JSON and indexes.
@Suite struct DatabaseRulesFileTests {
    @Test(arguments: [
        ("", "1:1: error: The file ends where a value is expected."),
        ("[]", "1:1: error: Expected 'rules' property."), ("{}", "1:1: error: Expected 'rules' property."),
        ("7", "1:1: error: Expected 'rules' property."),
        (#"{"rules": true}"#, "1:11: error: 'rules' must be an object."),
        (#"{"rules": {}, "more": 1}"#, "1:15: error: 'more' is not expected beside 'rules'."),
        (#"{"rules": {}} x"#, "1:15: error: The file goes on after its end."),
        (#"{"rules": {".read": true, }"#, "1:27: error: Expected a key in double quotes."),
        (#"{"rules": {".read": true}"#, "1:26: error: Expected ',' or '}'."),
        (#"{"rules" {}}"#, "1:10: error: Expected ':' after the key."),
        (#"{'rules': {}}"#, "1:2: error: Expected a key in double quotes."),
        (#"{"rules": {".read": 'true'}}"#, "1:21: error: Write strings in double quotes."),
        (#"{"rules": {".read": yes}}"#, "1:21: error: Expected a value."),
        (#"{"rules": {".indexOn": ["a" "b"]}}"#, "1:29: error: Expected ',' or ']'."),
        (#"{"rules": /* {}}"#, "1:11: error: This comment has no end; close it with */."),
        (#"{"rules": / {}}"#, "1:11: error: Unexpected '/'."),
        (#"{"rules": {"a": {}, "a": {}}}"#, "1:21: error: 'a' is there twice."),
        (#"{"rules": {".read": "true}}"#, "1:21: error: This string has no end; close it with \"."),
        (
            #"{"rules": {".read": "\d"}}"#, "1:22: error: This is not an escape of JSON; write \\\\ for a backslash."
        ),
        (#"{"rules": {".read": "\u12x4"}}"#, "1:22: error: \\u needs four hexadecimal digits."),
        (#"{"rules": {".read": "\ud800"}}"#, "1:22: error: Half of a surrogate pair."),
    ])
    func aFileThatIsNotRulesIsRefused(text: String, error: String) {
        #expect(DatabaseSamples.diagnostics(text) == [error])
    }

    @Test(arguments: [
        (#".read": 7"#, "1:21: error: .read must be a string or a boolean."),
        (#".write": null"#, "1:22: error: .write must be a string or a boolean."),
        (#".validate": {}"#, "1:25: error: .validate must be a string or a boolean."),
        (#".reed": true"#, "1:12: error: '.reed' is not a rule. Did you mean '.read'?"),
        (
            #".permissions": true"#,
            "1:12: error: '.permissions' is not a rule; there are .read, .write, .validate and .indexOn."
        ),
        (#".indexOn": 1"#, "1:24: error: .indexOn must be a string or a list of strings."),
        (#".indexOn": ["a", 1]"#, "1:30: error: .indexOn must be a string or a list of strings."),
        (#".indexOn": ".key""#, "1:25: error: '.key' is not the path of a child, nor .value."),
        (#".indexOn": "a//b$""#, "1:25: error: 'a//b$' is not the path of a child, nor .value."),
        (#".indexOn": """#, "1:25: error: '' is not the path of a child, nor .value."),
        (#"a": true"#, "1:17: error: Expected an object with the rules of 'a'."),
        (
            #"a.b": {}"#,
            ##"1:12: error: Key names can't be empty or contain ".", "#", "$", "/", "[", or "]" (unbound names start with "$")."##
        ),
        (
            #"$a": {}, "$b": {}"#,
            "1:22: error: '$a' stands for all other children already; a location has one name with $."
        ),
        (
            #"$a": {"b": {"$a": {}}}"#, "1:25: error: '$a' is above already; give each name of a path its own."
        ),
        (#".read": "$b == 'x'""#, "1:22: error: Unknown variable '$b'."),
        (#".read": "auht != null""#, "1:22: error: Unknown variable 'auht'. Did you mean 'auth'?"),
        (#".read": "newData.exists()""#, "1:22: error: Unknown variable 'newData': a .read rule has no new data."),
        (#".write": "query.orderByKey""#, "1:23: error: Unknown variable 'query': only a .read rule has it."),
        (#".read": "7""#, "1:22: error: The expression must be a boolean."),
        (
            #".read": "auth.admin""#,
            "1:22: error: The expression must be a boolean; compare it, such as with == true."
        ),
        (
            #".read": "auth.admin && true""#,
            "1:22: error: Left operand of && must be boolean; compare it, such as with == true."
        ),
        (#".read": "true || 1""#, "1:30: error: Right operand of || must be boolean."),
        (
            #".read": "data != null""#,
            "1:22: error: Invalid != expression: left operand is not a number, boolean, string, or null."
        ),
        (
            #".read": "now > true""#, "1:28: error: Invalid > expression: right operand is not a number or string."
        ),
        (#".read": "data.isArray()""#, "1:27: error: No such method/property 'isArray'."),
        (
            #".read": "data.hasChild('a') = true""#,
            "1:41: error: Assignments aren't possible; compare with ==."
        ),
        (#".read": "true;""#, "1:26: error: A rule is one expression without ';'."),
        (#".read": """#, "1:22: error: The expression is empty; write true or false."),
        (#".read": "data.val().matches(/a\\1/)""#, "1:43: error: References to groups aren't possible."),
        (#".read": "data.val().matches(/a/g)""#, "1:44: error: The only flag of a regular expression is i."),
    ])
    func anErrorIsReportedAtItsPlace(member: String, error: String) {
        #expect(DatabaseSamples.diagnostics(#"{"rules": {"\#(member)}}"#) == [error])
    }

    /// Escapes and lines of the file move the places within an expression.
    @Test(arguments: [
        ("{\n  \"rules\": {\n    \".read\": \"tr\"\n  }\n}", "3:15: error: Unknown variable 'tr'."),
        ("{\"rules\": {\".read\": \"\n  auth != null &&\n  tr\"}}", "3:3: error: Unknown variable 'tr'."),
        (#"{"rules": {".read": "\"\u0061\" == tr"}}"#, "1:36: error: Unknown variable 'tr'."),
        (#"{"rules": {".read": "'é😀' == tr"}}"#, "1:30: error: Unknown variable 'tr'."),
        (#"{"rules": {".read": "\n\n tr"}}"#, "1:27: error: Unknown variable 'tr'."),
        (#"{"rules": {".read": "'a' == "}}"#, "1:29: error: Expected an expression, found the end."),
        (#"{"rules": {".read": "\"a\" == "}}"#, "1:31: error: Expected an expression, found the end."),
    ])
    func placesAreThoseOfTheFile(text: String, error: String) {
        #expect(DatabaseSamples.diagnostics(text) == [error])
    }

    @Test func allErrorsAreReportedInOrder() {
        let text = """
            {"rules": {
              ".read": "tr", // one
              "a": {".write": "auth", "b": true},
              ".validate": "newData.val() >"
            }}
            """
        let invalid = #expect(throws: InvalidRules.self) { _ = try DatabaseRules(text) }
        #expect(
            invalid?.diagnostics.filter { $0.severity == .error }.map { "\($0.position): \($0.message)" } == [
                "2:13: Unknown variable 'tr'.",
                "3:20: The expression must be a boolean; compare it, such as with == true.",
                "3:32: Expected an object with the rules of 'b'.",
                "4:32: Expected an expression, found the end.",
            ])
    }

    @Test func strictJSONHasNoComments() throws {
        let text = #"""
            { // of the shop
              "rules": { /* "a" */
                "a//b": {".read": "
              auth.uid == 'http://x' && /* no */ 'a	b' != '\"//'
            "}, ".indexOn": "x"
              }
            } // end
            """#
            .replacing("a//b", with: "a").replacing(" && /* no */", with: " &&")
        let strict = try DatabaseRules(text).strictJSON
        #expect(
            try JSONValue(parsing: Array(strict.utf8)) == [
                "rules": [
                    "a": [".read": "\n  auth.uid == 'http://x' && 'a\tb' != '\"//'\n"], ".indexOn": "x",
                ]
            ])
        #expect(strict.contains("\n  \"rules\": {"))
    }

    @Test func whatIsInAStringIsNotAComment() throws {
        let text = #"{"rules": {".read": "'/*' != '//' && 'a\\\\'.matches(/\\\\/)"}}"#
        let strict = try DatabaseRules(text).strictJSON
        #expect(strict == text)
    }

    @Test func indexesAreThoseOfTheNearestName() throws {
        let rules = try DatabaseRules(
            #"""
            {"rules": {".indexOn": ".value", "users": {".indexOn": ["name", "/address//city/"], "$uid": {".indexOn": "a"},
             "ada": {}}}}
            """#)
        func indexes(_ path: String) -> [DatabaseRulesIndex] { rules.indexes(at: DatabaseSamples.path(path)) }
        #expect(indexes("/") == [.value])
        #expect(indexes("/users") == [.child(["name"]), .child(["address", "city"])])
        #expect(
            rules.hasIndex(for: .child("address/city"), at: ["users"])
                && !rules.hasIndex(for: .child("a"), at: ["users"]))
        #expect(rules.hasIndex(for: .value, at: []) && !rules.hasIndex(for: .value, at: ["users"]))
        #expect(rules.hasIndex(for: .key, at: ["x"]) && rules.hasIndex(for: .priority, at: ["x"]))
        #expect(indexes("/users/bob") == [.child(["a"])])
        #expect(indexes("/users/ada") == [])
        #expect(indexes("/users/bob/x") == [])
        #expect(indexes("/other") == [])
    }

    @Test func namesAreComparedByTheirBytes() throws {
        let rules = try DatabaseRules(
            "{\"rules\": {\"\u{E9}\": {\".read\": true}, \"e\u{301}\": {\".read\": \"auth != null\"}, \"$x\": {\".read\": \"$x == '\u{E9}x'\"}}}"
        )
        #expect(try DatabaseSamples.reads(rules, "/\u{E9}").isAllowed)
        #expect(try !DatabaseSamples.reads(rules, "/e\u{301}").isAllowed)
        #expect(try DatabaseSamples.reads(rules, "/\u{E9}x").isAllowed)
        #expect(try !DatabaseSamples.reads(rules, "/e\u{301}x").isAllowed)
        let other = "{\"rules\": {\"$\u{E9}\": {\".read\": \"$e\u{301} == 'x'\"}}}"
        #expect(DatabaseSamples.diagnostics(other).first?.contains("Unknown variable") == true)
        let indexed = try DatabaseRules("{\"rules\": {\".indexOn\": \"\u{E9}\"}}")
        #expect(indexed.hasIndex(for: .child("\u{E9}"), at: []))
        #expect(!indexed.hasIndex(for: .child("e\u{301}"), at: []))
    }

    @Test func escapesOfJSONAreRead() throws {
        let rules = try DatabaseRules(
            #"{"rules": {"\u0061\ud83d\ude00": {".read": "'\"\/x\u0027.length == 3"}, "$k": {".read": "$k\n!=\r\tnull"}}}"#
        )
        #expect(rules.nodes[1].name == "a😀")
        #expect(try DatabaseSamples.reads(rules, "/a😀").isAllowed && DatabaseSamples.reads(rules, "/b").isAllowed)
    }

    @Test func manyNamesOfOneLocationAreFound() throws {
        let names = (0..<50).map { #""n\#($0)": {".read": \#($0 % 2 == 0)}"# }
        let rules = try DatabaseRules(
            "{\"rules\": {\(names.joined(separator: ", ")), \"$n\": {\".read\": \"$n == 'n50'\"}}}")
        for index in 0...51 {
            #expect(try DatabaseSamples.reads(rules, "/n\(index)").isAllowed == (index % 2 == 0), "\(index)")
        }
    }

    // MARK: Limits

    @Test func nestingIsBounded() throws {
        func file(_ depth: Int) -> String {
            "{\"rules\": " + (0..<depth).map { "{\"n\($0)\": " }.joined() + "{}"
                + String(repeating: "}", count: depth + 1)
        }
        _ = try DatabaseRules(file(32))
        #expect(DatabaseSamples.diagnostics(file(33)).count == 1)
        for part in ["{\"rules\":", "{\"a\":", "["] {
            let text = "{\"rules\":" + String(repeating: part, count: 20_000)
            #expect(DatabaseSamples.diagnostics(text).count == 1)
        }
        for part in ["(", "!", "- ", "auth[", "true?", "root.child("] {
            let text = "{\"rules\": {\".read\": \"\(String(repeating: part, count: 20_000))\"}}"
            #expect(DatabaseSamples.diagnostics(text).first?.contains("is nested more than 98 deep") == true, "\(part)")
        }
        // Chains aren't nested.
        for chain in ["true || ", "true && "] {
            _ = try DatabaseRules("{\"rules\": {\".read\": \"\(String(repeating: chain, count: 20_000))true\"}}")
        }
        _ = try DatabaseRules("{\"rules\": {\".read\": \"auth\(String(repeating: ".a", count: 20_000)) == null\"}}")
    }

    @Test func aFileHasAtMost256KiB() throws {
        let start = #"{"rules": {".read": false}}"#
        _ = try DatabaseRules(start + String(repeating: " ", count: 262_144 - start.utf8.count))
        #expect(
            DatabaseSamples.diagnostics(start + String(repeating: " ", count: 262_145 - start.utf8.count))
                == ["1:1: error: The file has 262145 bytes; 262144 is the limit."])
    }

    @Test func regularExpressionsOfAFileAreBoundedTogether() throws {
        func file(_ count: Int) -> String {
            let rules = (0..<count).map { #""n\#($0)": {".read": "data.val().matches(/(a{1000}){4}\#($0)/)"}"# }
            return "{\"rules\": {\(rules.joined(separator: ", "))}}"
        }
        _ = try DatabaseRules(file(20))
        #expect(DatabaseSamples.diagnostics(file(60)).contains { $0.contains("too large together") })
        let same = #""a": {".read": "data.val().matches(/(a{1000}){4}/)"}, "#
        _ = try DatabaseRules(
            "{\"rules\": {" + (0..<60).map { same.replacing("\"a\"", with: "\"a\($0)\"") }.joined() + "\"z\": {}}}")
    }
}
