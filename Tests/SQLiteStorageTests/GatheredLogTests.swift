import CSQLiteLog
import Foundation
import GRDB
@testable import SQLiteStorage
import StorageEngine
import Synchronization
import TestSupport
import Testing

/// The write-ahead log's file, whose writes are gathered.
struct GatheredLogTests {
    @Test func whatIsWrittenReachesTheFileInFewPieces() throws {
        let file = LogInMemory()
        defer { _ = file.close() }
        try file.gather()
        let page = [UInt8](repeating: 7, count: 8192)
        for number in 0..<15 {
            let start = Int64(32 + number * (24 + page.count))
            #expect(file.write([UInt8](repeating: UInt8(number), count: 24), at: start) == SQLITE_OK)
            #expect(file.write(page, at: start + 24) == SQLITE_OK)
        }
        #expect(file.state.withLock { $0.writes } == 0)
        #expect(file.sync() == SQLITE_OK)
        #expect(file.state.withLock { $0.writes } == 1)
        #expect(file.state.withLock { $0.bytes.count } == 32 + 15 * (24 + page.count))
    }

    @Test func theFileIsAsIfEachWriteWereDoneAtOnce() async throws {
        try await FuzzRounds.run("gathered writes", count: 200) { random, seed in
            let (file, plain) = (LogInMemory(), LogInMemory())
            try file.gather()
            defer { for file in [file, plain] { #expect(file.close() == SQLITE_OK, "seed \(seed)") } }
            var end: Int64 = 0
            for _ in 0..<200 {
                switch Int.random(in: 0..<20, using: &random) {
                case 0..<13:
                    let length = random.once(in: 50) ? 130_500 : random.pick([24, 32, 4096, 8192])
                    let bytes = [UInt8](repeating: UInt8.random(in: 0...255, using: &random), count: length)
                    // Mostly behind the last one, as SQLite does.
                    let start = random.once(in: 10) ? Int64.random(in: 0...end, using: &random) : end
                    #expect(file.write(bytes, at: start) == plain.write(bytes, at: start))
                    end = start + Int64(length)
                case 13..<16:
                    let start = Int64.random(in: 0...end, using: &random)
                    #expect(file.read(4096, at: start) == plain.read(4096, at: start), "seed \(seed)")
                case 16: #expect(file.size() == plain.size(), "seed \(seed)")
                case 17:
                    end = Int64.random(in: 0...end, using: &random)
                    #expect(file.truncate(to: end) == plain.truncate(to: end))
                default:
                    #expect(file.sync() == SQLITE_OK)
                    #expect(file.state.withLock { $0.bytes } == plain.state.withLock { $0.bytes }, "seed \(seed)")
                }
            }
        }
    }

    /// SQLite rolls the transaction back then, and writes the next one to the same place.
    @Test func afterAFailureTheSamePlaceIsWrittenAgain() throws {
        let file = LogInMemory()
        defer { _ = file.close() }
        try file.gather()
        #expect(file.write([1, 2, 3], at: 0) == SQLITE_OK)
        file.state.withLock { $0.isFull = true }
        #expect(file.sync() == SQLITE_FULL)
        file.state.withLock { $0.isFull = false }
        #expect(file.write([4, 5], at: 0) == SQLITE_OK)
        #expect(file.sync() == SQLITE_OK)
        #expect(file.state.withLock { $0.bytes } == [4, 5])
    }

    @Test func theEngineGathersItsLog() throws {
        let temporary = try TemporaryDirectory()
        let engine = try SQLiteEngine(file: temporary.file("store.sqlite"))
        defer { try? engine.close() }
        engine.queue.writeWithoutTransaction { database in
            var file: UnsafeMutablePointer<sqlite3_file>?
            #expect(
                sqlite3_file_control(database.sqliteConnection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file)
                    == SQLITE_OK)
            #expect(file?.pointee.pMethods.pointee.iVersion == 1)
        }
    }

    /// Pages leave SQLite's cache before the commit, and are read again from the log.
    @Test func aTransactionLargerThanTheCacheIsKept() throws {
        let temporary = try TemporaryDirectory()
        let engine = try SQLiteEngine(file: temporary.file("store.sqlite"))
        let rows = 40_000
        try engine.queue.writeWithoutTransaction { database in
            try database.execute(sql: "BEGIN; CREATE TABLE large (key INTEGER PRIMARY KEY, value BLOB)")
            // The second round reads each page that the first one wrote.
            for round in 0..<2 {
                let insert = try database.makeStatement(sql: "INSERT OR REPLACE INTO large VALUES (?, ?)")
                for row in 0..<rows {
                    try insert.execute(
                        arguments: [row * 7919 % rows, Data(repeating: UInt8(round + 1), count: 900)])
                }
            }
            try database.execute(sql: "COMMIT")
        }
        let reader = try DatabaseQueue(path: temporary.file("store.sqlite"))
        try reader.read { database in
            let kept = try Int.fetchOne(
                database, sql: "SELECT count(*) FROM large WHERE value = ?", arguments: [Data(repeating: 2, count: 900)]
            )
            #expect(kept == rows)
            #expect(try String.fetchOne(database, sql: "PRAGMA integrity_check") == "ok")
        }
        try reader.close()
        try engine.close()
    }
}

/// A file as SQLite sees one, kept in memory.
///
/// `@unchecked Sendable`: its pointers are constants, and only its own test uses it.
private final class LogInMemory: @unchecked Sendable {
    struct State {
        var bytes: [UInt8] = []
        var writes = 0
        var isFull = false
    }

    /// SQLite's methods get the file, and find its content here.
    private static let states = Mutex<[UInt: LogInMemory]>([:])

    let state = Mutex(State())
    private let file = UnsafeMutablePointer<sqlite3_file>.allocate(capacity: 1)
    private let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)

    init() {
        methods.initialize(to: sqlite3_io_methods())
        methods.pointee.iVersion = 1
        methods.pointee.xClose = { _ in SQLITE_OK }
        methods.pointee.xRead = { file, bytes, length, start in
            LogInMemory.of(file).state.withLock { state in
                let found = state.bytes.dropFirst(Int(start)).prefix(Int(length))
                let target = UnsafeMutableRawBufferPointer(start: bytes, count: Int(length))
                target.initializeMemory(as: UInt8.self, repeating: 0)
                target.copyBytes(from: found)
                return found.count == Int(length) ? SQLITE_OK : 522
            }
        }
        methods.pointee.xWrite = { file, bytes, length, start in
            LogInMemory.of(file).state.withLock { state in
                // As SQLite's files do.
                guard !state.isFull, length < 1 << 17 else { return SQLITE_FULL }
                state.writes += 1
                let end = Int(start) + Int(length)
                if state.bytes.count < end {
                    state.bytes += [UInt8](repeating: 0, count: end - state.bytes.count)
                }
                let written = UnsafeRawBufferPointer(start: bytes, count: Int(length))
                state.bytes.replaceSubrange(Int(start)..<end, with: written)
                return SQLITE_OK
            }
        }
        methods.pointee.xTruncate = { file, size in
            LogInMemory.of(file).state.withLock { state in
                if Int(size) < state.bytes.count { state.bytes.removeSubrange(Int(size)...) }
                return SQLITE_OK
            }
        }
        methods.pointee.xSync = { _, _ in SQLITE_OK }
        methods.pointee.xFileSize = { file, size in
            size?.pointee = LogInMemory.of(file).state.withLock { Int64($0.bytes.count) }
            return SQLITE_OK
        }
        file.initialize(to: sqlite3_file(pMethods: methods))
        Self.states.withLock { $0[address] = self }
    }

    private static func of(_ file: UnsafeMutablePointer<sqlite3_file>?) -> LogInMemory {
        let address = UInt(bitPattern: file)
        guard let log = states.withLock({ $0[address] }) else { preconditionFailure("a file of another test") }
        return log
    }

    private var address: UInt { UInt(bitPattern: file) }

    private var called: sqlite3_io_methods { file.pointee.pMethods.pointee }

    func gather() throws { try #require(functions_gather_writes(file) == SQLITE_OK) }

    func write(_ bytes: [UInt8], at start: Int64) -> Int32 { called.xWrite(file, bytes, Int32(bytes.count), start) }

    func read(_ length: Int, at start: Int64) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: length)
        _ = called.xRead(file, &bytes, Int32(length), start)
        return bytes
    }

    func size() -> Int64 {
        var size: Int64 = 0
        _ = called.xFileSize(file, &size)
        return size
    }

    func truncate(to size: Int64) -> Int32 { called.xTruncate(file, size) }

    func sync() -> Int32 { called.xSync(file, 0) }

    func close() -> Int32 {
        defer {
            Self.states.withLock { $0[address] = nil }
            file.deallocate()
            methods.deallocate()
        }
        return called.xClose(file)
    }
}
