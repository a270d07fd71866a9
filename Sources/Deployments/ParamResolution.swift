import FunctionManifest
import HostJSON

/// The values of one bundle's params, or why there are none: from what the manifest says and what was read, and nothing
/// else.
struct ParamResolution {
    struct Problem: Equatable {
        /// The key of `functions.json` that is wrong, or where it would be right.
        var key: String
        var message: String
    }

    private let manifest: Manifest
    private let bundle: String
    private let sources: ParamSources
    private(set) var values: [String: ParamValue] = [:]
    private(set) var secrets: [String: String] = [:]
    private(set) var problems: [Problem] = []

    init(_ manifest: Manifest, of bundle: String, from sources: ParamSources) {
        self.manifest = manifest
        self.bundle = bundle
        self.sources = sources
        for param in manifest.params {
            if param.type == .secret { resolveSecret(param) } else { resolve(param) }
        }
    }

    /// What one of the functions may read.
    func values(for function: FunctionManifest) -> ParamValues {
        ParamValues(of: function, values: values, secrets: secrets)
    }

    // MARK: Params

    private mutating func resolve(_ param: ParamManifest) {
        if let value = sources.configured[param.name] {
            guard value.type == param.type else {
                return report(
                    param, "params.\(param.name)",
                    "it is \(param.type.words), and \(value.type.words) is given; write \(param.type.example)")
            }
            return accept(param, value)
        }
        if let (entry, file) = sources.variables.last(having: param.name) {
            guard let value = param.type.value(of: entry.value) else {
                return report(
                    param, "",
                    "it is \(param.type.words), and \(file.path):\(entry.line) gives something else; write "
                        + "\(param.name)=\(param.type.example)")
            }
            return accept(param, value)
        }
        if let value = param.defaultValue {
            values[param.name] = value
            return
        }
        let place =
            sources.secrets.contains { $0.entries[param.name] != nil }
            ? "it is no secret, and stands in a file of secrets; move it" : "nobody gives it"
        report(
            param, "params",
            "\(place). Write \"params\": { \"\(param.name)\": \(param.type.example) } in functions.json, or "
                + "\(param.name)=\(param.type.plainExample) in .env beside it")
    }

    private mutating func accept(_ param: ParamManifest, _ value: ParamValue) {
        guard value.byteCount <= ParamManifest.maxValue else {
            return report(param, "", "its value has \(value.byteCount) bytes; the limit is \(ParamManifest.maxValue)")
        }
        values[param.name] = value
    }

    private mutating func resolveSecret(_ secret: ParamManifest) {
        if sources.configured[secret.name] != nil {
            return report(
                secret, "params.\(secret.name)",
                "it is a secret, which functions.json is no place for; write it in .secrets beside it, mode 600")
        }
        if let (entry, file) = sources.variables.last(having: secret.name) {
            return report(
                secret, "", "it is a secret, which \(file.path):\(entry.line) is no place for; move it to .secrets")
        }
        guard let (entry, file) = sources.secrets.last(having: secret.name) else {
            return report(
                secret, "", "nobody gives it. Write \(secret.name)=… in .secrets beside functions.json, mode 600")
        }
        guard !entry.value.isEmpty else { return report(secret, "", "\(file.path):\(entry.line) gives it empty") }
        guard entry.value.utf8.count <= ParamManifest.maxValue else {
            return report(
                secret, "",
                "\(file.path):\(entry.line) gives it with \(entry.value.utf8.count) bytes; the limit is "
                    + "\(ParamManifest.maxValue)")
        }
        secrets[secret.name] = entry.value
    }

    private mutating func report(_ param: ParamManifest, _ key: String, _ message: String) {
        let isSecret = param.type == .secret
        let readers = manifest.functions.filter { !isSecret || $0.secrets.contains(param.name) }.map(\.name)
        let who =
            readers.isEmpty
            ? "the bundle \(bundle)"
            : isSecret
                ? "\(readers.joined(separator: ", ")) of the bundle \(bundle)"
                : "the bundle \(bundle) "
                    + "(\(readers.prefix(5).joined(separator: ", "))\(readers.count > 5 ? ", …" : ""))"
        problems.append(
            Problem(
                key: key.isEmpty ? "bundles" : key,
                message: "\(isSecret ? "the secret" : "the param") \(param.name), which \(who) needs: \(message)"))
    }
}

extension [VariableFile] {
    /// The entry that counts.
    fileprivate func last(having name: String) -> (VariableFile.Entry, VariableFile)? {
        for file in reversed() { if let entry = file.entries[name] { return (entry, file) } }
        return nil
    }
}
