import WorkerProtocol

/// Where values of params come from, read and not yet asked for.
struct ParamSources: Equatable, Sendable {
    /// `params` of `functions.json`, with what the environment changes in them.
    var configured: [String: ParamValue] = [:]
    /// The later of them win.
    var variables: [VariableFile] = []
    /// The later of them win.
    var secrets: [VariableFile] = []

    /// Reads `.env` and `.env.PROJECT` beside `functions.json`, and the files of secrets: the one that it names, else
    /// `.secrets` and `.secrets.PROJECT`. What isn't there is empty.
    ///
    /// - Throws: what is wrong with the first file that isn't right.
    static func load(_ configuration: HostConfiguration) throws(ConfigurationError) -> ParamSources {
        let directory = ConfigurationFile.directory(of: configuration.places.file)
        var sources = ParamSources(configured: configuration.params)
        for name in [".env", ".env.\(configuration.project)"] {
            if let file = try read(directory + "/" + name, isSecret: false) { sources.variables.append(file) }
        }
        let paths =
            configuration.secrets.map { [$0] }
            ?? [".secrets", ".secrets.\(configuration.project)"].map { directory + "/" + $0 }
        for path in paths {
            if let file = try read(path, isSecret: true) { sources.secrets.append(file) }
        }
        return sources
    }

    private static func read(_ path: String, isSecret: Bool) throws(ConfigurationError) -> VariableFile? {
        guard let status = FileStatus(path) else { return nil }
        if isSecret && status.isOpenToOthers {
            throw ConfigurationError(
                file: path,
                problems: [
                    .init(
                        place: nil, key: "",
                        message: "others than its owner may use this file of secrets; run: chmod 600 \(path)")
                ])
        }
        return try VariableFile(path: path, bytes: try ConfigurationFile.read(path))
    }
}
