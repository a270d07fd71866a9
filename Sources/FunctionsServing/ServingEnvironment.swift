import WorkerProtocol
import DocumentModel
import FirestoreClient
import Gateway
package import HostProcess
import TokenVerification
import Workers
import Logging

/// The configuration of a standalone bundle, read from environment variables that are named as Cloud Run, Knative and
/// Firebase's own libraries name them. An empty variable counts as not set.
package struct ServingEnvironment: Sendable {
    /// The address to listen on.
    let host: String
    /// 0 takes any free port.
    package let port: Int
    /// Nil if only the cloud's metadata server knows it.
    let project: String?
    /// The only function to serve, at every path; nil if each function has its own path.
    let target: String?
    /// The Auth emulator, as `host:port`; with one, unsigned tokens are accepted. Nil in production.
    let authEmulator: String?
    /// Whether Cloud Run or Knative runs this.
    package let isOnPlatform: Bool
    /// The proxies that are trusted to name a request's origin.
    let proxies: TrustedProxies
    /// The hosts that requests may be for; nil in production.
    let hosts: LocalHosts?
    /// All variables, unchanged.
    let variables: [String: String]

    private static let defaultPort = 8080

    /// - Parameter port: the command line's port, which takes precedence over `PORT`.
    /// - Throws: all problems of the variables, one per line.
    package init(_ variables: [String: String], port: String? = nil) throws(HostError) {
        var problems: [String] = []
        func value(_ name: String) -> String? { variables[name].flatMap { $0.isEmpty ? nil : $0 } }
        self.variables = variables
        isOnPlatform = Self.isOnPlatform(variables)
        target = value("FUNCTION_TARGET")

        let (name, text) = port.map { ("--port", $0) } ?? ("PORT", value("PORT") ?? "\(Self.defaultPort)")
        let number = Int(text).flatMap { (0...65_535).contains($0) ? $0 : nil }
        if number == nil { problems.append("\(name) is \"\(text)\", which isn't a port; write a number up to 65535") }
        self.port = number ?? Self.defaultPort

        project = value("GOOGLE_CLOUD_PROJECT") ?? value("GCLOUD_PROJECT")
        if let project, !ProjectID.isValid(project) {
            let name = value("GOOGLE_CLOUD_PROJECT") == nil ? "GCLOUD_PROJECT" : "GOOGLE_CLOUD_PROJECT"
            problems.append("\(name) is \"\(project)\", which isn't a project id; \(ProjectID.description)")
        }

        if let project, isOnPlatform, !RemoteKeySource.isUseful(forProject: project) {
            problems.append(
                "the project \"\(project)\" is for development, where no token can be verified, but K_SERVICE says that "
                    + "this is a platform for production; set GOOGLE_CLOUD_PROJECT to your Firebase project's id")
        }

        authEmulator = value("FIREBASE_AUTH_EMULATOR_HOST")
        if let authEmulator {
            if !HostAndPort.isValid(authEmulator) {
                problems.append(
                    "FIREBASE_AUTH_EMULATOR_HOST is \"\(authEmulator)\"; write host and port alone, such as "
                        + "127.0.0.1:9099")
            }
            if isOnPlatform {
                problems.append(
                    "FIREBASE_AUTH_EMULATOR_HOST makes any token valid, but K_SERVICE says that this is a platform for "
                        + "production; unset FIREBASE_AUTH_EMULATOR_HOST")
            }
        }

        // If any token is valid, only this machine may connect, unless HOST says otherwise.
        host = value("HOST") ?? (authEmulator == nil ? "0.0.0.0" : "127.0.0.1")
        if IPAddress(host) == nil {
            problems.append(
                "HOST is \"\(host)\", which isn't an address; write one such as 127.0.0.1, or 0.0.0.0 for all")
        }

        var prefixes: [AddressPrefix] = []
        for part in (value("TRUSTED_PROXIES") ?? "").split(separator: ",", omittingEmptySubsequences: true) {
            let text = String(part.drop { $0 == " " }.prefix { $0 != " " })
            if let prefix = AddressPrefix(text) {
                prefixes.append(prefix)
            } else {
                problems.append(
                    "TRUSTED_PROXIES has \"\(part)\", which isn't an address; write some such as 10.0.0.7 or 10.0.0.0/8, "
                        + "with commas between")
            }
        }
        var patterns: [HostPattern] = []
        for part in (value("ALLOWED_HOSTS") ?? "").split(separator: ",", omittingEmptySubsequences: true) {
            let text = String(part.drop { $0 == " " }.prefix { $0 != " " })
            if let pattern = HostPattern(text) {
                patterns.append(pattern)
            } else {
                problems.append(
                    "ALLOWED_HOSTS has \"\(part)\", which isn't a host name; write some such as shop.test or *.shop.test, "
                        + "with commas between")
            }
        }
        hosts = authEmulator == nil ? nil : LocalHosts(patterns, setting: "ALLOWED_HOSTS")
        proxies = isOnPlatform ? .platform(beside: prefixes) : TrustedProxies(prefixes)
        if let level = value(WorkerEnvironment.logLevelVariable), Logger.Level(rawValue: level) == nil {
            let levels = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
            problems.append("\(WorkerEnvironment.logLevelVariable) is \"\(level)\"; write one of \(levels)")
        }
        guard problems.isEmpty else { throw HostError(problems.joined(separator: "\n")) }
    }

    /// Whether Cloud Run or Knative runs this, even if the other variables are invalid.
    package static func isOnPlatform(_ variables: [String: String]) -> Bool {
        variables["K_SERVICE"]?.isEmpty == false
    }

    /// The warning to log if no token can be verified.
    func tokenWarning(of project: String) -> String? {
        guard authEmulator == nil, !RemoteKeySource.isUseful(forProject: project) else { return nil }
        return
            "no user's token is accepted: the project is one for development, and FIREBASE_AUTH_EMULATOR_HOST isn't set"
    }

    var tokenPolicy: TokenPolicy { authEmulator == nil ? .production : .development }

    /// A worker's environment: this process's, without secrets and without the variables that configure serving.
    func workerEnvironment(
        of function: String, project: String, release: String, without secrets: [String]
    ) -> [String: String] {
        var environment = variables
        for name in secrets + ["HOST", "PORT", "TRUSTED_PROXIES", "ALLOWED_HOSTS"] { environment[name] = nil }
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
