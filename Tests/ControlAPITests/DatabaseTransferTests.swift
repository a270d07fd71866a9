import ControlAPI
import ControlProtocol
import DocumentModel
import HostConfiguration
import RealtimeModel
import RealtimeStore
import RealtimeTesting
import Synchronization
import TestSupport
import Testing

/// Exports and imports of Realtime Databases.
@Suite(.endsHangs) struct DatabaseTransferTests {
    private func message(_ body: () async throws -> Void) async -> String {
        let error = await #expect(throws: DocumentError.self) { try await body() }
        return error?.message ?? ""
    }

    // MARK: Round trips

    @Test func anExportIsTheTreeWithItsPriorities() async throws {
        let fixture = try DatabaseFixture()
        let json =
            #"{"a":{"0":true,"1":{".value":-0.5,".priority":"p"},".priority":3},"error":{"bytes":7},"é":"q\"\n"}"#
        try await fixture.set("", json)
        #expect(try await fixture.export() == json + "\n")
        let lines = try await fixture.export(.jsonl).split(separator: "\n")
        #expect(
            lines.first?.hasPrefix(
                #"{"format":"functions-host database","version":1,"database":"demo-default-rtdb","path":"/","readTime":"2"#
            ) == true)
        #expect(
            lines.dropFirst() == [
                #"{"path":"a","priority":3}"#, #"{"path":"a/0","value":true}"#,
                #"{"path":"a/1","value":-0.5,"priority":"p"}"#, #"{"path":"error/bytes","value":7}"#,
                #"{"path":"é","value":"q\"\n"}"#, #"{"count":5}"#,
            ])
        #expect(try await fixture.export(.json, "/a/1") == #"{".value":-0.5,".priority":"p"}"# + "\n")
        #expect(
            try await fixture.exportedRows("a/1") == [#"{"path":"","value":-0.5,"priority":"p"}"#, #"{"count":1}"#])
        #expect(try await fixture.export(.json, "nothing") == "null\n")
        #expect(try await fixture.exportedRows("nothing") == [#"{"count":0}"#])
        try await fixture.close()
    }

    @Test(arguments: DatabasePlace.Format.allCases, [false, true])
    func anImportedExportGivesTheSameExport(format: DatabasePlace.Format, inSteps: Bool) async throws {
        let (source, copy) = (try DatabaseFixture(), try DatabaseFixture())
        var random = SeededGenerator(seed: 11)
        for round in 0..<15 {
            let json = RandomValues.json(&random, depth: 4)
            try await source.set("", "null")
            try await source.set("a/b", json)
            if inSteps { try await copy.set("", "null") }
            try await copy.importing(try await source.export(format), format, inSteps: inSteps)
            #expect(try await copy.export() == source.export(), "round \(round): \(json)")
            #expect(try await copy.exportedRows() == source.exportedRows(), "round \(round): \(json)")
            // From one place to another.
            try await copy.importing(try await source.export(format, "a/b"), format, "x/y", inSteps: inSteps)
            #expect(try await copy.export(.json, "x/y") == source.export(.json, "a/b"), "round \(round): \(json)")
        }
        #expect(try await copy.check()["problems"] == 0)
        try await source.close()
        try await copy.close()
    }

    /// More than one piece, commit and batch of rows.
    @Test(arguments: DatabasePlace.Format.allCases, [false, true])
    func muchGoesThrough(format: DatabasePlace.Format, inSteps: Bool) async throws {
        let (source, copy) = (try DatabaseFixture(), try DatabaseFixture())
        let text = String(repeating: "é", count: 700_000)
        let members = (0..<9_000).map { #""k\#($0)":{"n":\#($0),".priority":\#($0 % 10)}"# }
        try await source.set("", #"{"many":{\#(members.joined(separator: ","))},"long":"\#(text)"}"#)
        #expect(try await copy.importing(try await source.export(format), format, inSteps: inSteps) == 18_001)
        #expect(try await copy.export() == source.export())
        #expect(try await copy.check()["problems"] == 0)
        try await source.close()
        try await copy.close()
    }

    // MARK: What happens to what exists

    @Test func oneChangeReplacesAndStepsAdd() async throws {
        let fixture = try DatabaseFixture()
        let before = #"{"a":{"x":1,"y":2},"b":3}"#
        try await fixture.set("", before)
        try await fixture.importing(#"{"y":5}"#, .json, "a", inSteps: true)
        #expect(try await fixture.export() == #"{"a":{"x":1,"y":5},"b":3}"# + "\n")
        try await fixture.importing(#"{"y":6}"#, .json, "a")
        #expect(try await fixture.export() == #"{"a":{"y":6},"b":3}"# + "\n")
        for nothing in ["null", "{}", "[null,{}]"] {
            try await fixture.set("", before)
            try await fixture.importing(nothing, .json, "a", inSteps: true)
            #expect(try await fixture.export() == before + "\n")
            try await fixture.importing(nothing, .json, "a")
            #expect(try await fixture.export() == #"{"b":3}"# + "\n")
        }
        let empty = try await fixture.export(.jsonl, "nothing")
        try await fixture.importing(empty, .jsonl)
        #expect(try await fixture.export() == "null\n")
        try await fixture.close()
    }

    @Test(arguments: [false, true]) func aListenerSeesOneChange(inSteps: Bool) async throws {
        let fixture = try DatabaseFixture()
        try await fixture.set("", #"{"old":1}"#)
        let listening = try await Listening(to: fixture.store)
        let members = (0..<3_000).map { #""k\#($0)":\#($0)"# }.joined(separator: ",")
        try await fixture.importing("{\(members)}", inSteps: inSteps)
        // It has what was acknowledged.
        let received = listening.pushes
        #expect(!listening.hasFailed)
        if inSteps {
            #expect(received.count == 6)
        } else {
            #expect(received.count == 1)
            #expect(received.first?.changes.count == 1)
            #expect(received.first?.changes.first?.node?.children.count == 3_000)
        }
        listening.cancel()
        try await fixture.close()
    }

    // MARK: Refusals

    @Test(arguments: [false, true], [DatabasePlace.Format.json, .jsonl])
    func anImportThatBreaksOffChangesNothing(inSteps: Bool, format: DatabasePlace.Format) async throws {
        let fixture = try DatabaseFixture()
        let members = (0..<5_000).map { #""k\#($0)":\#($0)"# }.joined(separator: ",")
        try await fixture.importing("{\(members)}", .json, "new")
        let whole = try await fixture.export(format, "new")
        try await fixture.set("", #"{"old":1}"#)
        await #expect(throws: Chunks.BrokenOff.self) {
            try await fixture.importing(Chunks(whole, bytes: 1_000, breaksOff: true), format, inSteps: inSteps)
        }
        // A file that was cut off: anywhere for JSON, and after a line for JSON Lines.
        let cut = format == .json ? String(whole.dropLast(3)) : String(whole.dropLast(#"{"count":5000}"#.count + 1))
        let reason = await message { try await fixture.importing(cut, format, inSteps: inSteps) }
        #expect(
            reason.contains(format == .json ? "a comma or } should be here" : "incomplete after line 5001"), "\(reason)"
        )
        #expect(try await fixture.export() == #"{"old":1}"# + "\n")
        try await fixture.store.settle()
        #expect(try await fixture.check()["problems"] == 0)
        #expect(try await fixture.importing(whole, format, inSteps: inSteps) == 5_000)
        try await fixture.close()
    }

    @Test(arguments: [
        ("", "line 1, column 1 (byte 1), at /p"), ("{\n\"a\":1,\n \"b\" 2}", "line 3, column 6 (byte 15), at /p"),
        (#"{"a":{"b.c":1}}"#, "line 1, column 7 (byte 7), at /p/a: \"b.c\" is not a key"),
        (#"{"a":1,"b":2,"a":3}"#, "at /p: the key \"a\" is repeated"),
        (#"{"a":{".priority":true,"x":1}}"#, "at /p/a: a .priority is not a string or a number"),
        ("{\"t\":\n{\".sv\":\"timestamp\"}}", "line 2"), (#"{"t":{".sv":"timestamp"}}"#, "server value (.sv)"),
        (#"{"a":1} {"b":1}"#, "line 1, column 9 (byte 9), at /p: the text continues"),
        (#"{"format":"functions-host database","version":1}"#, "add --format jsonl"),
    ]) func wrongJSONIsRefusedWithItsPlace(text: String, expected: String) async throws {
        let fixture = try DatabaseFixture()
        for inSteps in [false, true] {
            let reason = await message { try await fixture.importing(text, .json, "p", inSteps: inSteps) }
            #expect(reason.contains(expected), "\(reason)")
        }
        #expect(try await fixture.export() == "null\n")
        try await fixture.close()
    }

    @Test(arguments: [
        (#"{"path":"a","value":1}"#, 1, "line 1, column 1: this is not an export of a database"),
        (#"{"format":"functions-host documents","version":1}"#, 1, "import it without --database"),
        (#"{"format":"functions-host database","version":2}"#, 1, "versions up to 1"),
        ("H\n{\"path\":\"a\",\"value\":1}\n{\"path\":\"b\",\"value\":tru}\n", 3, "column 21"),
        ("H\n{\"path\":\"b\",\"value\":1}\n{\"path\":\"a\",\"value\":1}\nE2", 3, "/a comes after /b"),
        ("H\n{\"path\":\"10\",\"value\":1}\n{\"path\":\"9\",\"value\":1}\nE2", 3, "/9 comes after /10"),
        ("H\n{\"path\":\"a\",\"value\":1}\n{\"path\":\"a\",\"value\":1}\nE2", 3, "the path /a is repeated"),
        ("H\n{\"path\":\"a\",\"value\":1}\n{\"path\":\"a/b\",\"value\":1}\nE2", 3, "/a/b is below /a"),
        ("H\n{\"path\":\"a\",\"priority\":1}\n{\"path\":\"b\",\"value\":1}\nE2", 3, "/a has a priority, and no line"),
        ("H\n{\"path\":\"a\",\"priority\":1}\nE1", 3, "/a has a priority, and no line"),
        ("H\n{\"path\":\"a\",\"value\":1}\nE2", 3, "should have 2 lines of values, but has 1"),
        ("H\n{\"path\":\"a\",\"value\":1}\nE1\n{\"path\":\"b\",\"value\":1}", 4, "the export ended before"),
        ("H\nH\nE0", 2, "\"format\" is unknown"), ("H\n\nE0", 2, "line 2"),
    ]) func wrongLinesAreRefusedWithTheirNumber(text: String, line: Int, expected: String) async throws {
        let fixture = try DatabaseFixture()
        let header = #"{"format":"functions-host database","version":1}"#
        let whole = text.replacing("H", with: header).replacing(/E(\d)/) { #"{"count":\#($0.output.1)}"# }
        for inSteps in [false, true] {
            let reason = await message { try await fixture.importing(whole, .jsonl, inSteps: inSteps) }
            #expect(reason.hasPrefix("line \(line)"), "\(reason)")
            #expect(reason.contains(expected), "\(reason)")
        }
        #expect(try await fixture.export() == "null\n")
        try await fixture.close()
    }

    @Test func linesMayBeFollowedByEmptyOnes() async throws {
        let fixture = try DatabaseFixture()
        let text = #"{"format":"functions-host database","version":1}"# + "\r\n" + #"{"path":"a","value":1}"# + "\r\n"
        #expect(try await fixture.importing(text + "{\"count\":1}\r\n\r\n \n", .jsonl) == 1)
        #expect(try await fixture.export() == #"{"a":1}"# + "\n")
        let reason = await message { try await fixture.importing("", .jsonl) }
        #expect(reason.contains("the input is empty"))
        try await fixture.close()
    }

    /// The header and the last line are parsed as a whole.
    @Test func onlyLinesOfValuesMayBeLong() async throws {
        let fixture = try DatabaseFixture()
        let header = #"{"format":"functions-host database","version":1}"#
        let long = String(repeating: "x", count: 70_000)
        let spaces = String(repeating: " ", count: 70_000)
        let cases: [(String, String)] = [
            (
                #"{"rooms":{"r1":"\#(long)"}}"#,
                "line 1: the line is longer than 64 KiB, the limit of a header: this looks like JSON rather than JSON "
                    + "Lines; import it with --format json"
            ),
            ("\(header)\(spaces)\n{\"count\":0}\n", "line 1: the line is longer than 64 KiB, the limit of a header"),
            (
                "\(header)\n{\"rooms\":\"\(long)\"}\n",
                "line 2, column 2: the line is not a value's, and is longer than 64 KiB, the limit of an export's last "
                    + "line: \"rooms\" is unknown"
            ),
            ("\(header)\n{\"count\":0\(spaces)}\n", "line 2, column 2: the line is not a value's, and is longer"),
            // A line that begins with a path is a value's.
            ("\(header)\n{\"path\":\"a\",\"x\":\"\(long)\"}\n", "line 2, column 13: \"x\" is unknown"),
        ]
        for (text, expected) in cases {
            for inSteps in [false, true] {
                let reason = await message { try await fixture.importing(text, .jsonl, inSteps: inSteps) }
                #expect(reason.hasPrefix(expected), "\(reason)")
            }
        }
        #expect(try await fixture.export() == "null\n")
        // The members may have any order.
        let rows = #"{"path":"a","value":"\#(long)"}"# + "\n" + #"{"value":"\#(long)","path":"b"}"# + "\n"
        #expect(try await fixture.importing("\(header)\n\(rows){\"count\":2}\n", .jsonl) == 2)
        #expect(try await fixture.export() == #"{"a":"\#(long)","b":"\#(long)"}"# + "\n")
        try await fixture.close()
    }

    @Test func depthCountsFromTheRoot() async throws {
        let fixture = try DatabaseFixture()
        let deep = (1...31).map { "k\($0)" }.joined(separator: "/")
        try await fixture.importing("1", .json, deep + "/a")
        let rows = try await fixture.export(.jsonl)
        let reason = await message { try await fixture.importing(rows, .jsonl, "p") }
        #expect(reason.hasPrefix("line 2") && reason.contains("32 deep"), "\(reason)")
        let json = try await fixture.export()
        #expect(await message { try await fixture.importing(json, .json, "p") }.contains("32 deep"))
        try await fixture.close()
    }

    // MARK: Databases

    @Test func inProductionADatabaseIsOneOfTheConfiguration() async throws {
        let fixture = try DatabaseFixture(.production)
        #expect(try await fixture.export(of: "demo-other") == "null\n")
        try await fixture.importing("7", into: "demo-other")
        #expect(try await fixture.export(of: "demo-other") == "7\n")
        for reason in [
            await message { try await fixture.importing("7", into: "demo-third") },
            await message { _ = try await fixture.export(of: "demo-third") },
        ] {
            #expect(
                reason
                    == "the database \"demo-third\" doesn't exist; add it to \"database.namespaces\" in functions.json, "
                    + "or name one of these: demo-default-rtdb, demo-other")
        }
        #expect(try await fixture.store.namespaces() == ["demo-other"])
        try await fixture.close()
    }

    @Test func inDevelopmentAnImportCreatesADatabase() async throws {
        let fixture = try DatabaseFixture()
        let reason = await message { _ = try await fixture.export(of: "demo-third") }
        #expect(reason.contains("name one of these: demo-default-rtdb, demo-other"))
        try await fixture.importing("7", into: "demo-third")
        #expect(try await fixture.export(of: "demo-third") == "7\n")
        #expect(await message { try await fixture.importing("7", into: "No Name") }.contains("is not the name"))
        try await fixture.close()
    }
}

/// A listener to the root.
private final class Listening: Sendable {
    private struct State {
        var pushes: [RealtimePush] = []
        var hasFailed = false
        var listener: RealtimeListener?
    }

    private let state = Mutex(State())

    /// Returns once it has begun.
    init(to store: RealtimeStore) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            let listener = store.listen(
                to: .root, in: DatabaseFixture.name, read: { _ in },
                started: { continuation.resume(with: $0.mapError { $0 }) },
                receive: { [self] push in state.withLock { $0.pushes.append(push) } },
                failed: { [self] _ in state.withLock { $0.hasFailed = true } })
            state.withLock { $0.listener = listener }
        }
    }

    var pushes: [RealtimePush] { state.withLock { $0.pushes } }
    var hasFailed: Bool { state.withLock { $0.hasFailed } }

    func cancel() { state.withLock { $0.listener }?.cancel() }
}
