import Foundation

/// What the variables of the environment say to a bundle that serves alone, as Cloud Run, Knative and Firebase's own
/// libraries name them. One that is empty isn't there.
package struct ServingEnvironment: Sendable {
    /// 0 takes any free one.
    package let port: Int
    /// Nil where only the cloud's metadata server knows it.
    let project: String?
    /// The one function that is served, at every path; nil where each has its own.
    let target: String?
    /// Where emulated users come from, `host:port`; then unsigned tokens are accepted. Nil in production.
    let authEmulator: String?
    /// Whether Cloud Run or Knative runs this.
    package let isOnPlatform: Bool
    /// All of them, as they came.
    let variables: [String: String]

    private static let defaultPort = 8080

    /// - Parameter port: as the command line has it, which wins over `PORT`.
    /// - Throws: all that is wrong with the variables, a line each.
    package init(_ variables: [String: String], port: String? = nil) throws(HostError) {
        var problems: [String] = []
        func value(_ name: String) -> String? { variables[name].flatMap { $0.isEmpty ? nil : $0 } }
        self.variables = variables
        isOnPlatform = value("K_SERVICE") != nil
        target = value("FUNCTION_TARGET")

        let (name, text) = port.map { ("--port", $0) } ?? ("PORT", value("PORT") ?? "\(Self.defaultPort)")
        let number = Int(text).flatMap { (0...65_535).contains($0) ? $0 : nil }
        if number == nil { problems.append("\(name) is \"\(text)\", which is no port; write a number up to 65535") }
        self.port = number ?? Self.defaultPort

        project = value("GOOGLE_CLOUD_PROJECT") ?? value("GCLOUD_PROJECT")
        if let project, !ProjectID.isValid(project) {
            let name = value("GOOGLE_CLOUD_PROJECT") == nil ? "GCLOUD_PROJECT" : "GOOGLE_CLOUD_PROJECT"
            problems.append("\(name) is \"\(project)\", which is no project id; \(ProjectID.description)")
        }

        authEmulator = value("FIREBASE_AUTH_EMULATOR_HOST")
        if let authEmulator {
            if authEmulator.contains("/") || URL(string: "http://\(authEmulator)")?.host == nil {
                problems.append(
                    "FIREBASE_AUTH_EMULATOR_HOST is \"\(authEmulator)\"; write host and port alone, such as "
                        + "127.0.0.1:9099")
            }
            if isOnPlatform {
                problems.append(
                    "FIREBASE_AUTH_EMULATOR_HOST has anybody's tokens accepted, and K_SERVICE says that this is no "
                        + "machine for development; take the one away")
            }
        }
        guard problems.isEmpty else { throw HostError(problems.joined(separator: "\n")) }
    }

    var tokenPolicy: TokenPolicy { authEmulator == nil ? .production : .development }

    /// What a worker sees of the world: all that this process was given, but for secrets and for what is about serving.
    func workerEnvironment(
        of function: String, project: String, release: String, without secrets: [String]
    ) -> [String: String] {
        var environment = variables
        for name in secrets + ["PORT"] { environment[name] = nil }
        environment["GCLOUD_PROJECT"] = project
        environment["GOOGLE_CLOUD_PROJECT"] = project
        environment["K_SERVICE"] = function
        environment["FUNCTION_TARGET"] = function
        environment["K_REVISION"] = variables["K_REVISION"] ?? release
        environment["TZ"] = "UTC"
        environment["FUNCTIONS_EMULATOR"] = authEmulator == nil ? nil : "true"
        return environment
    }
}
