import DocumentModel
import GoogleREST
import HTTPTypes
import Hummingbird
import NIOCore
import SecurityRules
import StrictJSON

extension DocumentREST {
    /// `PUT /emulator/v1/projects/P:securityRules`, as Firebase's test library sends it to the official emulator:
    /// `{"rules":{"files":[{"name":"firestore.rules","content":"…"}]}}`. In development only.
    ///
    /// - Returns: nil if the request isn't this one.
    func replaceRules(_ request: Request) async throws(DocumentError) -> JSONWriter? {
        guard isDevelopment, request.method == .put,
            request.uri.path == "/emulator/v1/projects/\(database.project):securityRules"
        else { return nil }
        let body = try await body(request)
        let content: String
        do {
            let node = try JSONNode(parsing: Array(body.readableBytesView))
            guard let files = try node["rules"]?["files"]?.elements(), files.count == 1,
                let text = try files[0]["content"]?.string()
            else {
                throw JSONProblem(
                    offset: 0, message: "expected {\"rules\":{\"files\":[{\"name\":…,\"content\":…}]}} with one file")
            }
            content = text
        } catch {
            throw .invalidArgument((error as? JSONProblem)?.message ?? "the body isn't JSON")
        }
        let ruleset: Ruleset
        do { ruleset = try Ruleset(content) } catch {
            let diagnostics = error.diagnostics
            let lines = diagnostics.map { "L\($0.position.line):\($0.position.column) \($0.message)" }
            throw .invalidArgument("Error compiling rules:\n" + lines.joined(separator: "\n"))
        }
        rules.replace(.rules(ruleset))
        var writer = JSONWriter()
        guard !ruleset.warnings.isEmpty else { return .emptyObject }
        writer.raw("{\"issues\":")
        writer.array(ruleset.warnings) { writer, warning in
            writer.raw("{\"sourcePosition\":{\"fileName\":\"firestore.rules\",\"line\":")
            writer.integer(warning.position.line)
            writer.raw(",\"column\":")
            writer.integer(warning.position.column)
            writer.raw("},\"description\":")
            writer.string(warning.message)
            writer.raw(",\"severity\":\"WARNING\"}")
        }
        writer.raw("}")
        return writer
    }
}
