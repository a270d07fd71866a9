import ControlProtocol
package import EventDispatch
package import Hummingbird

/// The `schedules` commands on the running host.
package struct SchedulesTopic: ControlTopic {
    static let maxCount = 1000

    package let runner: ScheduleRunner

    package init(runner: ScheduleRunner) {
        self.runner = runner
    }

    package func addRoutes(to routes: RouterGroup<BasicRequestContext>, _ control: ControlServer) {
        routes.answer("schedules/list") { parameters in
            try await runner.listing(count: try parameters.integer("count", in: 0...Self.maxCount) ?? 3)
        }
        routes.answer("schedules/run") { parameters in
            try await runner.run(try parameters.required("name"), isAwaited: parameters.has("wait"))
        }
    }
}
