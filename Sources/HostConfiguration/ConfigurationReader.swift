import DocumentModel
import StrictJSON

/// Parses a `functions.json` into a ``HostConfiguration``, or reports all of its problems.
package struct ConfigurationReader {
    let file: String
    /// The directory that relative paths start at.
    let directory: String
    let bytes: [UInt8]
    let root: JSONNode
    /// Whether the environment being read is the selected one. The other ones may name files that exist only on other
    /// machines.
    var isSelected = true
    /// Whether the files that the configuration names must be there. Commands that don't use them work without them.
    private let checksFiles: Bool
    var problems: Set<ConfigurationError.Problem> = []
    /// What is valid and ignored, because this host doesn't support it.
    var skipped: [ConfigurationError.Problem] = []
    var places: ConfigurationPlaces

    /// - Throws: the problem of a file that isn't JSON.
    init(
        _ bytes: [UInt8], file: String, directory: String, checkingFiles: Bool = true
    ) throws(ConfigurationError) {
        do {
            root = try JSONNode(parsing: bytes)
        } catch {
            let place = ConfigurationPlaces.Place(JSONPosition(of: error.offset, in: bytes))
            throw ConfigurationError(file: file, problems: [.init(place: place, key: "", message: error.message)])
        }
        self.file = file
        self.directory = directory
        self.bytes = bytes
        checksFiles = checkingFiles
        places = ConfigurationPlaces(file: file)
    }

    /// - Throws: all problems at once, including those of environments that aren't selected.
    static func read(
        _ bytes: [UInt8], file: String, environment: String?, checkingFiles: Bool = true
    ) throws(ConfigurationError) -> HostConfiguration {
        var reader = try ConfigurationReader(
            bytes, file: file, directory: ConfigurationFile.directory(of: file), checkingFiles: checkingFiles)
        let configuration = reader.readEnvironments(selecting: environment)
        guard let configuration, reader.problems.isEmpty else {
            throw ConfigurationError(file: file, problems: Array(reader.problems))
        }
        return configuration
    }

    private mutating func readEnvironments(selecting environment: String?) -> HostConfiguration? {
        guard case .object(let members) = root.kind else {
            report("the file must contain an object, { … }; this is \(root.summary)", at: root.offset)
            return nil
        }
        let base = JSONNode(kind: .object(members.filter { $0.key != "environments" }), offset: root.offset)
        var overlays: [JSONNode.Member] = []
        if let environments = root["environments"] {
            if case .object(let named) = environments.kind {
                overlays = named
            } else {
                report("\(environments.summary) is not an object of environments", at: environments.offset)
            }
        }
        isSelected = environment == nil
        let plain = configuration(base)
        let plainPlaces = places
        var selected = environment == nil ? plain : nil
        var selectedPlaces = plainPlaces
        for overlay in overlays {
            for key in ConfigurationKeys.fileOnly where overlay.value[key] != nil {
                report("an environment can't have \"\(key)\"", at: overlay.value.memberOffset(key))
            }
            isSelected = overlay.key == environment
            places = ConfigurationPlaces(file: file)
            let read = configuration(base.overlaid(with: overlay.value.without(ConfigurationKeys.fileOnly)))
            if isSelected { (selected, selectedPlaces) = (read, places) }
        }
        if let environment, !overlays.contains(where: { $0.key == environment }) {
            let names = overlays.map { "\"\($0.key)\"" }.joined(separator: ", ")
            report(
                "there is no environment \"\(environment)\"; "
                    + (names.isEmpty ? "the file has none" : "the file has \(names)"),
                at: root.memberOffset("environments"))
        }
        selected?.places = selectedPlaces
        return selected
    }

    private mutating func configuration(_ node: JSONNode) -> HostConfiguration? {
        guard let object = object(node, key: "", known: ConfigurationKeys.root) else { return nil }
        if let schema = object["$schema"] { _ = string(schema) }
        let mode = object["mode"].flatMap { choice($0, HostConfiguration.Mode.self) } ?? .development
        let project = object["project"].flatMap { projectID($0, mode: mode) }
        if object["project"] == nil, isSelected {
            report(
                "\"project\" is missing; "
                    + "write the ID of your Firebase project, or demo-… if you have none", at: node.offset)
        }
        var configuration = HostConfiguration(
            project: project ?? "", mode: mode,
            data: ConfigurationFile.resolve(object["data"].flatMap { path($0) } ?? ".functions", in: directory),
            places: places)
        if let listen = object["listen"] { configuration.listen = self.listen(listen) }
        if let store = object["store"] { configuration.store = self.store(store) }
        configuration.rules = object["rules"].flatMap { readableFile($0) }
        configuration.indexes = object["indexes"].flatMap { readableFile($0) }
        configuration.databaseRules = object["databaseRules"].flatMap { readableFile($0) }
        if let node = object["database"] { configuration.database = database(node) }
        if let bundles = object["bundles"] { configuration.bundles = self.bundles(bundles) }
        if let functions = object["functions"] { configuration.functions = self.functions(functions) }
        if let limits = object["limits"] { configuration.limits = self.limits(limits) }
        if let clients = object["clients"] { configuration.clients = self.clients(clients) }
        if let auth = object["auth"] { configuration.auth = self.auth(auth, mode: mode) }
        if let node = object["appCheck"] {
            configuration.appCheck = appCheck(node)
            if mode == .production, configuration.auth.issuer == .google {
                let reason = "needs the auth port, which production has with \"auth\": { \"issuer\": \"own\" } alone"
                if !configuration.appCheck.apps.isEmpty {
                    report("\"apps\" \(reason)", at: node.memberOffset("apps"))
                }
                if configuration.appCheck.auth != .off {
                    report("\"enforce.auth\" \(reason)", at: node.memberOffset("enforce"))
                }
            }
        }
        if let alerts = object["alerts"] { configuration.alerts = self.alerts(alerts) }
        if let releases = object["releases"] { configuration.releases = self.releases(releases) }
        if let logs = object["logs"] { configuration.logs = self.logs(logs) }
        if let params = object["params"] { configuration.params = self.params(params) }
        configuration.secrets = object["secrets"].flatMap { readableFile($0) }
        return configuration
    }

    /// Whether a file that is named must be there.
    var needsFiles: Bool { isSelected && checksFiles }

    /// Reads the path of a file that must exist and be readable.
    mutating func readableFile(_ node: JSONNode) -> String? {
        guard let path = path(node) else { return nil }
        let file = ConfigurationFile.resolve(path, in: directory)
        if needsFiles, !ConfigurationFile.isReadable(file) {
            report("the file \(path) does not exist or can't be read; create it, or remove the key", at: node.offset)
        }
        return file
    }

    /// Reads the path of a directory that must exist.
    mutating func readableDirectory(_ node: JSONNode) -> String? {
        guard let path = path(node) else { return nil }
        let directory = ConfigurationFile.resolve(path, in: self.directory)
        if needsFiles, !ConfigurationFile.isDirectory(directory) {
            report("there is no directory \(path); create it, or remove the key", at: node.offset)
        }
        return directory
    }

    private mutating func projectID(_ node: JSONNode, mode: HostConfiguration.Mode) -> String? {
        guard let project = string(node) else { return nil }
        guard ProjectID.isValid(project) else {
            report("\(node.summary) is not a project ID; \(ProjectID.description), such as demo-shop", at: node.offset)
            return nil
        }
        if mode == .production, project.hasPrefix("demo-") {
            report(
                "\"\(project)\" is a demo project, which doesn't exist in Firebase; production needs the ID of "
                    + "your Firebase project",
                at: node.offset)
        }
        return project
    }
}

extension ConfigurationPlaces.Place {
    init(_ position: JSONPosition) { self.init(line: position.line, column: position.column) }
}
