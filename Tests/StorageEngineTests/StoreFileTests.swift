import Foundation
import StorageEngine
import TestSupport
import Testing

struct StoreFileTests {
    private let directory: TemporaryDirectory
    private let draft: String

    init() throws {
        directory = try TemporaryDirectory()
        draft = directory.file("export.unfinished")
    }

    @Test func aDraftHasOneWriterAtATime() throws {
        let first = try StoreFile.openDraft(draft)
        let refusal = #expect(throws: StorageError.self) { _ = try StoreFile.openDraft(draft) }
        #expect(refusal?.message == "another command writes \(draft); wait until it has ended")
        #expect(write(first, "half", 4) == 4)
        // As when its process is killed.
        close(first)
        let second = try StoreFile.openDraft(draft)
        #expect(StoreFile.size(draft) == 0)
        close(second)
    }

    /// The command that wanted to replace the store fails, so that its operator takes the store for the one it was.
    @Test func aStoreThatIsNotDecidedForDurablyIsNotPutInPlace() throws {
        let store = directory.file("documents.sqlite")
        try Data("other".utf8).write(to: URL(fileURLWithPath: draft))
        let failure = StorageError(.unavailable, "the disk fails")
        let refusal = #expect(throws: StorageError.self) {
            try StoreFile.decide(draft, for: store) { _ in throw failure }
        }
        #expect(refusal?.message == "the disk fails")
        #expect(!StoreFile.exists(StoreFile.restored(store)))
        #expect(StoreFile.exists(draft))
        try StoreFile.decide(draft, for: store)
        #expect(StoreFile.exists(StoreFile.restored(store)))
        #expect(!StoreFile.exists(draft))
    }

    @Test func aDraftThatHasGotItsNameIsNotWrittenAgain() throws {
        let first = try StoreFile.openDraft(draft)
        #expect(write(first, "whole", 5) == 5)
        let complete = directory.file("export")
        try StoreFile.moveWhereFree(draft, to: complete)
        let second = try StoreFile.openDraft(draft)
        #expect(write(second, "other", 5) == 5)
        close(second)
        close(first)
        #expect(FileManager.default.contents(atPath: complete) == Data("whole".utf8))
    }
}
