/// Where a configuration's keys stand in their file.
package struct ConfigurationPlaces: Hashable, Sendable {
    /// The file as it was named to the host.
    package var file: String
    var byKey: [String: Place]

    package init(file: String, byKey: [String: Place] = [:]) {
        self.file = file
        self.byKey = byKey
    }

    /// Line and column, both counted from 1; columns count characters' UTF-8 bytes.
    package struct Place: Hashable, Comparable, Sendable {
        package var line: Int
        package var column: Int

        package init(line: Int, column: Int) {
            self.line = line
            self.column = column
        }

        package static func < (a: Place, b: Place) -> Bool { (a.line, a.column) < (b.line, b.column) }
    }

    /// Of a dotted key such as `functions.purchase.memory`; of the nearest key above it where the file lacks this one.
    package subscript(_ key: String) -> Place? {
        var key = Substring(key)
        while true {
            if let place = byKey[String(key)] { return place }
            guard let end = key.lastIndex(where: { $0 == "." || $0 == "[" }) else { return nil }
            key = key[..<end]
        }
    }
}
