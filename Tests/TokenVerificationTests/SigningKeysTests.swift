import DataDirectory
import Foundation
import HostTesting
import TestSupport
import Testing
@testable import TokenVerification

@Suite struct SigningKeysTests {
    private static let day: Int64 = 86_400

    /// Keys in a directory whose files are as old as a test wants.
    private struct Directory {
        let temporary: TemporaryDirectory
        let clock = ManualClock.atIssue()

        init() throws { temporary = try TemporaryDirectory() }

        var path: String { temporary.path + "/auth" }

        func open() throws -> SigningKeys {
            try SigningKeys.ofTests(in: path, now: clock.wall)
        }

        /// Makes all files as old as the clock says.
        func touch() throws {
            for file in try FileManager.default.contentsOfDirectory(atPath: path) {
                try FileManager.default.setAttributes(
                    [.modificationDate: Date(timeIntervalSince1970: TimeInterval(clock.wall()))],
                    ofItemAtPath: path + "/" + file)
            }
        }
    }

    @Test func keysAreCreatedOnceForTheirOwnerOnly() throws {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let folder = directory.path + "/auth"
        let first = try SigningKeys(in: folder)
        let second = try SigningKeys(in: folder)
        #expect(first.published.map(\.keyID) == second.published.map(\.keyID))
        #expect(Set(first.published.map(\.keyID)).count == 2)
        for file in ["signing-key.pem", "next-signing-key.pem"] {
            let mode = try FileManager.default.attributesOfItem(atPath: folder + "/" + file)[.posixPermissions]
            #expect(mode as? Int == 0o600)
        }
    }

    @Test(arguments: ["", "hello", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
    func aDamagedKeyIsRefusedAndKept(_ content: String) throws {
        for file in ["signing-key.pem", "next-signing-key.pem", "retired-key-1700000000-abc.pem"] {
            let directory = try Directory()
            _ = try directory.open()
            let path = directory.path + "/" + file
            #expect(
                FileManager.default.createFile(
                    atPath: path, contents: Data(content.utf8), attributes: [.posixPermissions: 0o600]))
            let error = #expect(throws: SigningKeyError.self) { try directory.open() }
            #expect(error?.description.hasPrefix("\(path) is damaged") == true)
            #expect(FileManager.default.contents(atPath: path) == Data(content.utf8))
        }
    }

    @Test func aKeyThatOthersMayReadIsRefused() throws {
        let directory = try Directory()
        _ = try directory.open()
        let path = directory.path + "/signing-key.pem"
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        let error = #expect(throws: SigningKeyError.self) { try directory.open() }
        #expect(error?.description.contains("chmod 600 \(path)") == true)
    }

    @Test func whatAFormerKeyHasSignedIsValidUntilAllOfItHasExpired() throws {
        let directory = try Directory()
        let keys = try directory.open()
        try directory.touch()
        let (former, next) = (keys.current, keys.published[1])
        #expect(try keys.rotate(after: 30 * Self.day) == nil)
        directory.clock.advance(by: .seconds(30 * Self.day))
        #expect(try keys.rotate(after: 30 * Self.day)?.keyID == next.keyID)
        #expect(keys.current.keyID == next.keyID)
        #expect(keys.published.count == 3)
        // The next key's file is new.
        try directory.touch()
        #expect(try keys.rotate(after: 0) == nil)
        for keys in [keys, try directory.open()] {
            #expect(keys.published.map(\.keyID).contains(former.keyID))
            #expect(keys.verification[former.keyID] != nil)
        }
        directory.clock.advance(by: .seconds(SigningKeys.retention - 1))
        try keys.removeOld()
        #expect(keys.verification[former.keyID] != nil)
        directory.clock.advance(by: .seconds(1))
        try keys.removeOld()
        #expect(keys.verification[former.keyID] == nil)
        #expect(try directory.open().verification[former.keyID] == nil)
        #expect(try directory.open().published.map(\.keyID) == keys.published.map(\.keyID))
    }

    @Test func byCommandAKeySignsOnceOthersKnowItOrEarlier() throws {
        let directory = try Directory()
        let keys = try directory.open()
        try directory.touch()
        directory.clock.advance(by: .seconds(SigningKeys.notice - 1))
        let error = #expect(throws: SigningKeyError.self) { try keys.rotate(early: false) }
        #expect(
            error?.description == """
                the next key is too young: others may not know it yet, and would refuse its tokens; rotate after \
                2027-01-15T14:00:00Z, or now with --early
                """)
        let next = keys.published[1]
        #expect(try keys.rotate(early: true).keyID == next.keyID)
        #expect(try keys.rotate(early: true).keyID != next.keyID)
        #expect(keys.published.count == 4)
    }

    /// Each state in which a kill can leave the files.
    @Test func aRotationMayEndAtEachOfItsSteps() throws {
        for step in 1...2 {
            let directory = try Directory()
            let keys = try directory.open()
            let (current, next) = (keys.current, keys.published[1])
            try FileBytes.replace("retired-key-1700000000-abc.pem", in: directory.path, with: current.pem)
            if step == 2 { try FileBytes.replace("signing-key.pem", in: directory.path, with: next.pem) }
            let after = try directory.open()
            #expect(after.current.keyID == (step == 1 ? current : next).keyID)
            #expect(after.verification[current.keyID] != nil)
            #expect(after.verification[next.keyID] != nil)
            let ids = after.published.map(\.keyID)
            #expect(Set(ids).count == ids.count)
            #expect(try after.rotate(early: true).keyID != after.published[1].keyID)
            #expect(try directory.open().verification[current.keyID] != nil)
        }
    }
}
