import TestSupport
import Testing

/// The errors of callables, and what callers never see of them.
@Suite(.endsHangs) struct CallableErrorTests {
    static let codes: [(name: String, status: Int)] = [
        ("OK", 200), ("CANCELLED", 499), ("UNKNOWN", 500), ("INVALID_ARGUMENT", 400), ("DEADLINE_EXCEEDED", 504),
        ("NOT_FOUND", 404), ("ALREADY_EXISTS", 409), ("PERMISSION_DENIED", 403), ("UNAUTHENTICATED", 401),
        ("RESOURCE_EXHAUSTED", 429), ("FAILED_PRECONDITION", 400), ("ABORTED", 409), ("OUT_OF_RANGE", 400),
        ("UNIMPLEMENTED", 501), ("INTERNAL", 500), ("UNAVAILABLE", 503), ("DATA_LOSS", 500),
    ]

    @Test func eachCodeHasItsStatusMessageAndDetails() async throws {
        try await RunningHost.serving { host in
            for code in Self.codes {
                let plain = try await host.call("refuse", #"{"code":"\#(code.name)","message":"No \"way\"\n"}"#)
                #expect(plain.status == code.status, "\(code.name)")
                #expect(
                    plain.json == (try JSON(parsing: #"{"error":{"message":"No \"way\"\n","status":"\#(code.name)"}}"#))
                )
                let detailed = try await host.call(
                    "refuse", #"{"code":"\#(code.name)","message":"é","details":{"left":[1,null,"x"]}}"#)
                #expect(
                    detailed.json
                        == (try JSON(
                            parsing:
                                #"{"error":{"message":"é","status":"\#(code.name)","details":{"left":[1,null,"x"]}}}"#))
                )
            }
        }
    }

    @Test func anErrorThatIsNotForTheCallerIsHiddenAndLogged() async throws {
        try await RunningHost.serving { host in
            let answer = try await host.call("fails", "null")
            #expect(answer.status == 500)
            #expect(answer.text == #"{"error":{"message":"INTERNAL","status":"INTERNAL"}}"#)
            try await Bound.wait("the error is in the log") { host.process.errors.contains("swordfish") }
            let streamed = try await host.call("fails", "null", headers: ["Accept": "text/event-stream"])
            #expect(streamed.events == [try JSON(parsing: #"{"error":{"message":"INTERNAL","status":"INTERNAL"}}"#)])
            #expect(!streamed.text.contains("swordfish"))
        }
    }

    @Test func anAnswerThatCannotBeSentIsTheFunctionsFault() async throws {
        try await RunningHost.serving { host in
            for (name, data) in [("notANumber", "null"), ("largeAnswer", "33554432")] {
                let answer = try await host.call(name, data)
                #expect(answer.status == 500)
                #expect(answer.text == #"{"error":{"message":"INTERNAL","status":"INTERNAL"}}"#)
            }
            let largest = try await host.call("largeAnswer", "33554430")
            #expect(largest.status == 200)
            #expect(largest.body.count == 33_554_430 + #"{"result":""}"#.utf8.count)
        }
    }
}
