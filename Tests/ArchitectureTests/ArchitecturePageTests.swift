import Foundation
import Testing

/// Docs/architecture.md matches the package's targets and files.
@Suite struct ArchitecturePageTests {
    @Test func theDocumentedGraphIsThatOfThePackage() throws {
        let graph = try PackageGraph.package.get()
        let drawn = try block("targets", in: "Docs/architecture.md")
        let expected = graph.sources.map { target in
            target.targets.isEmpty ? target.name : "\(target.name) → \(target.targets.joined(separator: ", "))"
        }
        #expect(drawn == expected)
    }

    /// Each line of a flow begins with a file's path below Sources.
    @Test(arguments: ["call", "change"]) func eachFileOfAFlowExists(flow: String) throws {
        let graph = try PackageGraph.package.get()
        let lines = try block(flow, in: "Docs/architecture.md")
        try #require(lines.count > 10)
        for line in lines {
            let file = String(line.prefix { $0 != " " })
            #expect(
                FileManager.default.fileExists(atPath: graph.root.appendingPathComponent("Sources/" + file).path),
                "\(line)")
        }
        let files = lines.map { $0.prefix { $0 != " " } }
        #expect(Set(files).count == files.count, "the flow visits a file twice")
    }

    private func block(_ name: String, in page: String) throws -> [String] {
        let graph = try PackageGraph.package.get()
        let text = try String(contentsOf: graph.root.appendingPathComponent(page), encoding: .utf8)
        let parts = text.components(separatedBy: "\n```\(name)\n")
        try #require(parts.count == 2, "\(page) has no block ```\(name)")
        return parts[1].components(separatedBy: "\n```")[0].components(separatedBy: "\n").filter { !$0.isEmpty }
    }
}
