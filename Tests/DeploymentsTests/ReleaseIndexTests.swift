import HostTesting
import FunctionManifest
@testable import ControlProtocol
@testable import Deployments
import Testing

@Suite struct ReleaseIndexTests {
    private func index(_ events: (ReleaseEvent.Action, String?)...) -> ReleaseIndex {
        var index = ReleaseIndex()
        for (action, release) in events {
            index.note(
                ReleaseEvent(
                    action: action, bundle: "shop", release: release, before: index.current["shop"], time: "", user: "")
            )
        }
        return index
    }

    private func target(_ index: ReleaseIndex, _ bundle: String? = nil, to id: String? = nil) -> String {
        do throws(ReleaseError) {
            return try index.rollback(of: bundle, to: id).release
        } catch {
            return error.description
        }
    }

    @Test func repeatedRollbacksGoFurtherBack() {
        #expect(target(index((.deploy, "a"), (.deploy, "b"), (.deploy, "c"))) == "b")
        #expect(target(index((.deploy, "a"), (.deploy, "b"), (.deploy, "c"), (.rollback, "b"))) == "a")
        #expect(target(index((.deploy, "a"), (.deploy, "b"), (.deploy, "a"))) == "b")
        #expect(target(index((.deploy, "a"), (.deploy, "b"), (.deploy, "c"), (.deploy, "b"))) == "c")
        #expect(
            target(index((.deploy, "a"), (.deploy, "b"), (.deploy, "c"), (.deploy, "b"), (.rollback, "c"))) == "b")
        #expect(
            target(index((.deploy, "a"), (.deploy, "b"), (.rollback, "a")))
                == "shop has no release before the current one")
    }

    @Test func aRollbackAcceptsOnlyServedReleases() {
        let index = index((.deploy, "a"), (.deploy, "b"))
        #expect(target(index, "shop", to: "a") == "a")
        #expect(target(index, "shop", to: "b") == "the release b of shop is already served")
        #expect(target(index, "shop", to: "x") == "the release x of shop was never served; the served ones are a, b")
        #expect(target(index, "cart") == "no release of the bundle cart was ever served; the deployed bundles are shop")
        #expect(target(ReleaseIndex()) == "name the bundle to roll back; this data directory has no deployed bundle")
    }

    // MARK: Rules

    private struct Deployed {
        var index = ReleaseIndex()

        /// - Parameter rules: the release of rules that is deployed along.
        mutating func note(
            _ release: String?, of bundle: String = "shop", rules: String? = nil,
            as action: ReleaseEvent.Action = .deploy
        ) {
            index.note(
                ReleaseEvent(
                    action: action, bundle: bundle, release: release, before: index.current[bundle],
                    rules: rules.map { .init(release: $0, before: index.current["rules"]) }, time: "", user: ""))
        }
    }

    @Test func aRollbackTakesBackTheRulesOfWhatItUndoes() {
        var deployed = Deployed()
        deployed.note("R0", of: "rules")
        deployed.note("a", rules: "R1")
        deployed.note("b", rules: "R2")
        deployed.note("c")
        func rules(_ release: String, of bundle: String = "shop") -> ReleaseEvent.Rules? {
            deployed.index.rules(undoing: bundle, backTo: release)
        }
        #expect(rules("b") == nil)
        #expect(rules("a") == .init(release: "R1", before: "R2"))
        deployed.note("a", rules: "R1", as: .rollback)
        #expect(deployed.index.current["rules"] == "R1")
        // And forward again.
        #expect(rules("c") == .init(release: "R2", before: "R1"))
        #expect(deployed.index.served(of: "rules") == ["R0", "R2", "R1"])
        #expect(deployed.index.bundles == ["shop"] && deployed.index.format == 2)
    }

    @Test func aRollbackLeavesRulesThatOthersHaveChangedSince() {
        for other in ["rules", "cart"] {
            var deployed = Deployed()
            deployed.note("a")
            deployed.note("b", rules: "R1")
            #expect(deployed.index.rules(undoing: "shop", backTo: "a") == .init(release: nil, before: "R1"))
            if other == "rules" { deployed.note("R2", of: other) } else { deployed.note("x", of: other, rules: "R2") }
            #expect(deployed.index.rules(undoing: "shop", backTo: "a") == nil)
        }
    }

    @Test func aRollbackLeavesRulesThatWereServedBeforeTheirDeployment() {
        var deployed = Deployed()
        deployed.note("a")
        deployed.index.note(
            ReleaseEvent(
                action: .deploy, bundle: "shop", release: "b", before: "a", rules: .init(release: "R1", before: "R1"),
                time: "", user: ""))
        #expect(deployed.index.rules(undoing: "shop", backTo: "a") == nil)
        deployed.note("c", rules: "R2")
        #expect(deployed.index.rules(undoing: "shop", backTo: "a") == .init(release: "R1", before: "R2"))
    }

    @Test func repeatedRollbacksOfRulesGoFurtherBack() {
        var deployed = Deployed()
        deployed.note("R0", of: "rules")
        deployed.note("a", rules: "R1")
        // Something else was served without a deployment, and then the same again.
        deployed.note("R1", of: "rules")
        #expect(target(deployed.index, "rules") == "R0")
        #expect(target(deployed.index) == "shop has no release before the current one")
    }

    @Test func theHistoryHasABoundPerBundle() {
        var index = index((.deploy, "a"))
        index.note(ReleaseEvent(action: .deploy, bundle: "cart", release: "c", before: nil, time: "", user: ""))
        index.history.removeFirst()
        for number in 0..<(ReleaseIndex.maxHistory + 5) {
            index.note(
                ReleaseEvent(action: .deploy, bundle: "shop", release: "r\(number)", before: nil, time: "", user: ""))
        }
        #expect(index.history.count == ReleaseIndex.maxHistory + 1)
        #expect(index.history.prefix(2).map(\.release) == ["c", "r5"])
        #expect(index.current["shop"] == "r\(ReleaseIndex.maxHistory + 4)")
    }
}

@Suite struct ReleaseDifferenceTests {
    @Test func addedRemovedAndChangedFunctionsAreListed() {
        var before = FunctionManifest.test("job", .schedule(.test("every day 03:00")))
        var after = before
        after.memoryMiB = 512
        after.trigger = .schedule(.test("every day 04:00"))
        let gone = FunctionManifest.created("gone")
        let difference = ReleaseDifference(
            from: Manifest(functions: [before, gone]), to: Manifest(functions: [after, .created("new")]),
            pending: { $0 == "gone" ? 3 : 0 })
        #expect(difference.added.map(\.name) == ["new"])
        #expect(
            difference.changed == [
                .init(
                    name: "job",
                    changes: [
                        .init(option: "memoryMiB", before: "256", after: "512"),
                        .init(
                            option: "trigger.schedule.schedule", before: "\"every day 03:00\"",
                            after: "\"every day 04:00\""),
                    ])
            ])
        #expect(difference.removed.map(\.name) == ["gone"])
        #expect(
            difference.removed.first?.consequences.first?.hasPrefix("it has 3 pending deliveries, kept for 7 days")
                == true
        )
        let other = ReleaseDifference(
            from: Manifest(functions: [gone]), to: Manifest(functions: [.test("gone", .task(.init()))]),
            pending: { _ in 1 })
        #expect(
            other.changed.first?.consequences.first?.hasPrefix(
                "it has 1 pending delivery "
                    + "that its new trigger") == true)
        let damaged = ReleaseDifference(
            from: Manifest(functions: [gone]), to: Manifest(functions: []), pending: { _ in nil })
        #expect(
            damaged.removed.first?.consequences.first?.hasPrefix("it has an unknown number of pending deliveries")
                == true)
        before = after
        #expect(
            ReleaseDifference(
                from: Manifest(functions: [before]), to: Manifest(functions: [after]), pending: { _ in 0 }
            ).isEmpty)
    }

    @Test func addedRemovedAndChangedParamsAreListed() {
        let before = Manifest(
            functions: [], params: [.init("A", .int), .init("B", .secret), .init("SAME", .list)])
        let after = Manifest(
            functions: [],
            params: [
                .init("A", .int, defaultValue: .int(7)), .init("C", .secret), .init("SAME", .list),
                .init("RATE", .float, defaultValue: .float(0.5)),
            ])
        let difference = ReleaseDifference(from: before, to: after, pending: { _ in 0 })
        #expect(
            difference.params == [
                .init(name: "A", before: "an integer", after: "an integer, by default 7"),
                .init(name: "B", before: "a secret", after: nil), .init(name: "C", before: nil, after: "a secret"),
                .init(name: "RATE", before: nil, after: "a finite number, by default 0.5"),
            ])
        #expect(!difference.isEmpty)
        #expect(ReleaseDifference(from: nil, to: after, pending: { _ in 0 }).params.count == 4)
    }
}

extension TriggerManifest.ScheduleTrigger {
    fileprivate static func test(_ schedule: String) -> Self {
        .init(
            schedule: schedule, timeZone: "UTC", retryCount: 0, maxRetrySeconds: 0, minBackoffSeconds: 5,
            maxBackoffSeconds: 3600, maxDoublings: 5)
    }
}
