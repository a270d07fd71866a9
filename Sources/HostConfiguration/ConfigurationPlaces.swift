/// The line and column of each key in a configuration file.
package struct ConfigurationPlaces: Hashable, Sendable {
    /// The file's path as the operator gave it.
    package var file: String
    var byKey: [String: Place]

    package init(file: String, byKey: [String: Place] = [:]) {
        self.file = file
        self.byKey = byKey
    }

    /// Line and column, both from 1. Columns count UTF-8 bytes.
    package struct Place: Hashable, Comparable, Sendable {
        package var line: Int
        package var column: Int

        package init(line: Int, column: Int) {
            self.line = line
            self.column = column
        }

        package static func < (a: Place, b: Place) -> Bool { (a.line, a.column) < (b.line, b.column) }
    }

    /// The place of a dotted key such as `functions.purchase.memory`, or of its nearest parent in the file if the file
    /// doesn't have the key itself.
    package subscript(_ key: String) -> Place? {
        var key = Substring(key)
        while true {
            if let place = byKey[String(key)] { return place }
            guard let end = key.lastIndex(where: { $0 == "." || $0 == "[" }) else { return nil }
            key = key[..<end]
        }
    }
}
