import Testing

@testable import SecurityRules

@Suite struct DatabaseWarningTests {
    @Test(arguments: [
        (#".read": true"#, ["1:21: warning: Everybody may read the whole database."]),
        (#".read": "true""#, ["1:22: warning: Everybody may read the whole database."]),
        (#".read": "auth == null || true""#, ["1:22: warning: Everybody may read the whole database."]),
        (#".read": "!(auth != null && false)""#, ["1:22: warning: Everybody may read the whole database."]),
        (#".read": "auth == null ? true : true""#, ["1:22: warning: Everybody may read the whole database."]),
        (#".write": true"#, ["1:22: warning: Everybody may write / and all that is below."]),
        (#"a": {"$b": {".write": true}}"#, ["1:35: warning: Everybody may write /a/$b and all that is below."]),
        (#"a": {".write": "true"}"#, ["1:29: warning: Everybody may write /a and all that is below."]),
        (#"a": {".read": true}"#, []), (#"a": {"$b": {".read": true}}"#, []), (#"$a": {"b": {".read": true}}"#, []),
        // All that there is, although the root isn't.
        (#"$a": {".read": true}"#, ["1:28: warning: Everybody may read /$a and all that is below."]),
        (#"$a": {"$b": {".read": "true"}}"#, ["1:36: warning: Everybody may read /$a/$b and all that is below."]),
        (#".read": false, ".write": "auth != null && false", "a": {".read": "auth != null"}"#, []),
        (#"a": {".read": false}, ".validate": true"#, []),
        (
            #"a": {".read": true, "b": {".read": false, "c": {".read": "auth != null"}}}"#,
            [
                "1:48: warning: This takes nothing away: '.read' of /a (1:18) grants it to everybody, also here and below.",
                "1:71: warning: This takes nothing away: '.read' of /a (1:18) grants it to everybody, also here and below.",
            ]
        ),
        (
            #"a": {".read": true, "b": {".read": "true"}}"#,
            ["1:49: warning: '.read' of /a (1:18) grants this already."]
        ),
        (
            #".read": "auth != null", "a": {"b": {".read": false, ".write": false}}"#,
            [
                "1:58: warning: A false here takes nothing away: what '.read' of / (1:12) grants is granted here and below, too."
            ]
        ),
        (#".read": "auth != null", "a": {".read": "auth.uid == 'x'"}"#, []),
        (#"a": {".read": "auth != null"}, "b": {".read": false}"#, []),
        (
            #".read": "data.val() > null""#,
            ["1:22: warning: '>' needs two numbers or two strings: a rule that gets here doesn't hold."]
        ),
        (
            #".read": "'a' < 1""#,
            ["1:22: warning: '<' needs two numbers or two strings: a rule that gets here doesn't hold."]
        ),
    ])
    func doubtfulRulesAreReported(member: String, warnings: [String]) {
        #expect(DatabaseSamples.diagnostics(#"{"rules": {"\#(member)}}"#) == warnings)
    }

    /// The service accepts them, so they don't keep a file from being used.
    @Test func warningsAreNotErrors() throws {
        #expect(try DatabaseRules(#"{"rules": {".read": true, ".write": true}}"#).warnings.count == 2)
    }
}
