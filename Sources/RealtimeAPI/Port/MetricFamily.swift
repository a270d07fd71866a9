/// One metric of the databases in Prometheus' text format.
struct MetricFamily {
    private let name: String
    private(set) var text: String

    init(_ name: String, _ type: String, _ help: String) {
        self.name = "functions_database_" + name
        text = "# HELP \(self.name) \(help)\n# TYPE \(self.name) \(type)\n"
    }

    mutating func sample(_ labels: KeyValuePairs<String, String>, _ value: some Numeric) {
        let list = labels.map { "\($0)=\"\(Self.escaped($1))\"" }.joined(separator: ",")
        text += name + (list.isEmpty ? "" : "{\(list)}") + " \(value)\n"
    }

    private static func escaped(_ value: String) -> String {
        var escaped = String.UnicodeScalarView()
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\", "\"": escaped.append(contentsOf: ["\\", scalar])
            case "\n": escaped.append(contentsOf: ["\\", "n"])
            default: escaped.append(scalar)
            }
        }
        return String(escaped)
    }
}
