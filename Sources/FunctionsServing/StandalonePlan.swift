import FunctionManifest
import HostProcess
import Logging

/// The functions that a bundle serves standalone, and the params they may read.
struct StandalonePlan {
    let functions: [FunctionManifest]
    let params: EnvironmentParams
    /// The functions that need a host.
    private let unserved: [FunctionManifest]

    /// - Throws: all problems that keep the bundle from being served, one per line.
    init(_ manifest: Manifest, of bundle: String, in environment: ServingEnvironment) throws(HostError) {
        let servable = manifest.functions.filter(\.trigger.hasURL)
        unserved = manifest.functions.filter { !$0.trigger.hasURL }
        var problems: [String] = []
        if let target = environment.target {
            functions = servable.filter { $0.name == target }
            if let other = unserved.first(where: { $0.name == target }) {
                problems.append(
                    "FUNCTION_TARGET is \"\(target)\", which is \(other.trigger.kindName); only callable, HTTP "
                        + "and blocking functions can be served standalone. Serve it with functions-host")
            } else if functions.isEmpty {
                let names = servable.map(\.name).joined(separator: ", ")
                problems.append(
                    "FUNCTION_TARGET is \"\(target)\", and \(bundle) has no such function; it has \(names)")
            }
        } else {
            functions = servable
            if servable.isEmpty {
                problems.append(
                    "\(bundle) has no callable, HTTP or blocking function; only these can be served standalone. Serve it with "
                        + "functions-host")
            }
        }
        params = EnvironmentParams(manifest, of: functions, from: environment.variables)
        problems += params.problems
        guard problems.isEmpty else { throw HostError(problems.joined(separator: "\n")) }
    }

    /// For the log; nil if all are served.
    var unservedReason: Logger.Metadata? {
        guard !unserved.isEmpty else { return nil }
        let names = unserved.map { "\($0.name) (\($0.trigger.kindName))" }.joined(separator: ", ")
        return ["functions": "\(names)", "reason": "without functions-host, they aren't run"]
    }
}
