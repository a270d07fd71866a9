import TestSupport
@testable import DataDirectory
import Foundation
import Synchronization
import Testing

struct DataDirectoryTests {
    private func refusal(_ path: String, migrations: [DataDirectory.Migration] = []) -> String? {
        do throws(DataDirectoryError) {
            _ = try DataDirectory.open(path, migrations: migrations)
            return nil
        } catch {
            return error.description
        }
    }

    private func permissions(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test func aNewDirectoryIsAccessibleOnlyToItsOwner() throws {
        let temporary = try TemporaryDirectory()
        let path = temporary.file("a/b")
        let directory = try DataDirectory.open(path)
        defer { directory.close() }
        #expect(try permissions(path) == 0o700)
        #expect(try String(contentsOfFile: directory.file("version"), encoding: .utf8) == "1\n")
    }

    @Test(.enabled(if: geteuid() == 0, "skipped: only root can give files away"))
    func whatRootMakesBelongsToTheOwnerOfTheDirectoryThatItIsIn() throws {
        let temporary = try TemporaryDirectory()
        #expect(chown(temporary.path, 65_534, 65_534) == 0)
        let directory = try DataDirectory.open(temporary.file("data"))
        defer { directory.close() }
        try FileBytes.makeDirectories(directory.file("releases/shop"))
        // A draft that root left before.
        try Data("{".utf8).write(to: URL(fileURLWithPath: directory.file("releases/index.json.new")))
        try FileBytes.replace("index.json", in: directory.file("releases"), with: Array("{}".utf8))
        // Copied files, and a link to one that stays as it is.
        let outside = try temporary.write("outside", "")
        try FileManager.default.createDirectory(
            atPath: directory.file("releases/shop/1/a"), withIntermediateDirectories: true)
        try Data().write(to: URL(fileURLWithPath: directory.file("releases/shop/1/a/file")))
        try FileManager.default.createSymbolicLink(
            atPath: directory.file("releases/shop/1/link"), withDestinationPath: outside)
        try FileBytes.giveAll(directory.file("releases/shop/1"), toOwnerOf: directory.file("releases"))
        for name in [
            "", "lock", "version", "releases", "releases/shop", "releases/index.json", "releases/shop/1",
            "releases/shop/1/a", "releases/shop/1/a/file", "releases/shop/1/link",
        ] {
            let owner = try FileManager.default.attributesOfItem(atPath: directory.file(name))[.ownerAccountID]
            #expect((owner as? NSNumber)?.intValue == 65_534, "\(name)")
        }
        let owner = try FileManager.default.attributesOfItem(atPath: outside)[.ownerAccountID]
        #expect((owner as? NSNumber)?.intValue == 0)
    }

    @Test func aFileThatCannotBeReplacedLeavesNoDraft() throws {
        let temporary = try TemporaryDirectory()
        try FileManager.default.createDirectory(
            atPath: temporary.file("index.json/taken"), withIntermediateDirectories: true)
        #expect(throws: DataDirectoryError.self) {
            try FileBytes.replace("index.json", in: temporary.path, with: Array("{}".utf8))
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: temporary.path) == ["index.json"])
    }

    @Test func anExistingDirectoryIsRestrictedToItsOwner() throws {
        let temporary = try TemporaryDirectory()
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: temporary.path)
        let directory = try DataDirectory.open(temporary.path)
        defer { directory.close() }
        #expect(try permissions(temporary.path) == 0o700)
    }

    @Test func aSecondHostIsRejectedUntilTheFirstCloses() throws {
        let temporary = try TemporaryDirectory()
        let first = try DataDirectory.open(temporary.path)
        let pid = ProcessInfo.processInfo.processIdentifier
        #expect(
            refusal(temporary.path)
                == "another host or command, process \(pid), uses the data directory \(temporary.path); "
                + "wait until it has ended, stop it, or name another directory")
        first.close()
        first.close()
        #expect(refusal(temporary.path) == nil)
    }

    /// It isn't stale: its process runs.
    @Test func aDeletedLockLetsNoSecondHostIn() throws {
        let temporary = try TemporaryDirectory()
        let first = try DataDirectory.open(temporary.path)
        try FileManager.default.removeItem(atPath: first.file("lock"))
        #expect(
            refusal(temporary.path)
                == "another host or command uses the data directory \(temporary.path); "
                + "wait until it has ended, stop it, or name another directory")
        #expect(!FileManager.default.fileExists(atPath: first.file("lock")))
        first.close()
        #expect(refusal(temporary.path) == nil)
    }

    @Test(.enabled(if: SmallDisk.isPossible, "skipped: this user may not mount a disk for it"))
    func aFullDiskKeepsNoHostOut() throws {
        let disk = try SmallDisk(megabytes: 1)
        try DataDirectory.open(disk.path).close()
        // Its process's number has no room.
        try FileManager.default.removeItem(atPath: disk.path + "/lock")
        try disk.fill(".filler")
        let directory = try DataDirectory.open(disk.path)
        defer { directory.close() }
        #expect(
            refusal(disk.path)
                == "another host or command uses the data directory \(disk.path); "
                + "wait until it has ended, stop it, or name another directory")
    }

    @Test func aNewerFormatIsRejected() throws {
        let temporary = try TemporaryDirectory()
        try temporary.write("version", "7\n")
        #expect(
            refusal(temporary.path)
                == "the data directory \(temporary.path) has format 7, written by a newer functions-host; "
                + "this one supports formats up to 1")
        #expect(try String(contentsOfFile: temporary.file("version"), encoding: .utf8) == "7\n")
    }

    @Test(arguments: ["", "x", "0", "-1", "1 2"])
    func aVersionThatIsNotANumberIsRejected(text: String) throws {
        let temporary = try TemporaryDirectory()
        try temporary.write("version", text)
        #expect(refusal(temporary.path)?.contains("contains no format number") == true)
    }

    @Test func migrationsRunInOrderAndContinueAfterAFailure() throws {
        struct Failed: Error {}
        let temporary = try TemporaryDirectory()
        try DataDirectory.open(temporary.path).close()
        let steps = Mutex<[String]>([])
        let first = DataDirectory.Migration("first") { _ in steps.withLock { $0.append("first") } }
        let failing = DataDirectory.Migration("second") { _ in throw Failed() }
        let second = DataDirectory.Migration("second") { _ in steps.withLock { $0.append("second") } }
        #expect(refusal(temporary.path, migrations: [first, failing])?.contains("to format 3 (second)") == true)
        #expect(try String(contentsOfFile: temporary.file("version"), encoding: .utf8) == "2\n")
        #expect(refusal(temporary.path, migrations: [first, second]) == nil)
        #expect(steps.withLock { $0 } == ["first", "second"])
        #expect(try String(contentsOfFile: temporary.file("version"), encoding: .utf8) == "3\n")
    }

    @Test func aDirectoryOfOtherFilesIsRejected() throws {
        let temporary = try TemporaryDirectory()
        try temporary.write("holiday.jpg", "")
        try temporary.write(".gitignore", "*")
        #expect(refusal(temporary.path)?.contains("it contains \"holiday.jpg\" and no version") == true)
    }

    @Test func copiedFilesAreAcceptedWithTheVersionThatTheyAreOf() throws {
        let temporary = try TemporaryDirectory()
        let files = FileManager.default
        try files.createDirectory(atPath: temporary.file("auth"), withIntermediateDirectories: false)
        #expect(refusal(temporary.path)?.contains("copy the file version too") == true)
        try temporary.write("version", "1\n")
        #expect(refusal(temporary.path) == nil)
    }

    @Test func aFileIsRejected() throws {
        let temporary = try TemporaryDirectory()
        let file = try temporary.write("data", "")
        #expect(refusal(file) == "\(file) is a file; name a directory for the data")
        #expect(refusal(file + "/below")?.hasSuffix("Not a directory") == true)
    }

    @Test func anotherUserLearnsWhoseDirectoryItIs() throws {
        let temporary = try TemporaryDirectory()
        let (owner, other) = (geteuid(), geteuid() + 1)
        #expect(
            DataDirectory.refusal(of: temporary.path, to: other).description
                == "\(temporary.path) belongs to the user \(owner), and this command runs as the user \(other); "
                + "run it as that user: sudo -u '#\(owner)' functions-host …")
        // Nothing can be learned of it, or the owner may not enter a directory above it.
        for (path, user) in [(temporary.path, owner), (temporary.file("none"), other)] {
            #expect(
                DataDirectory.refusal(of: path, to: user).description == "\(path) can't be opened: Permission denied")
        }
        try DataDirectory.checkAccess(temporary.path)
        try DataDirectory.checkAccess(temporary.file("none"))
    }

    @Test func aDirectoryThatMayNotBeEnteredIsReported() throws {
        let temporary = try TemporaryDirectory()
        try withoutPrivileges(in: temporary) { user in
            let path = temporary.file("data")
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o000])
            let error = #expect(throws: DataDirectoryError.self) { try DataDirectory.checkAccess(path) }
            #expect(error?.description == "\(path) can't be opened: Permission denied", "as \(user)")
        }
    }

    @Test func aSymbolicLinkInsteadOfTheLockIsNotFollowed() throws {
        let temporary = try TemporaryDirectory()
        let data = temporary.file("data")
        try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: false)
        let target = try temporary.write("target", "precious")
        try FileManager.default.createSymbolicLink(atPath: data + "/lock", withDestinationPath: target)
        #expect(refusal(data)?.contains("lock can't be opened") == true)
        #expect(try String(contentsOfFile: target, encoding: .utf8) == "precious")
    }

    @Test func aStampIsThatOfTheFileBehindALink() throws {
        let temporary = try TemporaryDirectory()
        let file = try temporary.write("file", "one")
        let link = temporary.file("link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
        let first = try #require(FileStamp(link))
        #expect(first == FileStamp(file))
        try temporary.write("file", "other")
        #expect(FileStamp(link) != first)
        // Another file with the same time and size.
        let second = temporary.file("second")
        try FileManager.default.copyItem(atPath: file, toPath: second)
        let date = try #require(try FileManager.default.attributesOfItem(atPath: file)[.modificationDate] as? Date)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: second)
        #expect(FileStamp(second) != FileStamp(file))
        #expect(FileStamp(temporary.path)?.isDirectory == true && FileStamp(file)?.isDirectory == false)
        try FileManager.default.removeItem(atPath: file)
        #expect(FileStamp(link) == nil)
    }

    @Test func anEphemeralDirectoryIsDeletedWhenItIsClosed() throws {
        let directory = try DataDirectory.ephemeral()
        #expect(try permissions(directory.path) == 0o700)
        try Data("x".utf8).write(to: URL(fileURLWithPath: directory.file("x")))
        directory.close()
        #expect(!FileManager.default.fileExists(atPath: directory.path))
    }

    @Test func aCopyHasTheBytesAndPermissionsOfTheFile() throws {
        let temporary = try TemporaryDirectory()
        let bytes = Data((0..<700_000).map { UInt8(truncatingIfNeeded: $0 / 3) })
        let file = temporary.file("program")
        try bytes.write(to: URL(fileURLWithPath: file))
        #expect(chmod(file, 0o751) == 0)
        try FileBytes.copy(file, to: temporary.file("copy"))
        #expect(FileManager.default.contents(atPath: temporary.file("copy")) == bytes)
        #expect(try permissions(temporary.file("copy")) == 0o751)
        // Neither replaces a file nor waits for a pipe.
        #expect(throws: DataDirectoryError.self) { try FileBytes.copy(file, to: temporary.file("copy")) }
        #expect(mkfifo(temporary.file("pipe"), 0o600) == 0)
        #expect(throws: DataDirectoryError.self) {
            try FileBytes.copy(temporary.file("pipe"), to: temporary.file("other"))
        }
    }

    /// The kernel's file says that it has 4096 bytes, and ends before, as a file does that becomes shorter while it is copied.
    /// Where LXC is at work, it says how many it has, and the copy is like any other.
    @Test(.endsHangs) func theCopyOfAFileThatBecomesShorterEnds() throws {
        let temporary = try TemporaryDirectory()
        let short = "/sys/devices/system/cpu/online"
        let text = try String(contentsOfFile: short, encoding: .utf8)
        try FileBytes.copy(short, to: temporary.file("copy"))
        #expect(try String(contentsOfFile: temporary.file("copy"), encoding: .utf8) == text)
    }

    @Test func anEmptyVariableForTemporaryDirectoriesCountsAsNone() throws {
        let directory = try DataDirectory.ephemeral(in: "")
        defer { directory.close() }
        #expect(directory.path.hasPrefix("/tmp/functions-"))
    }

    @Test func nothingMakesADirectoryAgainInADeletedOne() throws {
        let directory = try DataDirectory.ephemeral()
        defer { directory.close() }
        #expect(rename(directory.path, directory.path + "-ended") == 0)
        defer { try? FileManager.default.removeItem(atPath: directory.path + "-ended") }
        #expect {
            try FileBytes.makeDirectory(directory.file("auth"))
        } throws: { "\($0)".hasPrefix("the directory \(directory.file("auth")) can't be created") }
        #expect(!FileManager.default.fileExists(atPath: directory.path))
    }
}
