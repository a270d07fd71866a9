import Hummingbird

/// The `schedules` commands on the running host.
struct SchedulesTopic: ControlTopic {
    static let maxCount = 1000

    let runner: ScheduleRunner

    func addRoutes(to routes: RouterGroup<BasicRequestContext>, _ control: ControlServer) {
        routes.answer("schedules/list") { parameters in
            try await runner.listing(count: try parameters.integer("count", in: 0...Self.maxCount) ?? 3)
        }
        routes.answer("schedules/run") { parameters in
            try await runner.run(try parameters.required("name"), isAwaited: parameters.has("wait"))
        }
    }
}
