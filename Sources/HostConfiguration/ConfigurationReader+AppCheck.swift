import StrictJSON

extension ConfigurationReader {
    mutating func appCheck(_ node: JSONNode) -> HostConfiguration.AppCheck {
        var appCheck = HostConfiguration.AppCheck()
        guard let object = object(node, key: "appCheck", known: ConfigurationKeys.appCheck) else { return appCheck }
        if let node = object["apps"] { appCheck.apps = apps(node) }
        if let node = object["enforce"],
            let services = self.object(node, key: "appCheck.enforce", known: ConfigurationKeys.appCheckServices)
        {
            let modes: [(String, WritableKeyPath<HostConfiguration.AppCheck, HostConfiguration.AppCheck.Mode>)] = [
                ("functions", \.functions), ("firestore", \.firestore), ("database", \.database), ("auth", \.auth),
            ]
            for (name, field) in modes {
                if let mode = services[name].flatMap({ choice($0, HostConfiguration.AppCheck.Mode.self) }) {
                    appCheck[keyPath: field] = mode
                }
            }
        }
        return appCheck
    }

    private mutating func apps(_ node: JSONNode) -> [HostConfiguration.AppCheck.App] {
        guard case .object(let members) = node.kind else {
            report(
                "\(node.summary) is not an object of apps; write { \"1:1234567890:web:0a1b2c\": { … } }",
                at: node.offset)
            return []
        }
        return members.compactMap { member in
            note("appCheck.apps.\(member.key)", member.offset)
            let isID = member.key.utf8.allSatisfy {
                (48...57).contains($0) || (97...122).contains($0 | 0x20) || $0 == UInt8(ascii: ":")
            }
            if !isID || !(1...128).contains(member.key.utf8.count) {
                report(
                    "\"\(member.key)\" is not an app's id, such as 1:1234567890:web:0a1b2c; it is in the app's Firebase "
                        + "configuration", at: member.offset)
            }
            return app(member.key, member.value)
        }
    }

    private mutating func app(_ id: String, _ node: JSONNode) -> HostConfiguration.AppCheck.App? {
        guard let object = object(node, key: "appCheck.apps.\(id)", known: ConfigurationKeys.appCheckApp) else {
            return nil
        }
        var app = HostConfiguration.AppCheck.App(id: id)
        if let node = object["debugTokens"] {
            for element in list(node, "names of secrets") ?? [] {
                guard let name = string(element) else { continue }
                let isName =
                    name.utf8.allSatisfy {
                        (65...90).contains($0) || (48...57).contains($0) || $0 == UInt8(ascii: "_")
                    } && name.utf8.first.map { !(48...57).contains($0) } == true
                guard isName else {
                    report(
                        "\(element.summary) is not the name of a secret, such as WEB_DEBUG_TOKEN; the debug token itself "
                            + "is written in .secrets, WEB_DEBUG_TOKEN=…", at: element.offset)
                    continue
                }
                app.debugTokens.append(name)
            }
        }
        if let node = object["ttlSeconds"], let seconds = integer(node, 1800...604_800, "a number of seconds") {
            app.ttlSeconds = seconds
        }
        return app
    }
}
