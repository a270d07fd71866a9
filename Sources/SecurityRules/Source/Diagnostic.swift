/// What is wrong with a rules file, or doubtful, and where.
package struct Diagnostic: Hashable, Sendable, CustomStringConvertible {
    package enum Severity: String, Sendable {
        /// The file can't be used.
        case error
        case warning
    }

    package let severity: Severity
    package let position: SourcePosition
    package let message: String

    /// `12:5: error: …`
    package var description: String { "\(position): \(severity.rawValue): \(message)" }
}

/// Collects what is found in a file.
struct Diagnostics {
    /// More errors than this are mostly consequences of the first.
    private static let maxErrors = 100

    let source: SourceText
    private(set) var all: [Diagnostic] = []
    private(set) var errors = 0

    init(_ source: SourceText) { self.source = source }

    /// Whether further errors are only counted.
    var isFull: Bool { errors >= Self.maxErrors }

    mutating func error(_ offset: Int, _ message: String) {
        errors += 1
        guard errors <= Self.maxErrors else { return }
        all.append(Diagnostic(severity: .error, position: source.position(of: offset), message: message))
    }

    mutating func warning(_ offset: Int, _ message: String) {
        guard all.count < 2 * Self.maxErrors else { return }
        all.append(Diagnostic(severity: .warning, position: source.position(of: offset), message: message))
    }
}

/// The rules of a file that can't be used.
package struct InvalidRules: Error, CustomStringConvertible {
    /// In the order of their places.
    package let diagnostics: [Diagnostic]

    package var description: String { diagnostics.map(\.description).joined(separator: "\n") }
}
