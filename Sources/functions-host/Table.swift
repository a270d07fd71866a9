/// Formats a table for people.
enum Table {
    static func lines(_ rows: [[String]]) -> [String] {
        let rows = rows.map { $0.map(printable) }
        let widths = rows.reduce(into: [Int](repeating: 0, count: rows.first?.count ?? 0)) { widths, row in
            for (index, text) in row.enumerated() { widths[index] = max(widths[index], text.count) }
        }
        return rows.map { row in
            var line = ""
            for (index, text) in row.enumerated() where !row[index...].allSatisfy(\.isEmpty) {
                if index > 0 { line += "  " }
                line += text
                let isLast = row[(index + 1)...].allSatisfy(\.isEmpty)
                if !isLast { line += String(repeating: " ", count: widths[index] - text.count) }
            }
            return line
        }
    }

    /// Removes control characters, so that text from functions or clients stays on its line and can't control the
    /// terminal.
    static func printable(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) ? " " : $0 }))
    }
}
