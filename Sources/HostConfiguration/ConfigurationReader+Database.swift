import StrictJSON

extension ConfigurationReader {
    mutating func database(_ node: JSONNode) -> HostConfiguration.Database {
        var database = HostConfiguration.Database()
        guard let object = object(node, key: "database", known: ConfigurationKeys.database) else { return database }
        if let node = object["namespaces"] { database.namespaces = namespaces(node) }
        let numbers: [(String, WritableKeyPath<HostConfiguration.Database, Int>, ClosedRange<Int>, String)] = [
            ("disconnectSeconds", \.disconnectSeconds, 0...3600, "a time in seconds"),
            ("listens", \.listens, 1...1_000_000, "a number of listens"),
            ("waitingRequests", \.waitingRequests, 1...1_000_000, "a number of requests"),
            ("unindexedNodes", \.unindexedNodes, 1000...1_000_000_000, "a number of nodes"),
        ]
        for (key, field, range, what) in numbers {
            if let node = object[key], let value = integer(node, range, what) { database[keyPath: field] = value }
        }
        let sizes: [(String, WritableKeyPath<HostConfiguration.Database, Int>, ClosedRange<Int>)] = [
            ("unreadPushes", \.unreadPushes, 64 << 10...1 << 30), ("message", \.message, 64 << 10...256 << 20),
            ("listenMemory", \.listenMemory, 16 << 20...65_536 << 20),
        ]
        for (key, field, range) in sizes {
            if let node = object[key], let bytes = byteCount(node, "an amount of memory", range) {
                database[keyPath: field] = bytes
            }
        }
        return database
    }

    private mutating func namespaces(_ node: JSONNode) -> [String] {
        var namespaces: [String] = []
        for element in list(node, "namespaces") ?? [] {
            guard let name = string(element) else { continue }
            if !DatabaseNamespace.isValid(name) {
                report("\(element.summary) is not a namespace; \(DatabaseNamespace.description)", at: element.offset)
            } else if namespaces.contains(name) {
                report("the namespace \(element.summary) is written twice", at: element.offset)
            } else {
                namespaces.append(name)
            }
        }
        return namespaces
    }
}

/// The names that a database can have: they are labels of domain names.
package enum DatabaseNamespace {
    package static let description = "use 4 to 63 lowercase letters, digits and -, such as demo-shop-default-rtdb"

    package static func isValid(_ name: String) -> Bool {
        (4...63).contains(name.utf8.count) && name.first != "-" && name.last != "-"
            && name.utf8.allSatisfy { byte in
                (97...122).contains(byte) || (48...57).contains(byte) || byte == UInt8(ascii: "-")
            }
    }
}
