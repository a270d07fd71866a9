import Foundation

/// The targets of Package.swift in their order, parsed from its text.
struct PackageGraph {
    struct Target {
        var name: String
        /// `target`, `executableTarget`, `testTarget` or `systemLibrary`.
        var kind: String
        /// The path of its folder in the package.
        var path: String
        /// The targets of this package that it depends on.
        var targets: [String]
        /// The products of other packages that it depends on.
        var products: [String]
    }

    /// The package's directory.
    let root: URL
    let targets: [Target]

    static let package = Result { try PackageGraph() }

    init() throws {
        root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appendingPathComponent("Package.swift"), encoding: .utf8)
        let declarations = text.split(separator: "targets: [\n", maxSplits: 1).last.map(String.init) ?? ""
        let start = /\n? *\.(target|executableTarget|testTarget|systemLibrary)\(/
        var targets: [Target] = []
        var rest = Substring(declarations)
        while let match = rest.firstMatch(of: start) {
            let body = rest[match.range.upperBound...]
            let end = body.firstMatch(of: start)?.range.lowerBound ?? body.endIndex
            let declaration = body[..<end].split(separator: "\n").filter { !$0.contains(/^ *\/\//) }
                .joined(separator: "\n")
            rest = body[end...]
            guard let name = declaration.firstMatch(of: /name: "([^"]+)"/)?.1 else { continue }
            let kind = String(match.1)
            let list = declaration.firstMatch(of: /(?s)dependencies: \[(.*?)\](?:,|\))/)?.1 ?? ""
            let products = list.matches(of: /\.product\(name: "([^"]+)"/).map { String($0.1) }
            let own = list.replacing(/\.product\([^)]*\)/, with: "").matches(of: /"([^"]+)"/).map { String($0.1) }
            let path = declaration.firstMatch(of: /path: "([^"]+)"/).map { String($0.1) }
            targets.append(
                Target(
                    name: String(name), kind: kind,
                    path: path ?? (kind == "testTarget" ? "Tests/" : "Sources/") + name, targets: own,
                    products: products))
        }
        self.targets = targets
    }

    /// The targets in Sources.
    var sources: [Target] { targets.filter { $0.path.hasPrefix("Sources/") } }

    subscript(_ name: String) -> Target? { targets.first { $0.name == name } }

    /// A target's transitive dependencies: targets of this package and products of others.
    func closure(of name: String) -> (targets: Set<String>, products: Set<String>) {
        var found: Set<String> = []
        var products: Set<String> = []
        var open = [name]
        while let next = open.popLast() {
            guard let target = self[next] else { continue }
            products.formUnion(target.products)
            open += target.targets.filter { found.insert($0).inserted }
        }
        return (found, products)
    }

    /// The modules that a target's files import, each with one importing file. Imports precede all other code. An import
    /// in an `#else` branch, such as Foundation instead of FoundationEssentials, doesn't count.
    func imports(of target: Target) throws -> [String: String] {
        var imports: [String: String] = [:]
        for file in try swiftFiles(of: target) {
            var isFallback = false
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
                let words = line.split(separator: " ")
                guard let first = words.first, !first.hasPrefix("//") else { continue }
                if first.hasPrefix("#") {
                    isFallback = first == "#else"
                } else if let at = words.prefix(3).firstIndex(of: "import"), at + 1 < words.count {
                    if !isFallback { imports[String(words[words.count - 1])] = file.lastPathComponent }
                } else {
                    break
                }
            }
        }
        return imports
    }

    func swiftFiles(of target: Target) throws -> [URL] {
        let folder = root.appendingPathComponent(target.path)
        return try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
            .map { folder.appendingPathComponent($0) }
    }
}
