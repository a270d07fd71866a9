import CommitPipeline
import DocumentModel
import Foundation
import RealtimeModel
import RealtimeStore
import StoreTestSupport
import TestSupport
import Testing

/// Texts are written in many commits, beside what exists.
@Suite(.endsHangs) struct MergingTests {
    private func merge(
        _ json: String, at path: String = "", _ fixture: RealtimeFixture, limits: TriggerLimits = .strict,
        firesEvents: Bool = true
    ) async throws -> Int {
        let (store, path) = (fixture.store, try RealtimePath(path))
        return try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                let result = Result {
                    var rows = MergingRows(
                        in: store, RealtimeFixture.namespace, context: OperationContext(firesEvents: firesEvents),
                        triggerLimits: limits, progress: { _ in })
                    try Array(json.utf8).withUnsafeBytes { try RealtimeRowReader.read($0, at: path, to: &rows) }
                    try rows.finish()
                    return rows.written
                }
                continuation.resume(with: result)
            }
        }
    }

    @Test func whatExistsBesideTheValuesStays() async throws {
        let fixture = try RealtimeFixture()
        try await fixture.set("", #"{"a":{"x":1,"y":{"z":2},".priority":5},"b":7,"c":8}"#)
        let written = try await merge(
            #"{"a":{"y":3,"new":{".value":4,".priority":"p"}},"b":{"in":true,".priority":9},"c":null,"d":{}}"#, fixture)
        #expect(written == 4)
        #expect(
            try await fixture.json()
                == #"{"a":{"new":{".value":4,".priority":"p"},"x":1,"y":3,".priority":5},"b":{"in":true,".priority":9},"c":8}"#
        )
        #expect(try fixture.problems() == [])
        try await fixture.close()
    }

    @Test func aLeafMayBeAllThereIs() async throws {
        let fixture = try RealtimeFixture()
        #expect(try await merge(#"{".value":1,".priority":2}"#, fixture) == 1)
        #expect(try await fixture.json() == #"{".value":1,".priority":2}"#)
        #expect(try await merge("null", at: "a", fixture) == 0)
        #expect(try await merge(#""x""#, at: "a/b", fixture) == 1)
        #expect(try await fixture.json() == #"{"a":{"b":"x"},".priority":2}"#)
        try await fixture.close()
    }

    /// Many commits, none of which is large.
    @Test func eachCommitIsBounded() async throws {
        let fixture = try RealtimeFixture()
        let view = await ListenerView(fixture.store, .root)
        let members = (0..<2_345).map { #""k\#($0)":{"n":\#($0),".priority":\#($0)}"# }
        #expect(try await merge("{\(members.joined(separator: ","))}", at: "a", fixture) == 4_690)
        let pushes = view.takePushes()
        #expect(pushes.count >= 9)
        #expect(view.node == (try await fixture.read { try $0.node(at: .root) }))
        let count = try await fixture.read {
            try $0.childKeys(at: RealtimePath(unchecked: [RealtimeKey(unchecked: "a")]))
        }
        #expect(count.count == 2_345)
        #expect(try fixture.problems() == [])
        try await fixture.close()
    }

    @Test func aCommitThatInvokesTooManyFunctionsIsDivided() async throws {
        let fixture = try RealtimeFixture()
        fixture.route(to: [try RealtimeTrigger("f", .created, "a/{key}")])
        let members = (0..<40).map { #""k\#($0)":\#($0)"# }
        let text = "{\(members.joined(separator: ","))}"
        var limits = TriggerLimits.strict
        (limits.maxFunctions, limits.maxEventBytes) = (7, 1_000)
        #expect(try await merge(text, at: "a", fixture, limits: limits) == 40)
        #expect(try await fixture.takeChanges(of: "f").count == 40)
        try await fixture.set("a", "null")
        #expect(try await merge(text, at: "a", fixture, limits: limits, firesEvents: false) == 40)
        #expect(try await fixture.takeChanges(of: "f").isEmpty)
        // As priorities of objects do, which exist only after their leaves.
        fixture.route(to: [try RealtimeTrigger("f", .written, "a/{key}")])
        let objects = (0..<40).map { #""k\#($0)":{"n":\#($0),".priority":\#($0)}"# }
        #expect(try await merge("{\(objects.joined(separator: ","))}", at: "a", fixture, limits: limits) == 80)
        #expect(try await fixture.takeChanges(of: "f").count == 80)
        #expect(try fixture.problems() == [])
        // One value that is too large for an event can't be divided.
        let failure = await #expect(throws: RealtimeFailure.self) {
            _ = try await merge(
                #"{"long":"\#(String(repeating: "x", count: 2_000))"}"#, at: "a", fixture, limits: limits)
        }
        #expect(failure?.code == .triggerLimit)
        try await fixture.close()
    }
}
