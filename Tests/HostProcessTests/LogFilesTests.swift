import DocumentModel
import Foundation
@testable import HostProcess
import Logging
import TestSupport
import Testing
import WorkerProtocol

/// The log that a host keeps.
struct LogFilesTests {
    private let directory: TemporaryDirectory
    private let clock = ManualClock()
    private var place: String { directory.path + "/logs" }

    init() throws { directory = try TemporaryDirectory() }

    private func record(
        _ message: String, function: String? = "f", level: Logger.Level = .info, execution: String? = nil,
        fields: [String: LogValue] = [:]
    ) -> LogRecord {
        LogRecord(
            time: clock.timestamp(), level: level, function: function, message: message, execution: execution,
            fields: fields)
    }

    private func files(bytes: Int = 1 << 20, days: Int = 14) throws -> LogFiles {
        let files = LogFiles(now: clock.timestamp)
        var limits = LogFiles.Limits()
        limits.bytes = bytes
        limits.age = .seconds(days * 86_400)
        try files.open(place, limits: limits)
        return files
    }

    private func append(_ records: LogRecord..., to files: LogFiles) throws {
        try files.append(Data(records.map { $0.json + "\n" }.joined().utf8))
    }

    private func messages(_ filter: LogFilter = LogFilter()) throws -> [String] {
        var reader = LogReader(place, filter)
        var messages: [String] = []
        try reader.read { messages.append($0.message) }
        return messages
    }

    @Test(.enabled(if: geteuid() == 0, "skipped: only root can give files away"))
    func whatRootLogsBelongsToTheOwnerOfTheDataDirectory() throws {
        #expect(chown(directory.path, 65_534, 65_534) == 0)
        try append(record("one"), to: try files())
        for path in [place, place + "/00000001.jsonl"] {
            let owner = try FileManager.default.attributesOfItem(atPath: path)[.ownerAccountID]
            #expect((owner as? NSNumber)?.intValue == 65_534, "\(path)")
        }
    }

    @Test func aLogThatCannotBeWrittenIsReported() throws {
        try withoutPrivileges(in: directory) { user in
            try FileManager.default.createDirectory(
                atPath: place, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o500])
            let error = #expect(throws: HostError.self) { _ = try files() }
            #expect(error?.description.contains("chown -R \(user) \(place)") == true)
        }
    }

    @Test func recordsComeBackAsTheyWere() throws {
        let written = [
            record("sold \"é\" \n\u{1}", execution: "x1", fields: ["uid": "ada", "a.b": "\\"]),
            record("started", function: nil, level: .critical),
            record(
                "nested",
                fields: ["order": .members(["id": "7", "items": .list(["a", .members([:])])]), "n": .number(2.5)]),
        ]
        let files = try files()
        for record in written { try append(record, to: files) }
        var reader = LogReader(place, LogFilter())
        var read: [LogRecord] = []
        try reader.read { read.append($0) }
        #expect(read == written)
        #expect(written[0].text.hasSuffix("info f: sold \"é\"    a.b=\\ execution.id=x1 uid=ada"))
        #expect(written[1].text.hasSuffix("critical host: started"))
        #expect(written[2].text.hasSuffix(#"info f: nested n=2.5 order={"id":"7","items":["a",{}]}"#))
    }

    @Test func aFilterTakesWhatMatchesAllOfIt() throws {
        let files = try files()
        try append(record("old"), to: files)
        clock.advance(seconds: 100)
        try append(
            record("a", execution: "1"), record("b", function: "g", level: .error, execution: "2"),
            record("c", level: .warning, execution: "1"), to: files)
        func found(_ change: (inout LogFilter) -> Void) throws -> [String] {
            var filter = LogFilter()
            change(&filter)
            return try messages(filter)
        }
        #expect(try found { $0.function = "f" } == ["old", "a", "c"])
        #expect(try found { $0.execution = "1" } == ["a", "c"])
        #expect(try found { $0.level = .warning } == ["b", "c"])
        try append(
            record("begins", fields: ["database.session": "abcdefgh"]),
            record("goes on", fields: ["database.session": "12345678", "database.former": "abcdefgh"]), to: files)
        #expect(try found { $0.session = "abcdefghijkl" } == ["begins", "goes on"])
        #expect(try found { $0.session = "1234" } == ["goes on"])
        #expect(try found { $0.session = "abcdefgx" } == [])
        #expect(try found { $0.since = clock.timestamp() } == ["a", "b", "c", "begins", "goes on"])
        let both = try found {
            $0.function = "f"
            $0.level = .warning
        }
        #expect(both == ["c"])
    }

    @Test func theOldestAreDeletedBeyondTheSize() throws {
        let files = try files(bytes: 1 << 20)
        let text = String(repeating: "x", count: 10_000)
        for number in 0..<500 {
            try append(record("\(number) \(text)"), to: files)
            clock.advance(seconds: 10)
        }
        let kept = try messages().compactMap { Int($0.prefix { $0 != " " }) }
        #expect(kept.last == 499)
        #expect(kept == Array((kept.first ?? 0)...499))
        // A segment and what was added since the last look may be too much.
        #expect((80...125).contains(kept.count))
    }

    @Test func theOldestAreDeletedBeyondTheAge() throws {
        let files = try files(days: 8)
        for day in 0..<20 {
            try append(record("\(day)"), to: files)
            // Files are as old as the test says.
            for segment in LogSegment.all(in: place) where segment.number == day + 1 {
                let changed = Date(timeIntervalSince1970: Double(clock.timestamp().microseconds) / 1e6)
                try FileManager.default.setAttributes([.modificationDate: changed], ofItemAtPath: segment.path)
            }
            clock.advance(seconds: 86_400)
        }
        #expect(try messages() == (11..<20).map { "\($0)" })
    }

    /// A host that is started again and again has many small files.
    @Test func theOldestAreDeletedBeyondTheNumberOfFiles() throws {
        var limits = LogFiles.Limits()
        limits.files = 20
        for start in 0..<50 {
            let files = LogFiles(now: clock.timestamp)
            try files.open(place, limits: limits)
            try append(record("\(start)"), to: files)
        }
        #expect(LogSegment.all(in: place).count == 20)
        #expect(try messages() == (30..<50).map { "\($0)" })
        #expect(LogFiles.Limits().files == 1000)
    }

    @Test func aHostThatStartsAgainGoesOnInAnotherFile() throws {
        try append(record("first"), to: try files())
        // It ended while it wrote a line.
        let segment = try #require(LogSegment.all(in: place).first)
        let file = try #require(FileHandle(forWritingAtPath: segment.path))
        try file.seekToEnd()
        try file.write(contentsOf: Data(#"{"time":"2026"#.utf8))
        try append(record("second"), to: try files())
        #expect(try messages() == ["first", "second"])
    }

    @Test(arguments: [true, false])
    func aLogWhoseFilesAreDeletedGoesOnInAnother(withDirectory: Bool) throws {
        let files = try files()
        var reader = LogReader(place, LogFilter())
        var seen: [String] = []
        try append(record("first"), to: files)
        try reader.read { seen.append($0.message) }
        let segment = try #require(LogSegment.all(in: place).first)
        try FileManager.default.removeItem(atPath: withDirectory ? place : segment.path)
        try append(record("second"), to: files)
        try append(record("third"), to: files)
        #expect(try messages() == ["second", "third"])
        // As of `logs --follow`.
        try reader.read { seen.append($0.message) }
        #expect(seen == ["first", "second", "third"])
    }

    @Test func aClosedLogMakesNoFiles() throws {
        let files = try files()
        try append(record("first"), to: files)
        files.close()
        try FileManager.default.removeItem(atPath: place)
        try append(record("second"), to: files)
        #expect(!FileManager.default.fileExists(atPath: place))
    }

    @Test(.enabled(if: SmallDisk.isPossible, "skipped: this user may not mount a disk for it"))
    func aLineThatFoundNoRoomTakesNoOtherWithIt() throws {
        let disk = try SmallDisk(megabytes: 1)
        let files = LogFiles(now: clock.timestamp)
        try files.open(disk.path + "/logs", limits: LogFiles.Limits())
        try append(record("first"), to: files)
        try disk.fill("filler")
        // Its beginning goes into what is left of the page.
        let long = record(String(repeating: "x", count: 10_000))
        #expect(throws: (any Error).self) { try append(long, to: files) }
        try FileManager.default.removeItem(atPath: disk.path + "/filler")
        try append(record("second"), to: files)
        try append(record("third"), to: files)
        var reader = LogReader(disk.path + "/logs", LogFilter())
        var messages: [String] = []
        try reader.read { messages.append($0.message) }
        #expect(messages == ["first", "second", "third"])
    }

    @Test func aReaderGoesOnWhereItWas() throws {
        let files = try files(bytes: 1 << 20)
        var reader = LogReader(place, LogFilter())
        var seen: [String] = []
        try reader.read { seen.append($0.message) }
        let text = String(repeating: "x", count: 30_000)
        for number in 0..<40 {
            let line = Data((record("\(number) \(text)").json + "\n").utf8)
            // A line may be read while it is written.
            try files.append(line.prefix(1000))
            try reader.read { seen.append($0.message) }
            try files.append(line.dropFirst(1000))
            if number % 3 == 0 { try reader.read { seen.append($0.message) } }
        }
        try reader.read { seen.append($0.message) }
        #expect(seen.map { $0.prefix { $0 != " " } } == (0..<40).map { "\($0)" })
        #expect(LogSegment.all(in: place).count > 1)
    }

    /// As of `logs --follow --since 10m`.
    @Test func aReaderOfRecentRecordsGoesOnInAFileThatWasQuiet() throws {
        let files = try files()
        try append(record("old"), to: files)
        let segment = try #require(LogSegment.all(in: place).first)
        // Files are as old as the test says.
        let changed = Date(timeIntervalSince1970: Double(clock.timestamp().microseconds) / 1e6)
        try FileManager.default.setAttributes([.modificationDate: changed], ofItemAtPath: segment.path)
        clock.advance(seconds: 1000)
        var filter = LogFilter()
        filter.since = clock.timestamp()
        var reader = LogReader(place, filter)
        var seen: [String] = []
        try reader.read { seen.append($0.message) }
        #expect(seen == [])
        try append(record("new"), to: files)
        #expect(LogSegment.all(in: place) == [segment])
        try reader.read { seen.append($0.message) }
        #expect(seen == ["new"])
    }

    @Test(.endsHangs) func linesOfAStartWaitForTheDataDirectory() async throws {
        let archive = LogArchive()
        archive.writer.write(record("before").json + "\n")
        archive.writer.write(lines: 1, bytes: 10) { [line = record("made later").json] in Array("\(line)\n".utf8) }
        try archive.open(in: directory.path, limits: LogFiles.Limits())
        // It waits for a second each time, however slow the writer is.
        while try messages().count < 2 {
            try Task.checkCancellation()
            archive.writer.flush()
        }
        #expect(try messages() == ["before", "made later"])
    }
}
