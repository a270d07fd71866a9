import FunctionManifest
import Testing

@testable import FunctionsRuntime

/// What an author's options become in the manifest, by which the host goes.
@Suite struct TriggerOptionTests {
    private func callable(_ options: CallableOption<NoData>...) -> TriggerManifest {
        let function =
            switch options.count {
            case 0: onCall("f") { (request: CallableRequest<NoData>) in true }
            default: onCall("f", options[0]) { (request: CallableRequest<NoData>) in true }
            }
        return function.trigger
    }

    @Test func aCallablesOptions() {
        #expect(callable() == .callable(.init(cors: .any, enforceAppCheck: false, heartbeatSeconds: 30)))
        #expect(
            callable(.cors(.off)) == .callable(.init(cors: .off, enforceAppCheck: false, heartbeatSeconds: 30)))
        #expect(
            callable(.cors(.origins("https://shop.example")))
                == .callable(
                    .init(cors: .origins(["https://shop.example"]), enforceAppCheck: false, heartbeatSeconds: 30)))
        #expect(
            callable(.heartbeat(.seconds(1)))
                == .callable(.init(cors: .any, enforceAppCheck: false, heartbeatSeconds: 1)))
        #expect(
            callable(.heartbeat(nil)) == .callable(.init(cors: .any, enforceAppCheck: false, heartbeatSeconds: nil)))
        #expect(
            callable(.enforceAppCheck())
                == .callable(.init(cors: .any, enforceAppCheck: true, heartbeatSeconds: 30)))
    }

    @Test func anHTTPFunctionsOptions() {
        #expect(onRequest("f") { _ in HTTPResponse(status: 200) }.trigger == .http(.init(cors: .off)))
        #expect(onRequest("f", .cors(.any)) { _ in HTTPResponse(status: 200) }.trigger == .http(.init(cors: .any)))
    }
}

/// Options that a function can't have together.
@Suite struct FunctionProblemTests {
    @Test func transactionalHandlersArentRepeatable() {
        let transactional = onCall("f", .repeatable()) { (request: CallableRequest<NoData>, _: Transaction) in true }
        #expect(
            transactional.problems == [
                "a transactional handler's work is never in doubt: it may always be repeated; leave repeatable() out"
            ])
        #expect(onCall("f", .repeatable()) { (request: CallableRequest<NoData>) in true }.problems.isEmpty)
    }

    @Test func durationsAreWholeSeconds() {
        let timeout = onRequest("f", .timeout(.milliseconds(2500))) { _ in HTTPResponse(status: 200) }
        #expect(timeout.problems == ["timeout is 2.5 seconds; it must be whole seconds"])
        let limited = onCall(
            "f", .heartbeat(.milliseconds(1500)), .callerLimit(.perUser(1, per: .milliseconds(1500)))
        ) { (request: CallableRequest<NoData>) in true }
        #expect(
            limited.problems == [
                "heartbeat is 1.5 seconds; it must be whole seconds",
                "the time of callerLimit is 1.5 seconds; it must be whole seconds",
            ])
        let whole = onCall("f", .timeout(.seconds(2)), .heartbeat(nil), .callerLimit(.perUser(1, per: .minutes(1)))) {
            (request: CallableRequest<NoData>) in true
        }
        #expect(whole.problems.isEmpty)
    }

    private func problems(ofOrigin origin: String) -> [String] {
        onRequest("f", .cors(.origins("https://shop.example", origin))) { _ in HTTPResponse(status: 200) }.problems
    }

    @Test(arguments: [
        "shop.example", "https://shop.example/", "https://Shop.example", "https://shop.example:443", "http://a:80",
        "https://", "",
    ])
    func anOriginThatBrowsersDontSendIsRefused(origin: String) {
        #expect(
            problems(ofOrigin: origin) == [
                "\"\(origin)\" isn't an origin; write it as browsers send it, without a path and without the usual "
                    + "port: https://shop.example or http://localhost:3000"
            ])
        let callable = onCall("f", .cors(.origins(origin))) { (request: CallableRequest<NoData>) in true }
        #expect(callable.problems.count == 1)
    }

    @Test(arguments: ["*", "https://*", "https://*.com", "https://shop.*", "*.shop.example", "https://*.shop.example/"])
    func aPatternThatIsNotOfSubdomainsIsRefused(origin: String) {
        #expect(
            problems(ofOrigin: origin) == [
                "\"\(origin)\" isn't a pattern of origins; write one * in place of a subdomain's name, before a domain "
                    + "of your own: https://*.shop.example"
            ])
    }

    @Test(arguments: [
        "http://localhost:3000", "http://[::1]:8080", "https://a.b-c.example:80", "capacitor://localhost", "file://",
        "null", "https://*.shop.example", "http://*.localhost:3000",
    ])
    func anOriginMayHaveAPortAndAnyScheme(origin: String) {
        #expect(problems(ofOrigin: origin).isEmpty)
    }
}

/// Options that a bundle sets once for all of its functions.
@Suite struct FunctionDefaultsTests {
    private struct Defaults: FunctionBundle {
        var defaults: FunctionDefaults {
            FunctionDefaults(
                .region(.europeWest1), .memory(.mib512), .timeout(.seconds(30)), .concurrency(5), .labels(["team": "a"])
            )
        }

        var functions: [Function] {
            onCall("plain") { (request: CallableRequest<NoData>) in true }
            onCall("own", .region(.usEast1, .usEast4), .memory(.gib1), .labels(["own": "b"])) {
                (request: CallableRequest<NoData>) in true
            }
            onDocumentCreated("changed", document: "/users/{id}/") { event in _ = event.location }
        }
    }

    @Test func functionsHaveWhatTheyDontSetThemselves() {
        let manifests = Manifest(Defaults()).functions
        #expect(manifests.map(\.regions) == [["europe-west1"], ["us-east1", "us-east4"], ["europe-west1"]])
        #expect(manifests.map(\.memoryMiB) == [512, 1024, 512])
        #expect(manifests.map(\.timeoutSeconds) == [30, 30, 30])
        #expect(manifests.map(\.concurrency) == [5, 5, 5])
        #expect(manifests.map(\.labels) == [["team": "a"], ["team": "a", "own": "b"], ["team": "a"]])
        #expect(Manifest(Defaults()).problems(of: Defaults().configuredFunctions).isEmpty)
    }

    private struct Patient: FunctionBundle {
        var defaults: FunctionDefaults { FunctionDefaults(.timeout(.seconds(900))) }

        var functions: [Function] {
            onCall("call") { (request: CallableRequest<NoData>) in true }
            onDocumentCreated("changed", document: "/users/{id}/") { event in _ = event.location }
            onSchedule("daily", schedule: "every day 03:00") { event in _ = event.id }
            beforeUserCreated("ask") { event in nil }
            beforeUserSignedIn("own", .timeout(.seconds(8))) { event in nil }
        }
    }

    @Test func aTimeoutOfAllIsCutToWhatAKindMayHave() {
        let manifest = Manifest(Patient())
        #expect(manifest.functions.map(\.timeoutSeconds) == [900, 540, 900, 7, 8])
        #expect(
            manifest.problems(of: Patient().configuredFunctions).map { "\($0)" } == [
                "function \"own\": the timeout is 8 s; for a blocking function it must be 1 to 7 s"
            ])
        struct Quick: FunctionBundle {
            var defaults: FunctionDefaults { FunctionDefaults(.timeout(.seconds(3))) }
            var functions: [Function] { beforeUserCreated("ask") { event in nil } }
        }
        #expect(Manifest(Quick()).functions.map(\.timeoutSeconds) == [3])
    }
}

/// One way to say how failures are retried, for all kinds of function.
@Suite struct RetryTests {
    private func event(_ options: EventOption...) -> TriggerManifest {
        (options.first.map { onMessagePublished("f", topic: "top", $0) { _ in } }
            ?? onMessagePublished("f", topic: "top") { _ in }).trigger
    }

    private func policy(_ trigger: TriggerManifest) -> EventRetryManifest? {
        guard case .event(let trigger) = trigger else { return nil }
        return trigger.retry
    }

    @Test func eventsArentRetriedByDefault() {
        #expect(policy(event()) == nil)
        #expect(policy(event(.retry(.never))) == nil)
        #expect(
            policy(event(.retry()))
                == EventRetryManifest(
                    minBackoffSeconds: 10, maxBackoffSeconds: 600, maxAgeSeconds: 86_400, maxAttempts: nil))
        #expect(
            policy(event(.retry(.exponential(from: .milliseconds(500), to: .minutes(1), for: .hours(1), attempts: 4))))
                == EventRetryManifest(
                    minBackoffSeconds: 0.5, maxBackoffSeconds: 60, maxAgeSeconds: 3600, maxAttempts: 4))
        let odd = onMessagePublished("f", topic: "top", .retry(.exponential(doublings: 3))) { _ in }
        #expect(odd.problems == ["delays of retried events double until the longest one; leave doublings out"])
    }

    @Test func tasksHaveThreeAttemptsByDefault() {
        func trigger(_ retry: Retry?) -> TriggerManifest {
            if let retry { return onTaskDispatched("q", .retry(retry)) { (_: TaskRequest<Int>) in }.trigger }
            return onTaskDispatched("q") { (_: TaskRequest<Int>) in }.trigger
        }
        #expect(trigger(nil) == .task(.init()))
        #expect(trigger(.exponential()) == .task(.init()))
        #expect(trigger(.never) == .task(.init(maxAttempts: 1)))
        #expect(trigger(.attempts(7)) == .task(.init(maxAttempts: 7)))
        #expect(trigger(.attempts(.max)) == .task(.init(maxAttempts: -1)))
    }

    @Test func runsArentRetriedByDefault() {
        func count(_ retry: Retry?) -> [Int] {
            let function =
                retry.map { onSchedule("s", schedule: "every day 03:00", .retry($0)) { _ in } }
                ?? onSchedule("s", schedule: "every day 03:00") { _ in }
            guard case .schedule(let trigger) = function.trigger else { return [] }
            return [trigger.retryCount, trigger.maxRetrySeconds, trigger.minBackoffSeconds, trigger.maxBackoffSeconds]
        }
        #expect(count(nil) == [0, 0, 5, 3600])
        #expect(count(.never) == [0, 0, 5, 3600])
        #expect(count(.exponential()) == [5, 0, 5, 3600])
        #expect(count(.attempts(4)) == [3, 0, 5, 3600])
        #expect(count(.exponential(from: .minutes(1), to: .minutes(10), for: .hours(2))) == [0, 7200, 60, 600])
    }

    @Test func aBundlesCallablesMayAllEnforceAppCheck() {
        let function = onCall("f") { (request: CallableRequest<NoData>) in true }
        #expect(
            function.with(FunctionDefaults(.enforceAppCheck())).trigger
                == .callable(.init(cors: .any, enforceAppCheck: true, heartbeatSeconds: 30)))
    }

    @Test(arguments: [
        (Retry.exponential(from: .milliseconds(500)), "from is 0.5 seconds; it must be whole seconds"),
        (.exponential(for: .milliseconds(900)), "for is 0.9 seconds; it must be whole seconds"),
        (.attempts(10), "a schedule's run has 1 to 6 attempts, not 10"),
    ])
    func whatARetryCannotBeIsSaidInItsWords(retry: Retry, problem: String) {
        let function = onSchedule("f", schedule: "every 5 minutes", .retry(retry)) { _ in }
        #expect(function.problems == [problem])
    }
}
