import StorageEngine
import StrictJSON
import Workers

extension ConfigurationReader {
    mutating func listen(_ node: JSONNode) -> HostConfiguration.Listen {
        var listen = HostConfiguration.Listen()
        guard let object = object(node, key: "listen", known: ConfigurationKeys.listen) else { return listen }
        if let node = object["host"], let host = string(node) {
            if ConfigurationFile.isAddress(host) {
                listen.host = host
            } else {
                report(
                    "\(node.summary) is not an address; write 127.0.0.1 for this machine only or 0.0.0.0 for all",
                    at: node.offset)
            }
        }
        if let node = object["trustedProxies"] { listen.trustedProxies = trustedProxies(node) }
        if let node = object["hosts"] { listen.hosts = hosts(node) }
        if let node = object["tls"] { listen.tls = tls(node) }
        let ports: [(String, WritableKeyPath<HostConfiguration.Listen, Int>)] = [
            ("functions", \.functions), ("firestore", \.firestore), ("database", \.database),
            ("auth", \.auth), ("events", \.events),
        ]
        for (key, field) in ports {
            if let node = object[key], let port = integer(node, 0...65535, "a port") { listen[keyPath: field] = port }
        }
        for (index, (key, field)) in ports.enumerated() where listen[keyPath: field] != 0 {
            for (other, otherField) in ports[..<index] where listen[keyPath: otherField] == listen[keyPath: field] {
                let culprit = object[key] ?? object[other] ?? node
                let taken = object[key] == nil ? key : other
                report(
                    "\(listen[keyPath: field]) is also the port of \"\(taken)\"; choose different ports, or 0 "
                        + "for any free port",
                    at: culprit.offset)
            }
        }
        return listen
    }

    private mutating func tls(_ node: JSONNode) -> HostConfiguration.TLS? {
        guard let object = object(node, key: "listen.tls", known: ConfigurationKeys.tls) else { return nil }
        for key in ConfigurationKeys.tls where object[key] == nil {
            report("\"\(key)\" is missing; write the path of a file in PEM", at: node.offset)
        }
        guard let certificate = object["certificate"].flatMap({ readableFile($0) }),
            let key = object["key"].flatMap({ readableFile($0) })
        else { return nil }
        return HostConfiguration.TLS(certificate: certificate, key: key)
    }

    mutating func store(_ node: JSONNode) -> HostConfiguration.Store {
        var store = HostConfiguration.Store()
        guard let object = object(node, key: "store", known: ConfigurationKeys.store) else { return store }
        if let engine = object["engine"].flatMap({ choice($0, EmbeddedEngineKind.self) }) {
            store.engine = engine
        }
        if let node = object["historySeconds"], let seconds = integer(node, 60...604_800, "a time in seconds") {
            store.historySeconds = seconds
        }
        if let node = object["historyMiB"], let size = integer(node, 16...1_048_576, "a size in MiB") {
            store.historyMiB = size
        }
        return store
    }

    mutating func bundles(_ node: JSONNode) -> [HostConfiguration.Bundle] {
        guard case .array(let elements) = node.kind else {
            report(
                "\(node.summary) is not a list of bundles; "
                    + "write [ { \"name\": …, \"product\": … } ]", at: node.offset)
            return []
        }
        var bundles: [HostConfiguration.Bundle] = []
        for (index, element) in elements.enumerated() {
            guard let object = object(element, key: "bundles[\(index)]", known: ConfigurationKeys.bundle) else {
                continue
            }
            guard let nameNode = object["name"] else {
                report("\"name\" is missing; write the bundle's name", at: element.offset)
                continue
            }
            guard let name = name(nameNode), let source = source(object, of: element) else { continue }
            if bundles.contains(where: { $0.name == name }) {
                report("another bundle has the name \"\(name)\"; names must be unique", at: nameNode.offset)
            }
            bundles.append(.init(name: name, source: source))
        }
        return bundles
    }

    private mutating func source(_ object: [String: JSONNode], of bundle: JSONNode)
        -> HostConfiguration.Bundle.Source?
    {
        switch (object["product"], object["executable"]) {
        case (let product?, nil):
            guard let name = string(product) else { return nil }
            guard !name.isEmpty else {
                report("the name of a product must not be empty", at: product.offset)
                return nil
            }
            return .product(name, package: directory)
        case (nil, let executable?):
            guard let path = path(executable) else { return nil }
            let file = ConfigurationFile.resolve(path, in: directory)
            if needsFiles, !ConfigurationFile.isExecutable(file) {
                report("there is no executable file \(path)", at: executable.offset)
            }
            return .executable(file)
        case (nil, nil):
            report(
                "write \"product\" with the name of a Swift package's product, or \"executable\" with the path "
                    + "of a file",
                at: bundle.offset)
        case (_?, let executable?):
            report("\"product\" and \"executable\" exclude each other; keep one", at: executable.offset)
        }
        return nil
    }

    mutating func functions(_ node: JSONNode) -> [String: HostConfiguration.FunctionOverrides] {
        guard case .object(let members) = node.kind else {
            report("\(node.summary) is not an object of functions", at: node.offset)
            return [:]
        }
        var functions: [String: HostConfiguration.FunctionOverrides] = [:]
        for member in members {
            note("functions.\(member.key)", member.offset)
            guard Self.isName(member.key) else {
                report(
                    "\"\(member.key)\" is not a function name; use letters, digits, _ and -, begin with a "
                        + "letter, and use at most 63 characters", at: member.offset)
                continue
            }
            functions[member.key] = overrides(member.value, key: "functions.\(member.key)")
        }
        return functions
    }

    private mutating func overrides(_ node: JSONNode, key: String) -> HostConfiguration.FunctionOverrides {
        var overrides = HostConfiguration.FunctionOverrides()
        guard let object = object(node, key: key, known: ConfigurationKeys.function) else { return overrides }
        if let node = object["region"], let region = string(node) {
            let isValid =
                !region.isEmpty && region.utf8.count <= 63
                && region.utf8.allSatisfy {
                    (97...122).contains($0) || (48...57).contains($0) || $0 == UInt8(ascii: "-")
                }
            if isValid {
                overrides.region = region
            } else {
                report("\(node.summary) is not a region; write one such as us-central1", at: node.offset)
            }
        }
        if let node = object["memory"] {
            if case .string(let text) = node.kind, let size = MemorySize(text) {
                overrides.memory = size
            } else {
                report(
                    "\(node.summary) is not a memory size; write 128MiB, 256MiB, 512MiB, 1GiB, 2GiB, 4GiB, 8GiB, 16GiB "
                        + "or 32GiB", at: node.offset)
            }
        }
        overrides.timeout = object["timeout"].flatMap { integer($0, 1...3600, "a timeout in seconds") }
        overrides.minInstances = object["minInstances"].flatMap { integer($0, 0...1000, "a number of instances") }
        overrides.maxInstances = object["maxInstances"].flatMap { integer($0, 1...1000, "a number of instances") }
        overrides.concurrency = object["concurrency"].flatMap { integer($0, 1...1000, "a number of invocations") }
        overrides.cpu = object["cpu"].flatMap { integer($0, 1...8, "a number of processors") }
        overrides.budget = object["budget"].flatMap { budget($0, key: "\(key).budget") }
        overrides.callerLimits = object["callerLimits"].flatMap { callerLimits($0, key: "\(key).callerLimits") }
        if let least = overrides.minInstances, let most = overrides.maxInstances, least > most,
            let node = object["minInstances"]
        {
            report("\(least) is more than maxInstances, \(most)", at: node.offset)
        }
        return overrides
    }

    mutating func limits(_ node: JSONNode) -> HostLimits {
        var limits = HostLimits()
        guard let object = object(node, key: "limits", known: ConfigurationKeys.limits) else { return limits }
        if let node = object["requestBody"], let bytes = byteCount(node, most: 10) { limits.requestBody = bytes }
        if let node = object["responseBody"], let bytes = byteCount(node, most: 32) { limits.responseBody = bytes }
        let memory = "the size of a memory"
        if let node = object["allBodies"], let bytes = byteCount(node, memory, 32 << 20...65_536 << 20) {
            limits.allBodies = bytes
        }
        if let node = object["allAnswers"], let bytes = byteCount(node, memory, 96 << 20...65_536 << 20) {
            limits.allAnswers = bytes
        }
        operationBytes(object, &limits)
        if let node = object["cgroups"], let choice = choice(node, HostLimits.Cgroups.self) {
            limits.cgroups = choice
        }
        let numbers: [(String, WritableKeyPath<HostLimits, Int>, ClosedRange<Int>, String)] = [
            ("queue", \.queue, 1...1_000_000, "a number of invocations"),
            ("connections", \.connections, 1...1_000_000, "a number of connections"),
            ("shutdownGrace", \.shutdownGrace, 0...3600, "a time in seconds"),
            ("eventDepth", \.eventDepth, 1...1000, "a number of events"),
            ("transferSeconds", \.transferSeconds, 1...3600, "a time in seconds"),
            ("openFiles", \.openFiles, 64...1_000_000, "a number of files"),
            ("processes", \.processes, 1...10_000, "a number of processes"),
            ("queryEntries", \.queryEntries, 1000...1_000_000_000, "a number of index entries"),
            ("queryDocuments", \.queryDocuments, 1000...1_000_000_000, "a number of documents"),
            ("querySeconds", \.querySeconds, 1...3600, "a time in seconds"),
            ("commitChanges", \.commitChanges, 1000...1_000_000_000, "a number of documents and index entries"),
        ]
        for (key, field, range, what) in numbers {
            if let node = object[key], let value = integer(node, range, what) { limits[keyPath: field] = value }
        }
        return limits
    }

    private mutating func operationBytes(_ object: [String: JSONNode], _ limits: inout HostLimits) {
        let sizes: [(String, WritableKeyPath<HostLimits, Int>, ClosedRange<Int>)] = [
            ("workerOperations", \.workerBytes, 32 << 20...1 << 30),
            ("allOperations", \.allWorkersBytes, 64 << 20...1 << 34),
        ]
        for (key, field, range) in sizes {
            if let node = object[key], let bytes = byteCount(node, "an amount of memory", range) {
                limits[keyPath: field] = bytes
            }
        }
        if limits.allWorkersBytes < 2 * limits.workerBytes,
            let node = object["allOperations"] ?? object["workerOperations"]
        {
            report(
                "all workers together have \(limits.allWorkersBytes >> 20)MiB, less than twice what one worker has, "
                    + "\(limits.workerBytes >> 20)MiB", at: node.offset)
        }
    }

    mutating func releases(_ node: JSONNode) -> HostConfiguration.Releases {
        var releases = HostConfiguration.Releases()
        guard let object = object(node, key: "releases", known: ConfigurationKeys.releases) else { return releases }
        if let node = object["keep"], let count = integer(node, 2...1000, "a number of releases") {
            releases.keep = count
        }
        return releases
    }

    mutating func logs(_ node: JSONNode) -> HostConfiguration.Logs {
        var logs = HostConfiguration.Logs()
        guard let object = object(node, key: "logs", known: ConfigurationKeys.logs) else { return logs }
        if let node = object["calls"], let value = boolean(node) { logs.calls = value }
        if let node = object["level"], let level = choice(node, HostConfiguration.Logs.Level.self) {
            logs.level = level
        }
        if let node = object["days"], let count = integer(node, 1...3650, "a number of days") { logs.days = count }
        if let node = object["mebibytes"], let count = integer(node, 1...1_048_576, "a number of MiB") {
            logs.mebibytes = count
        }
        return logs
    }
}
