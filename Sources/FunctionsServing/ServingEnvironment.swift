import DocumentModel
import FirestoreClient
import Gateway
package import HostProcess
import TokenVerification
import Workers

/// What the variables of the environment say to a bundle that serves alone, as Cloud Run, Knative and Firebase's own
/// libraries name them. One that is empty isn't there.
package struct ServingEnvironment: Sendable {
    /// The address that is listened on.
    let host: String
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
    /// Whose word counts on where a request comes from.
    let proxies: TrustedProxies
    /// All of them, as they came.
    let variables: [String: String]

    private static let defaultPort = 8080

    /// - Parameter port: as the command line has it, which wins over `PORT`.
    /// - Throws: all that is wrong with the variables, a line each.
    package init(_ variables: [String: String], port: String? = nil) throws(HostError) {
        var problems: [String] = []
        func value(_ name: String) -> String? { variables[name].flatMap { $0.isEmpty ? nil : $0 } }
        self.variables = variables
        isOnPlatform = Self.isOnPlatform(variables)
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

        if let project, isOnPlatform, !RemoteKeySource.isUseful(forProject: project) {
            problems.append(
                "the project \"\(project)\" is for development, where nobody's token can be checked, and K_SERVICE says "
                    + "that this is no machine for it; set GOOGLE_CLOUD_PROJECT to your Firebase project's id")
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
                    "FIREBASE_AUTH_EMULATOR_HOST has anybody's tokens accepted, and K_SERVICE says that this is no "
                        + "machine for development; take the one away")
            }
        }

        // Where anybody's tokens count, only this machine may ask, unless somebody says otherwise.
        host = value("HOST") ?? (authEmulator == nil ? "0.0.0.0" : "127.0.0.1")
        if IPAddress(host) == nil {
            problems.append("HOST is \"\(host)\", which is no address; write one such as 127.0.0.1, or 0.0.0.0 for all")
        }

        var prefixes: [AddressPrefix] = []
        for part in (value("TRUSTED_PROXIES") ?? "").split(separator: ",", omittingEmptySubsequences: true) {
            let text = String(part.drop { $0 == " " }.prefix { $0 != " " })
            if let prefix = AddressPrefix(text) {
                prefixes.append(prefix)
            } else {
                problems.append(
                    "TRUSTED_PROXIES has \"\(part)\", which is no address; write some such as 10.0.0.7 or 10.0.0.0/8, "
                        + "with commas between")
            }
        }
        proxies = isOnPlatform ? .platform(beside: prefixes) : TrustedProxies(prefixes)
        guard problems.isEmpty else { throw HostError(problems.joined(separator: "\n")) }
    }

    /// Whether Cloud Run or Knative runs this, also where nothing else can be made of the variables.
    package static func isOnPlatform(_ variables: [String: String]) -> Bool {
        variables["K_SERVICE"]?.isEmpty == false
    }

    /// What is to be told of tokens, if none can be checked.
    func tokenWarning(of project: String) -> String? {
        guard authEmulator == nil, !RemoteKeySource.isUseful(forProject: project) else { return nil }
        return
            "no user's token is accepted: the project is one for development, and FIREBASE_AUTH_EMULATOR_HOST isn't set"
    }

    var tokenPolicy: TokenPolicy { authEmulator == nil ? .production : .development }

    /// What a worker sees of the world: all that this process was given, but for secrets and for what is about serving.
    func workerEnvironment(
        of function: String, project: String, release: String, without secrets: [String]
    ) -> [String: String] {
        var environment = variables
        for name in secrets + ["HOST", "PORT", "TRUSTED_PROXIES"] { environment[name] = nil }
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
