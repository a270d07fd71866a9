import Foundation
import Testing

/// The versions that Docs/recipes.md names for authors' packages are those of Package.swift.
@Suite struct VersionsTableTests {
    @Test func theTableHasEachDependencyWithItsVersion() throws {
        let root = try PackageGraph.package.get().root
        let package = try String(contentsOf: root.appendingPathComponent("Package.swift"), encoding: .utf8)
        let page = try String(contentsOf: root.appendingPathComponent("Docs/recipes.md"), encoding: .utf8)
        let expected = package.matches(of: /\.package\(url: "[^"]*\/([^"\/]+)", from: "((\d+)[^"]*)"\)/).map { match in
            "| \(match.1) | \(match.2) | \((Int(match.3) ?? 0) + 1).0.0 |"
        }
        try #require(expected.count > 8)
        let table = page.components(separatedBy: "\n## Versions\n").last?.split(separator: "\n")
            .filter { $0.hasPrefix("| ") && !$0.hasPrefix("| package") }.map(String.init)
        #expect(table == expected)
    }
}
