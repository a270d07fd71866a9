/// The results of one benchmark.
struct Section: Sendable {
    var title: String
    /// What the references are, and what else a reader must know.
    var notes: [String] = []
    private(set) var rows: [Row] = []
    private var errors: [String] = []

    init(_ title: String, notes: [String] = []) {
        self.title = title
        self.notes = notes
    }

    /// Errors make a benchmark void: it didn't measure what it claims to.
    var isVoid: Bool { !errors.isEmpty }

    mutating func add(_ row: Row) { rows.append(row) }

    /// Notes the errors of a load, if there are any.
    mutating func check(_ report: LoadReport, _ what: String) {
        guard report.errors > 0 || report.operations == 0 else { return }
        errors.append(
            "\(what): \(report.errors) errors in \(report.operations) operations: \(report.firstError ?? "-")")
    }

    mutating func fail(_ reason: String) { errors.append(reason) }

    /// Adds the rate, CPU and latencies of a load, beside those of a reference.
    mutating func add(
        _ what: String, _ ours: LoadReport, beside reference: LoadReport?, rate: Row.Aim? = nil, cpu: Row.Aim? = nil
    ) {
        check(ours, what)
        if let reference { check(reference, what + ", reference") }
        add(
            Row(
                "\(what): rate", .perSecond(ours.perSecond), beside: reference.map { .perSecond($0.perSecond) },
                aim: rate))
        add(
            Row(
                "\(what): CPU each", .microseconds(ours.cpuPerOperation),
                beside: reference.map { .microseconds($0.cpuPerOperation) }, aim: cpu))
        for (name, part) in [("p50", 0.5), ("p99", 0.99)] {
            add(
                Row(
                    "\(what): \(name)", .milliseconds(ours.percentile(part)),
                    beside: reference.map { .milliseconds($0.percentile(part)) }))
        }
    }

    /// The section as a plain-text table.
    var text: String {
        let header = ["what", "ours", "reference", "ratio", "aim", ""]
        let lines = [header] + rows.map { $0.cells(isVoid: isVoid) }
        let widths = header.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        var text = "\n\(title)\n"
        for note in notes { text += "  (\(note))\n" }
        for line in lines {
            let cells = zip(line, widths).enumerated().map { column, cell in
                let padding = String(repeating: " ", count: cell.1 - cell.0.count)
                return column == 0 || column == 5 ? cell.0 + padding : padding + cell.0
            }
            text += "  " + cells.joined(separator: "  ") + "\n"
        }
        for error in errors { text += "  VOID: \(error)\n" }
        return text
    }
}
