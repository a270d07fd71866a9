/// One metric in Prometheus' text format: its head, and then its samples.
package struct MetricFamily {
    private let name: String
    package private(set) var text: String

    package init(_ name: String, _ type: String, _ help: String) {
        self.name = name
        text = "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
    }

    /// The text of a metric with one sample, which has no labels.
    package static func single(_ name: String, _ type: String, _ help: String, _ value: some Numeric) -> String {
        var family = MetricFamily(name, type, help)
        family.sample([:], value)
        return family.text
    }

    package mutating func sample(_ labels: KeyValuePairs<String, String>, _ value: some Numeric) {
        let list = Self.list(labels)
        text += name + (list.isEmpty ? "" : "{\(list)}") + " \(value)\n"
    }

    package mutating func samples(_ labels: KeyValuePairs<String, String>, _ histogram: LatencyHistogram) {
        text += histogram.samples(name, Self.list(labels))
    }

    private static func list(_ labels: KeyValuePairs<String, String>) -> String {
        labels.map { "\($0)=\"\(escaped($1))\"" }.joined(separator: ",")
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
