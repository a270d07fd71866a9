import ControlProtocol
package import Deployments
import DocumentModel
package import Hummingbird

/// The commands `deploy`, `releases`, `rollback` and `promote` on the running host.
package struct ReleasesTopic: ControlTopic {
    package let deployments: DeploymentService

    package init(deployments: DeploymentService) {
        self.deployments = deployments
    }

    package func addRoutes(to routes: RouterGroup<BasicRequestContext>, _ control: ControlServer) {
        routes.answer("releases/list") { _ in try await convertingErrors { try await deployments.listing() } }
        routes.answer("releases/prepare") { parameters in
            let bundle = try parameters.required("bundle")
            let executable = try parameters.required("executable")
            let source = try parameters.required("source")
            let user = try parameters.required("user")
            let release = parameters["release"].flatMap { id in parameters["checksum"].map { (id: id, checksum: $0) } }
            return try await convertingErrors {
                try await deployments.prepare(
                    bundle: bundle, executable: executable, source: source, user: user, as: release,
                    with: RulesSource(parameters))
            }
        }
        routes.answer("releases/prepare-rules") { parameters in
            let user = try parameters.required("user")
            let files = RulesSource(parameters)
            return try await convertingErrors { try await deployments.prepareRules(files, user: user) }
        }
        routes.answer("releases/activate") { parameters in
            let bundle = try parameters.required("bundle")
            let release = try parameters.required("release")
            let user = try parameters.required("user")
            guard let action = ReleaseEvent.Action(rawValue: try parameters.required("action")) else {
                throw DocumentError.invalidArgument("unknown action")
            }
            let rules = parameters["rules"].map { (id: $0, replacing: parameters["replacing-rules"]) }
            return try await convertingErrors {
                try await deployments.activate(
                    bundle: bundle, release, replacing: parameters["replacing"], with: rules, as: action, user: user)
            }
        }
        routes.answer("releases/activate-rules") { parameters in
            let release = try parameters.required("release")
            let user = try parameters.required("user")
            return try await convertingErrors {
                try await deployments.activateRules(release, replacing: parameters["replacing"], user: user)
            }
        }
        routes.answer("releases/discard") { parameters in
            let bundle = try parameters.required("bundle")
            let release = try parameters.required("release")
            return try await convertingErrors {
                try await deployments.discard(bundle: bundle, release)
                return true
            }
        }
        routes.answer("releases/rollback") { parameters in
            let user = try parameters.required("user")
            return try await convertingErrors {
                try await deployments.rollback(bundle: parameters["bundle"], to: parameters["release"], user: user)
            }
        }
        routes.answer("releases/remove") { parameters in
            let bundle = try parameters.required("bundle")
            let user = try parameters.required("user")
            return try await convertingErrors { try await deployments.remove(bundle: bundle, user: user) }
        }
    }

    /// Turns other errors into `failedPrecondition` with their description as message.
    private func convertingErrors<Answer>(_ body: () async throws -> Answer) async throws(DocumentError) -> Answer {
        do {
            return try await body()
        } catch let error as DocumentError {
            throw error
        } catch {
            throw DocumentError(.failedPrecondition, "\(error)")
        }
    }
}

extension RulesSource {
    fileprivate init(_ parameters: ControlParameters) {
        self.init(
            rules: parameters["rules"], indexes: parameters["indexes"], databaseRules: parameters["databaseRules"])
    }
}
