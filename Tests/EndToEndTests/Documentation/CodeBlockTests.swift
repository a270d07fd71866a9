import Foundation
import TestSupport
import Testing

/// Every block of Swift in the documents compiles.
@Suite struct CodeBlockTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// The pages with code, relative to the package.
    static let pages: [String] = {
        let docs = (try? FileManager.default.contentsOfDirectory(atPath: root.appending(path: "Docs").path)) ?? []
        return ["README.md", "Samples/README.md"] + docs.filter { $0.hasSuffix(".md") }.sorted().map { "Docs/" + $0 }
    }()

    @Test(.endsHangs, arguments: pages) func theCodeOfAPageCompiles(page: String) async throws {
        let text = try String(contentsOf: Self.root.appending(path: page), encoding: .utf8)
        let blocks = CodeBlock.all(in: page, text).filter { !$0.isOfAnApp }
        guard !blocks.isEmpty else { return }
        let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        func write(_ text: String, _ name: String) throws -> String {
            try Data(text.utf8).write(to: directory.appending(path: name))
            return name
        }
        var errors: [String] = []
        let fragments = blocks.filter { $0.kind == .fragment }.enumerated().map { $1.fragment($0) }.joined()
        if !fragments.isEmpty {
            let files = [
                try write(CodeBlockSetting.imports + fragments, "fragments.swift"),
                try write(CodeBlockSetting.imports + CodeBlockSetting.names, "names.swift"),
            ]
            errors += try await Compiler.errors(in: files, of: directory, Self.plugins)
        }
        for (number, block) in blocks.enumerated() where block.kind == .file {
            var files = [try write(CodeBlockSetting.imports + block.file, "file\(number).swift")]
            var declared = block.lines
            if let module = block.testedModule,
                let tested = blocks.first(where: { $0.lines.contains { $0.hasPrefix("struct \(module):") } })
            {
                files.append(try write(CodeBlockSetting.imports + tested.file, "tested\(number).swift"))
                declared += tested.lines
            }
            let names = CodeBlockSetting.fileNames.filter { name in !declared.contains { $0.hasPrefix(name.key) } }
            let text = "import FunctionsRuntime\n" + names.map { $0.key + $0.value }.joined(separator: "\n")
            files.append(try write(text, "names\(number).swift"))
            errors += try await Compiler.errors(in: files, of: directory, Self.plugins)
        }
        for (number, block) in blocks.enumerated() where [.package, .manifest].contains(block.kind) {
            let code = block.lines.joined(separator: "\n")
            let text =
                block.kind == .manifest
                // Manifests aren't compiled as a part of a library.
                ? code.replacing("\nlet ", with: "\n@MainActor let ")
                : "import PackageDescription\nfunc targets() -> [Target] {\n[\n\(code)\n]\n}\n"
            let file = try write(text, "package\(number).swift")
            errors += try await Compiler.errors(
                in: [file], of: directory,
                ["-package-description-version", "6.2", "-I", Self.toolchain + "/usr/lib/swift/pm/ManifestAPI"],
                imports: false)
        }
        #expect(errors == [])
    }

    /// The checks above would pass, too, if no block were found, or none were checked.
    @Test(.endsHangs) func aMistakeIsFoundAtItsLine() async throws {
        let page = "a\n```swift\nonCall(\"x\") { (request: CallableRequest<Int>) in\n    request.dat\n}\n```\n"
        let block = try #require(CodeBlock.all(in: "Docs/page.md", page).first)
        let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try Data((CodeBlockSetting.imports + block.fragment(0)).utf8).write(to: directory.appending(path: "a.swift"))
        let errors = try await Compiler.errors(in: ["a.swift"], of: directory, Self.plugins)
        #expect(errors.first?.hasPrefix("Docs/page.md:4:") == true, "\(errors)")
    }

    private static let toolchain: String = {
        let paths = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        let compiler = paths.map { URL(fileURLWithPath: $0 + "/swiftc") }.first {
            FileManager.default.isExecutableFile(atPath: $0.path)
        }
        let bin = compiler?.resolvingSymlinksInPath().deletingLastPathComponent()
        return bin?.deletingLastPathComponent().deletingLastPathComponent().path ?? "/"
    }()

    /// The macros of tests.
    private static let plugins: [String] = {
        #if os(Linux)
            ["-plugin-path", toolchain + "/usr/lib/swift/host/plugins"]
        #else
            []
        #endif
    }()
}

extension CodeBlock {
    /// Whether the code is of a client, which imports another SDK.
    fileprivate var isOfAnApp: Bool { lines.contains { $0.contains("useEmulator(") || $0 == "import FirebaseCore" } }
}
