package import HostConfiguration
import HostProcess

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The secrets that the host's own settings name: `"secret": "NAME"` in functions.json stands for `NAME=…` in the files of
/// secrets.
package struct HostSecrets {
    private let configuration: HostConfiguration
    private let files: [VariableFile]

    /// Reads the files of secrets. From then on the host writes no core dumps.
    ///
    /// - Throws: the problems of the first file that has any, such as one that others can read.
    package init(_ configuration: HostConfiguration) throws(ConfigurationError) {
        self.configuration = configuration
        files = try ParamSources.readSecrets(configuration, user: geteuid())
        ProcessLimits.forbidCoreDumps()
    }

    /// The value of a secret.
    ///
    /// - Parameters:
    ///   - name: as in functions.json.
    ///   - key: the dotted key that has the name.
    /// - Throws: a problem at this key, if the secret has no value.
    package func value(of name: String, at key: String) throws(ConfigurationError) -> String {
        guard let (entry, file) = files.lastEntry(named: name) else {
            throw configuration.problem(
                at: key,
                "the secret \(name) has no value. Write \(name)=… in \(ParamSources.secretsPlace(configuration)), mode 600"
            )
        }
        guard !entry.value.isEmpty else {
            throw configuration.problem(at: key, "the secret \(name) is empty in \(file.path):\(entry.line)")
        }
        return entry.value
    }
}
