import ControlProtocol
@testable import Deployments
import Foundation
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

    @Test func draftsGoAtAStartOnly() throws {
        try serve(["a"], beside: ["draft"])
        try store.clean(keeping: 2, drafts: false)
        #expect(try kept == ["a", "draft"])
        try store.clean(keeping: 2, drafts: true)
        #expect(try kept == ["a"])
    }

    @Test func withoutAnIndexNothingIsRemoved() throws {
        try serve([], beside: ["a", "b"])
        try store.clean(keeping: 0, drafts: true)
        #expect(try kept == ["a", "b"])
    }
}
