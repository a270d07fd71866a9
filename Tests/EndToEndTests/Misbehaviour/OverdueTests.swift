import TestSupport
import Testing

/// Functions that don't stop when they are cancelled.
@Suite(.endsHangs) struct OverdueTests {
    @Test(arguments: [("ignoresCancellation", "null"), ("spins", "true"), ("blocks", "true")])
    func aHandlerThatIgnoresItsEndIsKilled(name: String, data: String) async throws {
        try await RunningHost.serving { host in
            async let answer = host.call(name, data)
            try await Bound.wait("it has a worker") { host.directory.workers.count == 1 }
            let overdue = host.directory.workers
            #expect(try await answer.status == 504)
            try await host.expectEcho()
            try await Bound.wait("the worker of \(name) is killed") {
                Set(host.directory.workers).isDisjoint(with: overdue)
            }
            let next = try await host.call(name, data)
            #expect(next.status == 504)
        }
    }

    @Test(arguments: ["spins", "blocks"])
    func aBusyHandlerLeavesTheOthersOfItsWorkerAnAnswer(name: String) async throws {
        try await RunningHost.serving { host in
            async let busy = host.call(name, "true")
            let neighbours = try await withThrowingTaskGroup(of: HTTPAnswer.self) { group in
                for _ in 0..<3 { group.addTask { try await host.call(name, "false") } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for neighbour in neighbours { #expect([200, 504].contains(neighbour.status), "\(neighbour.text)") }
            #expect(try await busy.status == 504)
            try await host.expectEcho()
            try await Bound.wait("\(name) answers again") {
                try await host.call(name, "false").text == #"{"result":"returned"}"#
            }
        }
    }

    @Test func asManySpinnersAsThereAreProcessorsDoNotStopTheHost() async throws {
        try await RunningHost.serving { host in
            let answers = try await withThrowingTaskGroup(of: HTTPAnswer.self) { group in
                for _ in 0..<8 { group.addTask { try await host.call("spins", "true") } }
                try await host.expectEcho("while they spin")
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for answer in answers { #expect(answer.status == 504) }
            try await Bound.wait("the function answers again") {
                try await host.call("spins", "false").text == #"{"result":"returned"}"#
            }
        }
    }

    @Test func aHandlerThatIsCancelledInTimeKeepsItsProcess() async throws {
        try await RunningHost.serving { host in
            let first = try await host.call("hangs", "null")
            #expect(first.status == 504)
            let worker = host.directory.workers
            let second = try await host.call("hangs", "null")
            #expect(second.status == 504)
            #expect(host.directory.workers == worker)
        }
    }
}
