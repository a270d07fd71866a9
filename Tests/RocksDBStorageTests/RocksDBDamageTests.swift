import CRocksDB
import Foundation
import StorageEngine
import StoreTestSupport
import TestSupport
import Testing

@testable import RocksDBStorage

/// Files that a disk or a crash has changed: an answer is right or an error.
struct RocksDBDamageTests {
    /// A store with rows in tables and in its log, as a killed process leaves it.
    private struct Original {
        let directory: TemporaryDirectory
        /// The content of each row, by the commit that wrote it last.
        let rows: [[UInt8]: [UInt8]]
        /// The length of the log after each commit that is in no table, and which commit it was.
        let ends: [(bytes: Int, commit: UInt8)]
        let log: String

        init() throws {
            directory = try TemporaryDirectory()
            let store = directory.file("live")
            let engine = try RocksDBEngine(directory: store)
            var rows: [[UInt8]: [UInt8]] = [:]
            func commit(_ number: UInt8) throws {
                try engine.write { writer in
                    for part in 0..<60 {
                        let (key, value) = ([UInt8(part)], [UInt8](repeating: number, count: 300 + part))
                        try writer.put(.documents, key, value)
                        rows[key] = value
                    }
                }
            }
            for number: UInt8 in 1...3 { try commit(number) }
            try engine.close()
            // After opening again, these are in a table. What comes now is in the log alone.
            let again = try RocksDBEngine(directory: store)
            let logs = try FileManager.default.contentsOfDirectory(atPath: store).filter { $0.hasSuffix(".log") }
            let log = try #require(logs.max())
            var ends: [(Int, UInt8)] = []
            for number: UInt8 in 4...9 {
                try again.write { writer in
                    for part in 0..<60 {
                        let (key, value) = ([UInt8(part)], [UInt8](repeating: number, count: 300 + part))
                        try writer.put(.documents, key, value)
                        rows[key] = value
                    }
                }
                ends.append((StoreFile.size(store + "/" + log) ?? 0, number))
            }
            try FileManager.default.copyItem(atPath: store, toPath: directory.file("documents.rocksdb"))
            try again.close()
            (self.rows, self.ends, self.log) = (rows, ends, log)
        }

        var path: String { directory.file("documents.rocksdb") }
        var names: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() } }

        var all: String { (try? names.joined(separator: ", ")) ?? "" }

        /// A copy of the store with one file changed.
        func copy(changing name: String, _ change: (inout Data) -> Void) throws -> (TemporaryDirectory, String) {
            let place = try TemporaryDirectory()
            let copy = place.file("documents.rocksdb")
            try FileManager.default.copyItem(atPath: path, toPath: copy)
            var bytes = try #require(FileManager.default.contents(atPath: copy + "/" + name))
            change(&bytes)
            try bytes.write(to: URL(fileURLWithPath: copy + "/" + name))
            return (place, copy)
        }
    }

    /// Opens a store, checks it and reads all there is.
    ///
    /// - Parameter file: what each error shall name; nil for the store alone.
    /// - Returns: what is in it, nil if it or a part of it was refused.
    private func read(_ store: String, naming file: String? = nil) throws -> [[UInt8]: [UInt8]]? {
        do {
            let engine = try RocksDBEngine(directory: store)
            defer { try? engine.close() }
            var findings = 0
            try engine.findDamage { finding in
                #expect(finding.contains(store) && finding.contains(file ?? store), "\(finding)")
                findings += 1
                return true
            }
            let rows = try engine.makeReadSession().read { reader in
                var rows: [[UInt8]: [UInt8]] = [:]
                try reader.scan(.documents, .all, reverse: false) { key, value in
                    rows[key] = value
                    return true
                }
                return rows
            }
            #expect(findings == 0)
            return rows
        } catch let error as StorageError {
            #expect(error.message.contains(store) && error.message.contains(file ?? store), "\(error)")
            return nil
        }
    }

    /// Scans upwards that also look for removed ranges pass by such a table without an error, before 8.3.3.
    @Test func aTableWhoseFirstBlockIsDamagedIsFound() throws {
        let directory = try TemporaryDirectory()
        let store = directory.file("documents.rocksdb")
        let engine = try RocksDBEngine(directory: store)
        var random = SeededGenerator(seed: 7)
        // More than three tables that can't be compressed.
        for part in 0..<40 as Range<UInt8> {
            try engine.write { writer in
                for row in 0..<100 as Range<UInt8> {
                    let value = (0..<1000).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } }
                    try writer.put(.documents, [part, row], value)
                }
            }
        }
        _ = try engine.compact(.whole) { _ in }
        try engine.close()
        let last = try #require(
            try FileManager.default.contentsOfDirectory(atPath: store).filter { $0.hasSuffix(".sst") }.max())
        let file = try #require(FileHandle(forUpdatingAtPath: store + "/" + last))
        try file.seek(toOffset: 20)
        try file.write(contentsOf: [1, 2, 3, 4, 5, 6, 7, 8])
        try file.close()
        let damaged = try RocksDBEngine(directory: store)
        var findings: [String] = []
        try damaged.findDamage {
            findings.append($0)
            return true
        }
        #expect(findings.count == 1 && findings.first?.contains(last) == true, "\(findings)")
        for reverse in [false, true] {
            let error = storageRefusal {
                try damaged.makeReadSession().read { try $0.scan(.documents, .all, reverse: reverse) { _, _ in true } }
            }
            #expect(error?.kind == .damaged && error?.message.contains(last) == true, "\(String(describing: error))")
        }
        #expect(throws: StorageError.self) {
            try damaged.makeReadSession().read { try $0.count(.documents, .all) }
        }
        try damaged.close()
    }

    @Test func anUnchangedStoreIsReadWhole() throws {
        let original = try Original()
        let (place, copy) = try original.copy(changing: original.log) { _ in }
        try withExtendedLifetime(place) { () throws in #expect(try read(copy) == original.rows) }
    }

    @Test func changedBytesAreNeverReadAsSomethingElse() throws {
        let original = try Original()
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        var noticed = 0
        // The other files tell people and other programs something, and have no data.
        let names = try original.names.filter { name in
            !["LOCK", "IDENTITY"].contains(name) && !name.hasPrefix("LOG") && !name.hasPrefix("OPTIONS")
        }
        for round in 0..<120 {
            let name = names[round % names.count]
            let (place, copy) = try original.copy(changing: name) { bytes in
                guard !bytes.isEmpty else { return }
                let index = Int.random(in: 0..<bytes.count, using: &random)
                switch round / names.count % 3 {
                case 0: bytes[index] ^= 1 << UInt8.random(in: 0...7, using: &random)
                case 1:
                    for index in index..<min(index + 16, bytes.count) {
                        bytes[index] = UInt8.random(in: 0...255, using: &random)
                    }
                default: for index in index..<min(index + 4096, bytes.count) { bytes[index] = 0 }
                }
            }
            try withExtendedLifetime(place) { () throws in
                guard let rows = try read(copy) else {
                    noticed += 1
                    return
                }
                let states = Set(rows.values.compactMap(\.first))
                // One whole commit or another, and not older than the tables.
                #expect(states.count == 1, "\(name) in round \(round), the seed is \(seed)")
                #expect((states.first ?? 0) >= 3, "\(name) in round \(round), the seed is \(seed)")
                #expect(rows.count == original.rows.count)
            }
        }
        // Changes of unused bytes harm nothing.
        #expect(noticed > 40, "the seed is \(seed)")
    }

    @Test func aTableOrDirectoryCutAnywhereIsRefused() throws {
        let original = try Original()
        for name in try original.names where name.hasSuffix(".sst") || name == "CURRENT" {
            let size = StoreFile.size(original.path + "/" + name) ?? 0
            for length in stride(from: 0, to: size, by: max(1, size / 19)) {
                let (place, copy) = try original.copy(changing: name) { $0 = $0.prefix(length) }
                try withExtendedLifetime(place) { () throws in
                    #expect(try read(copy) == nil, "\(name) with \(length) of \(size) bytes")
                }
            }
        }
    }

    /// It tells RocksDB where to find and how to check the rest.
    @Test func eachByteOfATablesEndIsChecked() throws {
        let original = try Original()
        let name = try #require(original.names.first { $0.hasSuffix(".sst") })
        let size = StoreFile.size(original.path + "/" + name) ?? 0
        for index in size - 53..<size {
            let (place, copy) = try original.copy(changing: name) { $0[index] ^= 0xFF }
            try withExtendedLifetime(place) { () throws in
                let rows = try read(copy)
                // Some bytes are never used.
                #expect(rows == nil || rows == original.rows, "byte \(index - size)")
                if rows == nil { #expect(try FileManager.default.contentsOfDirectory(atPath: copy).contains(name)) }
            }
        }
    }

    /// RocksDB uses them before it compares their checksum, and ends the process for what can't be.
    @Test(arguments: [1, 4]) func damagedPropertiesOfATableAreRefused(bytesFromTheEnd: Int) throws {
        let original = try Original()
        let name = try #require(original.names.first { $0.hasSuffix(".sst") })
        let (place, copy) = try original.copy(changing: name) { bytes in
            // The place of their block comes after their name: two numbers of 7 bits a byte.
            guard var index = bytes.range(of: Data("rocksdb.properties".utf8), options: .backwards)?.upperBound else {
                return
            }
            var numbers: [Int] = []
            for _ in 0..<2 {
                var (number, shift) = (0, 0)
                repeat {
                    number |= Int(bytes[index] & 0x7F) << shift
                    shift += 7
                    index += 1
                } while bytes[index - 1] >= 0x80
                numbers.append(number)
            }
            bytes[numbers[0] + numbers[1] - bytesFromTheEnd] ^= 0xFF
        }
        try withExtendedLifetime(place) { () throws in #expect(try read(copy) == nil) }
    }

    @Test func aTableThatWasNeverFinishedIsRemoved() throws {
        let original = try Original()
        let (place, copy) = try original.copy(changing: original.log) { _ in }
        try Data([1, 2, 3]).write(to: URL(fileURLWithPath: copy + "/000999.sst"))
        try withExtendedLifetime(place) { () throws in
            #expect(try read(copy) == original.rows)
            #expect(try !RocksDBFiles.ruinedTables(in: copy).contains("000999.sst"))
            #expect(try !FileManager.default.contentsOfDirectory(atPath: copy).contains { $0.contains("000999") })
        }
    }

    /// RocksDB takes what it can't read at the end for a change that was never completed, and removes the tables of that.
    @Test(arguments: [false, true]) func aCutListOfFilesLosesNothingInSilence(isClosed: Bool) throws {
        let place = try TemporaryDirectory()
        let live = place.file("live")
        let engine = try RocksDBEngine(directory: live)
        func commit(_ numbers: ClosedRange<UInt8>) throws {
            for number in numbers {
                try engine.write { try $0.put(.documents, [number], [UInt8](repeating: number, count: 500)) }
            }
        }
        try commit(1...5)
        // The rows so far are in a table now, and their log is removed.
        _ = try engine.compact(.whole) { _ in }
        try commit(6...9)
        let whole = place.file("whole")
        if isClosed { try engine.close() }
        try FileManager.default.copyItem(atPath: live, toPath: whole)
        try engine.close()
        #expect(RocksDBFiles.logs(in: whole).count == 1)
        let files = try #require(RocksDBFiles.manifest(of: whole).map { ($0 as NSString).lastPathComponent })
        let bytes = try #require(FileManager.default.contents(atPath: whole + "/" + files))
        var (refused, holes) = (0, 0)
        let lengths = Array(stride(from: 1, to: bytes.count, by: 7)) + [bytes.count]
        for length in lengths {
            let copy = place.file("copy-\(length)")
            try FileManager.default.copyItem(atPath: whole, toPath: copy)
            try bytes.prefix(length).write(to: URL(fileURLWithPath: copy + "/" + files))
            do {
                let again = try RocksDBEngine(directory: copy)
                #expect(try again.values() == Set(1...9), "\(length) of \(bytes.count)")
                try again.close()
            } catch let error as StorageError {
                refused += 1
                #expect(error.kind == .damaged && error.message.contains(copy), "\(error)")
                if error.message.contains("rows 2 to 6 are neither") { holes += 1 }
            }
        }
        #expect(refused > 10)
        #expect(isClosed || holes > 0)
        // The whole list is right.
        #expect(refused < lengths.count)
    }

    /// Numbers of files have six digits, until there are more.
    @Test func theNewestLogIsTheOneWithTheHighestNumber() throws {
        let place = try TemporaryDirectory()
        let live = place.file("live")
        let engine = try RocksDBEngine(directory: live)
        let log = live + "/" + (try #require(RocksDBFiles.logs(in: live).first))
        var ends: [Int] = []
        for number: UInt8 in 1...4 {
            try engine.write { try $0.put(.documents, [number], [UInt8](repeating: number, count: 500)) }
            ends.append(StoreFile.size(log) ?? 0)
        }
        let bytes = try #require(FileManager.default.contents(atPath: log))
        try engine.close()
        let copy = place.file("copy")
        try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: false)
        try bytes[..<ends[1]].write(to: URL(fileURLWithPath: copy + "/999999.log"))
        // The process was killed while it wrote the last commit.
        try bytes[ends[1]..<ends[3] - 100].write(to: URL(fileURLWithPath: copy + "/1000000.log"))
        let logs = try RocksDBLog.repair(copy)
        #expect(logs.map(\.first) == [2, 4])
        #expect(StoreFile.size(copy + "/1000000.log") == ends[2] - ends[1])
    }

    @Test func aMissingFileIsTold() throws {
        let original = try Original()
        for name in try original.names
        where name.hasSuffix(".sst") || name.hasSuffix(".log") || name == "CURRENT" || name.hasPrefix("MANIFEST") {
            let (place, copy) = try original.copy(changing: original.log) { _ in }
            try FileManager.default.removeItem(atPath: copy + "/" + name)
            withExtendedLifetime(place) {
                let error = #expect(throws: StorageError.self, "without \(name) of \(original.all)") {
                    try RocksDBEngine(directory: copy)
                }
                #expect(error?.kind == .damaged, "\(name): \(error?.message ?? "")")
            }
        }
    }

    /// While tables are written, the log that they are written from is there beside the one in use.
    @Test func theNewestOfTwoLogsIsMissed() throws {
        let place = try TemporaryDirectory()
        let live = place.file("live")
        let engine = try RocksDBEngine(directory: live)
        var random = SeededGenerator(seed: 1)
        let value = (0..<10_000).map { _ in UInt8.random(in: 0...255, using: &random) }
        var count: UInt16 = 0
        var copy = ""
        // A state with both is copied, if it stays long enough.
        while RocksDBFiles.logs(in: copy).count < 2 || (try? RocksDBLog.repair(copy).count) != 2 {
            try engine.write { try $0.put(.documents, [UInt8(count >> 8), UInt8(count & 0xFF)], value) }
            count += 1
            guard RocksDBFiles.logs(in: live).count == 2 else { continue }
            copy = place.file("copy-\(count)")
            try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: false)
            let list = try #require(RocksDBFiles.manifest(of: live).map { ($0 as NSString).lastPathComponent })
            let names = try FileManager.default.contentsOfDirectory(atPath: live)
            for name in ["CURRENT", list] + names.filter({ $0.hasSuffix(".log") || $0.hasSuffix(".sst") }).sorted() {
                try? FileManager.default.copyItem(atPath: live + "/" + name, toPath: copy + "/" + name)
            }
        }
        try engine.close()
        let whole = copy + "-whole"
        try FileManager.default.copyItem(atPath: copy, toPath: whole)
        let again = try RocksDBEngine(directory: whole)
        #expect(try again.makeReadSession().read { try $0.count(.documents, .all) } == Int(count))
        try again.close()
        try FileManager.default.removeItem(atPath: copy + "/" + (try #require(RocksDBFiles.logs(in: copy).last)))
        let error = #expect(throws: StorageError.self) { try RocksDBEngine(directory: copy) }
        #expect(error?.kind == .damaged && error?.message.contains("newest log is missing") == true)
    }

    /// Large values are in files of their own, which RocksDB opens when it needs them.
    @Test func aDamagedFileOfLargeValuesIsTold() throws {
        let place = try TemporaryDirectory()
        let store = place.file("documents.rocksdb")
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let engine = try RocksDBEngine(directory: store)
        try engine.write { writer in
            for key: UInt8 in 0..<4 {
                let value = (0..<20_000).map { _ in UInt8.random(in: 0...255, using: &random) }
                try writer.put(.documents, [key], value)
            }
        }
        try engine.close()
        let rows = try #require(try read(store))
        #expect(rows.count == 4)
        let name = try #require(
            FileManager.default.contentsOfDirectory(atPath: store).first { $0.hasSuffix(".blob") })
        let whole = try #require(FileManager.default.contents(atPath: store + "/" + name))
        for round in 0..<60 {
            let copy = place.file("copy-\(round)")
            try FileManager.default.copyItem(atPath: store, toPath: copy)
            let index = Int.random(in: 0..<whole.count, using: &random)
            var bytes = whole
            if round % 2 == 0 { bytes = bytes.prefix(index) } else { bytes[index] ^= 0xEE }
            try bytes.write(to: URL(fileURLWithPath: copy + "/" + name))
            let found = try read(copy, naming: copy + "/" + name)
            // Some bytes are never used.
            let isRight = round % 2 == 0 ? found == nil : found == nil || found == rows
            #expect(isRight, "byte \(index), the seed is \(seed)")
        }
        let copy = place.file("without")
        try FileManager.default.copyItem(atPath: store, toPath: copy)
        try FileManager.default.removeItem(atPath: copy + "/" + name)
        let error = #expect(throws: StorageError.self) { try RocksDBEngine(directory: copy) }
        #expect(error?.kind == .damaged)
    }

    /// Each commit was acknowledged, so that only the last one may be a tear.
    @Test func aLogThatIsDamagedBeforeItsLastCommitIsRefused() throws {
        let directory = try TemporaryDirectory()
        let store = directory.file("documents.rocksdb")
        let engine = try RocksDBEngine(directory: store)
        // Small ones, and some that take several blocks of the log.
        for number: UInt8 in 1...40 {
            let size = number % 10 == 0 ? 50_000 : 700
            try engine.write { try $0.put(.documents, [number], [UInt8](repeating: number, count: size)) }
        }
        let copy = directory.file("copy")
        try FileManager.default.copyItem(atPath: store, toPath: copy)
        try engine.close()
        let log = copy + "/" + (try #require(RocksDBFiles.logs(in: copy).max()))
        let whole = try #require(FileManager.default.contents(atPath: log))
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        for round in 0..<300 {
            var bytes = whole
            // The last commit has 50,000 bytes.
            let end = whole.count - 52_000
            let index = Int.random(in: 0..<end - 1000, using: &random)
            switch round % 3 {
            case 0:
                // Unused bytes, at the ends of blocks, are 0.
                let used = bytes[index...].firstIndex { $0 != 0 } ?? index
                bytes[used] ^= 1 << UInt8.random(in: 0...7, using: &random)
            case 1:
                // A block has no more than 6 of them.
                for index in index..<index + 16 {
                    bytes[index] = UInt8.random(in: 1...255, using: &random) ^ bytes[index]
                }
            default:
                let count = Int.random(in: 900...40_000, using: &random)
                for index in index..<min(index + count, end) { bytes[index] = 0 }
            }
            try bytes.write(to: URL(fileURLWithPath: log))
            let error = #expect(throws: StorageError.self, "round \(round), the seed is \(seed)") {
                try RocksDBLog.repair(copy)
            }
            #expect(error?.kind == .damaged && error?.message.contains(log) == true)
            #expect(FileManager.default.contents(atPath: log) == bytes)
        }
    }

    /// What a failed commit has left is of no meaning, whole or not.
    @Test func aLogIsCutAfterTheLastCommitThatSucceeded() throws {
        let directory = try TemporaryDirectory()
        let store = directory.file("documents.rocksdb")
        let engine = try RocksDBEngine(directory: store)
        func log() throws -> String { store + "/" + (try #require(RocksDBFiles.logs(in: store).max())) }
        var ends: [(row: UInt64, bytes: Int)] = []
        for number: UInt8 in 1...4 {
            try engine.write { try $0.put(.documents, [number], [UInt8](repeating: number, count: 700)) }
            let row = try engine.handle.reading { rocksdb_get_latest_sequence_number($0) }
            ends.append((row, StoreFile.size(try log()) ?? 0))
        }
        let whole = try #require(FileManager.default.contents(atPath: log()))
        try engine.close()
        let copy = directory.file("copy")
        try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: false)
        let file = copy + "/000009.log"
        for (row, end) in ends {
            for ruined in [0, end, (end + whole.count) / 2] where ruined == 0 || (end..<whole.count).contains(ruined) {
                var bytes = whole
                if ruined > 0 { bytes[ruined] ^= 0xEE }
                try bytes.write(to: URL(fileURLWithPath: file))
                try RocksDBLog.repair(copy, after: row)
                #expect(StoreFile.size(file) == end, "\(ruined) after \(row)")
            }
        }
    }

    /// A process that dies in the midst of a write leaves a part of the last commit.
    @Test func aTornLogGivesTheCommitsBeforeTheTear() throws {
        let original = try Original()
        let whole = StoreFile.size(original.path + "/" + original.log) ?? 0
        for length in stride(from: 0, through: whole, by: max(1, whole / 41)) {
            let (place, copy) = try original.copy(changing: original.log) { $0 = $0.prefix(length) }
            let last = original.ends.last { $0.bytes <= length }?.commit ?? 3
            try withExtendedLifetime(place) { () throws in
                let rows = try #require(try read(copy), "a torn log keeps the store from opening at \(length)")
                #expect(Set(rows.values.compactMap(\.first)) == [last], "\(length) of \(whole)")
            }
        }
    }
}
