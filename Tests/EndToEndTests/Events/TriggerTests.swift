import Foundation
import TestSupport
import Testing

/// The real host and its workers deliver events to functions.
@Suite(.endsHangs) struct TriggerTests {
    @Test func eachKindOfChangeIsToldOnce() async throws {
        try await RunningHost.serving { host in
            try await host.set("logged/a", n: 1)
            try await host.set("logged/a", n: 1)
            try await host.set("logged/a", n: 2)
            try await host.delete("logged/a")
            let written = try await host.wait(for: 3, of: "logWritten")
            let created = try #require(try await host.wait(of: "logCreated").first)
            #expect(created.value("document") == "logged/a")
            #expect(created["params"]?["mapValue"]?["fields"]?.value("id") == "a")
            #expect(created.value("authType") == "service_account")
            let updated = try #require(try await host.wait(of: "logUpdated").first)
            #expect(updated["mask"]?["arrayValue"]?["values"]?[0]?["stringValue"]?.text == "n")
            #expect(updated["before"]?["mapValue"]?["fields"]?.value("n") == "1")
            #expect(updated["after"]?["mapValue"]?["fields"]?.value("n") == "2")
            let deleted = try #require(try await host.wait(of: "logDeleted").first)
            #expect(deleted["data"]?["mapValue"]?["fields"]?.value("n") == "2")
            #expect(written.count == 3)
            for event in written + [created, updated, deleted] {
                #expect(event.value("runs") == "1")
                #expect(event.value("attempt") == "1")
            }
        }
    }

    @Test func aFailedAttemptHasOneLineWhichItsExecutionFinds() async throws {
        try await RunningHost.serving { host in
            try await host.set("broken/a", n: 1)
            try await host.waitForLog("failsToPrint:", "handler failed")
            let lines = try await host.command(["logs", "failsToPrint", "--json"]).output.split(separator: "\n")
                .compactMap { try? JSON(parsing: String($0)) }
            #expect(lines.count == 1)
            let line = try #require(lines.first)
            #expect(line["message"]?.text == "an event's handler failed; the event is dropped")
            #expect(line["fields"]?["error"]?.text == "INTERNAL: outOfPaper")
            #expect(line["fields"]?["error.type"]?.text == "PrinterError")
            let execution = try #require(line["execution"]?.text)
            let found = try await host.command(["logs", "--execution", execution]).output.split(separator: "\n")
            #expect(found.count == 1)
        }
    }

    @Test func aClientsChangeTellsWhoMadeIt() async throws {
        try await RunningHost.serving { host in
            let user = try await SignedInUser.create(host)
            try await host.set(
                "users/\(user.uid)", headers: user.headers.merging(["Content-Type": "application/json"]) { $1 })
            let event = try #require(try await host.wait(of: "logUser").first)
            #expect(event.value("authType") == "app_user")
            #expect(event.value("authID") == user.uid)
        }
    }

    @Test func tasksEventsAndMessagesAreTold() async throws {
        try await RunningHost.serving { host in
            #expect(try await host.call("enqueue", #"{"queue":"work","data":{"does":"failOnce"}}"#).status == 200)
            #expect(try await host.call("say", #"{"words":["hello"],"volume":"loud"}"#).status == 200)
            #expect(try await host.call("sendMessage", #"{"a":1}"#).status == 200)
            let heard = try #require(try await host.wait(of: "hear").first)
            #expect(heard.value("data") == #"["hello"]"#)
            try await host.wait(of: "hearLoud")
            #expect(try await host.wait(of: "receive").first?.value("topic") == "fixture-topic")
            try await Bound.wait("the task is done at its second attempt") {
                try await host.received(by: "work").first?.value("runs") == "2"
            }
            let task = try #require(try await host.received(by: "work").first)
            #expect(task.value("attempt") == "2")
            #expect(task.value("executionCount") == "1")
            #expect(task.value("previousResponse") == "503")
        }
    }

    @Test func aFailureIsTriedAgainOrDropped() async throws {
        try await RunningHost.serving { host in
            try await host.set("failing/a", n: 2)
            let event = try #require(try await host.wait(of: "failsTimes").first)
            #expect(event.value("attempt") == "3")
            #expect(try await host.integer("tries/a") == 3)
            try await host.waitForLog("the event is dropped", "failsOnce", "DATA_LOSS: never")
            #expect(try await host.received(by: "failsOnce").first?.value("runs") == "1")
        }
    }

    @Test func aTrapIsTriedAgainThenADeadLetterAndHarmsNobody() async throws {
        try await RunningHost.serving { host in
            try await host.set("traps/a", n: 1)
            try await host.set("calm/a", n: 1)
            try await host.wait(of: "calm")
            try await host.waitForLog(
                "the event is a dead letter", "trapsOnEvent", "try=4", "the process ended", "Fatal error")
            try await host.set("calm/b", n: 1)
            try await host.wait(for: 2, of: "calm")
            try await host.expectEcho()
        }
    }

    @Test func aHandlerSlowerThanItsTimeIsNeverRunTwiceAtOnceNorCommitsLate() async throws {
        try await RunningHost.serving { host in
            let file = host.directory.path + "/exclusive"
            try await host.set("exclusive/a", #""file":{"stringValue":"\#(file)"}"#)
            try await host.set("overrun/a", n: 1)
            try await host.waitForLog("the event is a dead letter", "exclusive", "longer than its 1 s")
            #expect(
                try String(contentsOfFile: file + ".runs", encoding: .utf8) == "begin\nend\nbegin\nend\nbegin\nend\n")
            try await host.waitForLog("the event is a dead letter", "overruns", "longer than its 1 s")
            #expect(try await host.fields("late/a") == nil)
        }
    }

    @Test func aLoopEndsAsADeadLetterThatNamesIt() async throws {
        try await RunningHost.serving(extra: #""limits": { "eventDepth": 5 }"#) { host in
            try await host.set("loop/a", n: 0)
            try await host.set("pings/a", n: 0)
            try await host.waitForLog("dead letter", "loops → loops → loops → loops → loops → loops")
            try await host.waitForLog("dead letter", "ping → pong → ping → pong → ping → pong")
            #expect(try await host.integer("loop/a") == 5)
        }
    }

    @Test func oneDocumentsChangesAreToldInOrder() async throws {
        try await RunningHost.serving { host in
            for number in 1...20 {
                for id in ["a", "b"] {
                    try await host.set(
                        "ordered/\(id)", n: number, #""stumbles":{"booleanValue":\#(number % 5 == 0)}"#)
                }
            }
            for id in ["a", "b"] {
                var seen: [Int?] = []
                try await Bound.wait("all changes of \(id) are delivered") {
                    let values = try await host.fields("orders/\(id)")?["seen"]?["arrayValue"]?["values"]?.list ?? []
                    seen = values.map { $0["integerValue"]?.integer }
                    return seen.count >= 20
                }
                #expect(seen == Array(1...20))
            }
        }
    }

    @Test func aFloodForOneFunctionHoldsUpNoOther() async throws {
        try await RunningHost.serving { host in
            // As many as its workers take, and more, each for as long as the test waits.
            try await host.set("flood", ids: (0..<400).map { "f\($0)" }, n: 60_000)
            try await host.set("calm/a", n: 1)
            try await host.wait(of: "calm")
        }
    }
}
