/// All problems of one configuration file, in the order of its lines.
///
/// The description has one line for each problem: `functions.json:12:7: functions.purchase.memory: "1Gb" is not a
/// memory size; …`.
package struct ConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    package var file: String
    package private(set) var problems: [Problem]

    package init(file: String, problems: [Problem]) {
        self.file = file
        self.problems = problems.sorted {
            ($0.place ?? Self.start, $0.key, $0.message) < ($1.place ?? Self.start, $1.key, $1.message)
        }
    }

    package struct Problem: Hashable, Sendable {
        /// Nil if the problem concerns the whole file, such as one that can't be read.
        package var place: ConfigurationPlaces.Place?
        /// The dotted key; empty if the problem concerns no key.
        package var key: String
        package var message: String

        package init(place: ConfigurationPlaces.Place?, key: String, message: String) {
            self.place = place
            self.key = key
            self.message = message
        }
    }

    package var description: String {
        problems.map { problem in
            let place = problem.place.map { ":\($0.line):\($0.column)" } ?? ""
            let key = problem.key.isEmpty ? "" : "\(problem.key): "
            return "\(file)\(place): \(key)\(problem.message)"
        }.joined(separator: "\n")
    }

    private static let start = ConfigurationPlaces.Place(line: 0, column: 0)
}
