import ControlProtocol
@testable import Deployments
import Foundation
import FunctionManifest
import HostConfiguration
import SecurityRules
import TestSupport
import Testing

/// What of a data directory's releases is removed, and what stays.
@Suite struct ReleaseStoreTests {
    private let data: TemporaryDirectory
    private let store: ReleaseStore

    init() throws {
        data = try TemporaryDirectory()
        store = ReleaseStore(data: data.path)
    }

    /// Writes an index in which the releases of `shop` were served one after the other, and a directory for each.
    private func serve(_ releases: [String], beside others: [String] = []) throws {
        var index = ReleaseIndex()
        for release in releases {
            index.note(
                ReleaseEvent(
                    action: .deploy, bundle: "shop", release: release, before: index.current["shop"], time: "",
                    user: ""))
        }
        try store.write(index)
        for name in releases + others {
            let directory = "\(store.directory)/shop/\(name)"
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            try Data("x".utf8).write(to: URL(fileURLWithPath: directory + "/bundle"))
        }
    }

    private var kept: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: store.directory + "/shop").sorted() }
    }

    @Test func theReleasesServedLastAreKept() throws {
        try serve(["a", "b", "c", "d"])
        try store.clean(keeping: 2, drafts: false)
        #expect(try kept == ["c", "d"])
    }

    @Test func aReleaseThatWasRolledBackToCountsAsServedLast() throws {
        try serve(["a", "b", "c", "d", "a"])
        try store.clean(keeping: 2, drafts: false)
        #expect(try kept == ["a", "d"])
    }

    @Test func theReleaseThatIsServedStaysHoweverFewAreKept() throws {
        try serve(["a", "b"])
        try store.clean(keeping: 0, drafts: false)
        #expect(try kept == ["b"])
    }

    /// A call that was routed to an old release may run for long, and need another worker.
    @Test func aReleaseThatStillHasWorkersStays() throws {
        try serve(["a", "b", "c", "d"])
        try store.clean(keeping: 2, drafts: false, using: [store.executable(of: "shop", "a")])
        #expect(try kept == ["a", "c", "d"])
        try store.clean(keeping: 2, drafts: false)
        #expect(try kept == ["c", "d"])
    }

    @Test func draftsGoAtAStartOnly() throws {
        try serve(["a"], beside: ["draft"])
        try store.clean(keeping: 2, drafts: false)
        #expect(try kept == ["a", "draft"])
        try store.clean(keeping: 2, drafts: true)
        #expect(try kept == ["a"])
    }

    // MARK: Adding

    /// Adds a program with a resource beside it.
    ///
    /// - Parameter prepare: called with the directory of the resources before they are copied.
    private func add(
        _ program: String, resource: String = "a.txt", id: String = "", checksum: String = "", at time: String,
        prepare: (_ resources: String) throws -> Void = { _ in }
    ) async throws -> ReleaseRecord {
        let place = try TemporaryDirectory()
        defer { withExtendedLifetime(place) {} }
        let resources = place.path + "/Shop.resources"
        try FileManager.default.createDirectory(atPath: resources, withIntermediateDirectories: true)
        for (path, text) in [(place.path + "/shop", program), ("\(resources)/\(resource)", "text")] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        }
        try prepare(resources)
        return try await store.add(
            ReleaseRecord(
                bundle: "shop", id: id, checksum: checksum, size: 0, created: time, creator: "", source: "",
                manifest: Manifest(functions: [])), from: place.path + "/shop", at: time
        ) { _ in Manifest(functions: []) }
    }

    @Test func resourcesAreCopiedWithTheirDirectoriesAndLinks() async throws {
        let files = FileManager.default
        let release = try await add("program", at: "2026-11-22T10:00:00Z") { resources in
            try files.createDirectory(atPath: resources + "/a/b", withIntermediateDirectories: true)
            try Data("deep".utf8).write(to: URL(fileURLWithPath: resources + "/a/b/.hidden"))
            try files.createSymbolicLink(atPath: resources + "/link", withDestinationPath: "a/b")
        }
        let copy = "\(store.directory)/shop/\(release.id)/Shop.resources"
        #expect(files.contents(atPath: copy + "/a.txt") == Data("text".utf8))
        #expect(files.contents(atPath: copy + "/a/b/.hidden") == Data("deep".utf8))
        #expect(try files.destinationOfSymbolicLink(atPath: copy + "/link") == "a/b")
    }

    /// The host's user may not give files to the one who has built them, who should not change a release either.
    @Test(.enabled(if: geteuid() == 0, "skipped: only root can give files away"))
    func resourcesOfAnotherUserBelongToTheHostsUser() async throws {
        let release = try await add("program", at: "2026-11-22T10:00:00Z") { resources in
            for path in [resources, resources + "/a.txt"] { #expect(chown(path, 65_534, 65_534) == 0) }
        }
        let place = "\(store.directory)/shop/\(release.id)"
        for name in try FileManager.default.subpathsOfDirectory(atPath: place) {
            let owner = try FileManager.default.attributesOfItem(atPath: place + "/" + name)[.ownerAccountID]
            #expect((owner as? NSNumber)?.intValue == 0, "\(name)")
        }
    }

    @Test func whatCannotBeDeployedIsNamedByItsOwnPath() async throws {
        let missing = data.file("missing/shop")
        func add(_ executable: String) async throws -> ReleaseRecord {
            try await store.add(
                ReleaseRecord(
                    bundle: "shop", id: "", checksum: "", size: 0, created: "", creator: "", source: "",
                    manifest: Manifest(functions: [])), from: executable, at: "2026-11-22T10:00:00Z"
            ) { throw BundleError(executable: $0, reason: "it isn't a bundle") }
        }
        let error = await #expect(throws: ReleaseError.self) { try await add(missing) }
        #expect(error?.description.hasPrefix("\(missing) can't be copied with its resources: ") == true)
        #expect(error?.description.contains("Error Domain") == false)
        try FileManager.default.createDirectory(atPath: data.file("built"), withIntermediateDirectories: false)
        let program = try data.write("built/shop", "program")
        let refusal = await #expect(throws: BundleError.self) { try await add(program) }
        #expect(refusal?.executable == program)
        #expect(try kept == [])
    }

    @Test func theSameFilesAreOneRelease() async throws {
        let first = try await add("one", at: "2026-11-22T10:00:00Z")
        let second = try await add("two", at: "2026-11-22T10:00:01Z")
        #expect(first.id != second.id)
        #expect(try await add("one", at: "2026-11-22T10:00:02Z").id == first.id)
        // A file of another name is another file, whatever it contains.
        let renamed = try await add("one", resource: "b.txt", at: "2026-11-22T10:00:03Z")
        #expect(![first.id, second.id].contains(renamed.id))
        #expect(store.releases(of: "shop").map(\.id) == [first.id, second.id, renamed.id])
    }

    /// A promoted release has its id and checksum. A copy of other files leaves the id to the right ones.
    @Test func aReleaseOfOtherFilesIsNotKept() async throws {
        let time = "2026-11-22T10:00:00Z"
        let right = try await add("right", at: time)
        store.remove("shop", right.id)
        await #expect(throws: ReleaseError.self) {
            _ = try await add("wrong", id: right.id, checksum: right.checksum, at: time)
        }
        #expect(try kept == [])
        #expect(try await add("right", id: right.id, checksum: right.checksum, at: time).id == right.id)
    }

    @Test func aReleaseThatIsNotWholeIsNotServed() async throws {
        let release = try await add("program", at: "2026-11-22T10:00:00Z")
        let program = store.executable(of: "shop", release.id)
        #expect(try store.release(of: "shop", release.id).executable == program)
        try Data("prog".utf8).write(to: URL(fileURLWithPath: program))
        #expect(throws: ReleaseError.self) { try store.release(of: "shop", release.id) }
        // As long as before, and damaged all the same.
        try Data("PROGRAM".utf8).write(to: URL(fileURLWithPath: program))
        #expect(try store.release(of: "shop", release.id).id == release.id)
        await #expect(throws: ReleaseError.self) { try await store.verified("shop", release.id) }
    }

    @Test(arguments: ["PROGRAM", "prog"]) func aDamagedReleaseIsStoredAgain(content: String) async throws {
        func damage(_ release: ReleaseRecord) throws {
            try Data(content.utf8).write(to: URL(fileURLWithPath: store.executable(of: "shop", release.id)))
        }
        let first = try await add("program", at: "2026-11-22T10:00:00Z")
        try damage(first)
        let second = try await add("program", at: "2026-11-22T10:00:01Z")
        #expect(second.id != first.id)
        #expect(try await store.verified("shop", second.id).id == second.id)
        // With the same id: within a second, and when the release is promoted.
        for id in ["", second.id] {
            try damage(second)
            #expect(try await add("program", id: id, at: "2026-11-22T10:00:01Z").id == second.id)
            #expect(try await store.verified("shop", second.id).id == second.id)
        }
    }

    /// Another version of the host, which they were deployed with, may have compiled them.
    @Test func theErrorOfRulesThatDoNotCompileSaysWhereAndWhy() async throws {
        var rules = ProjectRules()
        rules.databaseRules = try RulesFile<DatabaseRules>(
            Array(#"{"rules": {".read": true}}"#.utf8), path: "database.rules.json")
        var record = try await store.addRules(rules, source: "", creator: "", at: "2026-11-22T10:00:00Z")
        let id = record.id
        let directory = "\(store.directory)/\(HostConfiguration.rulesName)/\(id)"
        let file = directory + "/database.rules.json"
        try Data(#"{"rules": {".read": "(("}}"#.utf8).write(to: URL(fileURLWithPath: file))
        record.checksum = try ReleaseStore.digest(of: directory)
        try JSONEncoder().encode(record).write(to: URL(fileURLWithPath: "\(directory)/\(ReleaseStore.recordName)"))
        let error = #expect(throws: ReleaseError.self) { _ = try store.rules(id) }
        let start = "the release \(id) of the rules doesn't compile with this functions-host: \(file):1:"
        #expect(error?.description.hasPrefix(start) == true, "\(error?.description ?? "")")
        try Data(#"{"rules": {}}"#.utf8).write(to: URL(fileURLWithPath: file))
        let changed = #expect(throws: ReleaseError.self) { _ = try store.rules(id) }
        #expect(changed?.description.contains("is damaged: its files have changed") == true)
    }

    @Test func aRollbackWithAWrongPathMakesNoDataDirectory() async throws {
        let missing = data.file("missing")
        let releases = OfflineReleases(
            HostConfiguration(
                project: "demo-shop", mode: .development, data: missing,
                places: ConfigurationPlaces(file: "functions.json")))
        let error = await #expect(throws: (any Error).self) {
            _ = try await releases.rollback(bundle: nil, to: nil, user: "")
        }
        #expect(error.map { "\($0)" }?.contains("\(missing) does not exist") == true)
        #expect(!FileManager.default.fileExists(atPath: missing))
    }

    /// Its history would be lost if it was deleted.
    @Test func anIndexOfANewerHostIsLeftToThatOne() throws {
        try serve([])
        let path = store.directory + "/index.json"
        try Data(#"{"format":3,"bundles":[]}"#.utf8).write(to: URL(fileURLWithPath: path))
        let newer = #expect(throws: ReleaseError.self) { _ = try store.index() }
        #expect(newer?.description.hasSuffix("has format 3, written by a newer functions-host; use that one") == true)
        try Data("{".utf8).write(to: URL(fileURLWithPath: path))
        let damaged = #expect(throws: ReleaseError.self) { _ = try store.index() }
        #expect(damaged?.description.contains("restore it from a copy, or delete it") == true)
    }

    /// As after a copy that root has made: the local builds must not be served in place of what is deployed.
    @Test func anIndexThatMayNotBeReadIsNotTakenForNone() throws {
        try serve(["a"])
        let files = FileManager.default
        try files.setAttributes([.posixPermissions: 0o000], ofItemAtPath: store.directory)
        defer { try? files.setAttributes([.posixPermissions: 0o700], ofItemAtPath: store.directory) }
        try withoutPrivileges(in: data) { user in
            let error = #expect(throws: ReleaseError.self) { _ = try store.index() }
            #expect(error?.description.contains("chown -R \(user) \(store.directory)") == true)
        }
    }

    @Test func aDirectoryThatMayNotBeEnteredIsNotTakenForOneWithoutReleases() throws {
        try serve(["a"])
        let files = FileManager.default
        let place = store.directory
        try files.setAttributes([.posixPermissions: 0o000], ofItemAtPath: place)
        defer { try? files.setAttributes([.posixPermissions: 0o700], ofItemAtPath: place) }
        let releases = OfflineReleases(
            HostConfiguration(
                project: "demo-shop", mode: .development, data: place,
                places: ConfigurationPlaces(file: "functions.json")))
        try withoutPrivileges(in: data) { _ in
            let error = #expect(throws: (any Error).self) { _ = try releases.current(of: "shop") }
            #expect(error.map { "\($0)" }?.hasPrefix(place + " ") == true)
        }
    }

    @Test func withoutAnIndexNothingIsRemovedButWhatIsIncomplete() throws {
        try serve([], beside: [".draft-1", "a", "b"])
        try store.clean(keeping: 0, drafts: false)
        #expect(try kept == [".draft-1", "a", "b"])
        try store.clean(keeping: 0, drafts: true)
        #expect(try kept == ["a", "b"])
    }
}
