import DocumentModel
import HostJSON

/// Turns the text of a `functions.json` into a ``HostConfiguration``, or into all that is wrong with it.
package struct ConfigurationReader {
    let file: String
    /// Where relative paths start.
    let directory: String
    let bytes: [UInt8]
    let root: JSONNode
    /// Of the environment being read; one that is only looked through may name files that are elsewhere.
    var isSelected = true
    var problems: Set<ConfigurationError.Problem> = []
    /// What is right and can't be had on this host, which goes on without it.
    var skipped: [ConfigurationError.Problem] = []
    var places: ConfigurationPlaces

    /// - Throws: all problems at once, those of environments that aren't selected too.
    static func read(_ bytes: [UInt8], file: String, environment: String?) throws(ConfigurationError)
        -> HostConfiguration
    {
        let root: JSONNode
        do {
            root = try JSONParser.parse(bytes)
        } catch {
            let place = ConfigurationPlaces.Place(JSONPosition(of: error.offset, in: bytes))
            throw ConfigurationError(file: file, problems: [.init(place: place, key: "", message: error.message)])
        }
        var reader = ConfigurationReader(
            file: file, directory: ConfigurationFile.directory(of: file), bytes: bytes, root: root,
            places: ConfigurationPlaces(file: file))
        let configuration = reader.readEnvironments(selecting: environment)
        guard let configuration, reader.problems.isEmpty else {
            throw ConfigurationError(file: file, problems: Array(reader.problems))
        }
        return configuration
    }

    private mutating func readEnvironments(selecting environment: String?) -> HostConfiguration? {
        guard case .object(let members) = root.kind else {
            report("the file must hold an object, { … }; this is \(root.summary)", at: root.offset)
            return nil
        }
        let base = JSONNode(kind: .object(members.filter { $0.key != "environments" }), offset: root.offset)
        var overlays: [JSONNode.Member] = []
        if let environments = root["environments"] {
            if case .object(let named) = environments.kind {
                overlays = named
            } else {
                report("\(environments.summary) is no object of environments", at: environments.offset)
            }
        }
        isSelected = environment == nil
        let plain = configuration(base)
        let plainPlaces = places
        var selected = environment == nil ? plain : nil
        var selectedPlaces = plainPlaces
        for overlay in overlays {
            for key in ConfigurationKeys.fileOnly where overlay.value[key] != nil {
                report("\"\(key)\" can't stand in an environment", at: overlay.value.memberOffset(key))
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
            report("\"project\" is missing; write your Firebase project's id, or demo-… for none", at: node.offset)
        }
        var configuration = HostConfiguration(
            project: project ?? "", mode: mode,
            data: ConfigurationFile.resolve(object["data"].flatMap { path($0) } ?? ".functions", in: directory),
            places: places)
        if let listen = object["listen"] { configuration.listen = self.listen(listen) }
        if let store = object["store"] { configuration.store = self.store(store) }
        configuration.rules = object["rules"].flatMap { readableFile($0) }
        configuration.indexes = object["indexes"].flatMap { readableFile($0) }
        if let bundles = object["bundles"] { configuration.bundles = self.bundles(bundles) }
        if let functions = object["functions"] { configuration.functions = self.functions(functions) }
        if let limits = object["limits"] { configuration.limits = self.limits(limits) }
        if let alerts = object["alerts"] { configuration.alerts = self.alerts(alerts) }
        if let releases = object["releases"] { configuration.releases = self.releases(releases) }
        if let params = object["params"] { configuration.params = self.params(params) }
        configuration.secrets = object["secrets"].flatMap { readableFile($0) }
        return configuration
    }

    /// The path of a file that is there.
    private mutating func readableFile(_ node: JSONNode) -> String? {
        guard let path = path(node) else { return nil }
        let file = ConfigurationFile.resolve(path, in: directory)
        if isSelected, !ConfigurationFile.isReadable(file) {
            report("there is no file \(path) that can be read; write it, or take the key out", at: node.offset)
        }
        return file
    }

    private mutating func projectID(_ node: JSONNode, mode: HostConfiguration.Mode) -> String? {
        guard let project = string(node) else { return nil }
        guard ProjectID.isValid(project) else {
            report("\(node.summary) is no project id; \(ProjectID.description), such as demo-shop", at: node.offset)
            return nil
        }
        if mode == .production, project.hasPrefix("demo-") {
            report(
                "\"\(project)\" is a demo project, which is never real; production needs your Firebase project's id",
                at: node.offset)
        }
        return project
    }
}

extension ConfigurationPlaces.Place {
    init(_ position: JSONPosition) { self.init(line: position.line, column: position.column) }
}
