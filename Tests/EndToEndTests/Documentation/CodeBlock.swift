import Foundation

/// A block of Swift code in a page of Docs, as a file that the compiler checks. Errors name the page and its line.
struct CodeBlock {
    let page: String
    /// Of the first line of code.
    let line: Int
    let lines: [String]

    /// The blocks of a page.
    static func all(in page: String, _ text: String) -> [CodeBlock] {
        var blocks: [CodeBlock] = []
        var open: (line: Int, lines: [String])?
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init).enumerated()
        {
            if let block = open {
                if line == "```" {
                    blocks.append(CodeBlock(page: page, line: block.line, lines: block.lines))
                    open = nil
                } else {
                    open = (block.line, block.lines + [line])
                }
            } else if line == "```swift" {
                open = (index + 2, [])
            }
        }
        return blocks
    }

    enum Kind {
        /// Whole files of a bundle or of its tests.
        case file
        /// Targets of a Package.swift.
        case package
        /// A whole Package.swift.
        case manifest
        /// Functions, declarations and statements of handlers.
        case fragment
    }

    var kind: Kind {
        if lines.first?.hasPrefix("// swift-tools-version") == true { return .manifest }
        if lines.contains(where: { $0.hasPrefix("@main") || $0.hasPrefix("import ") || $0.hasPrefix("@testable") }) {
            return .file
        }
        return lines.first?.hasPrefix(".") == true ? .package : .fragment
    }

    /// The module that a test of a bundle imports: its code is in an earlier block.
    var testedModule: String? {
        lines.compactMap { $0.firstMatch(of: /^@testable import (\w+)/).map { String($0.1) } }.first
    }

    /// The whole block, with what is left out (`…`) replaced by code that compiles.
    var file: String {
        let code = lines.enumerated().map { index, line in
            let left = line.hasPrefix("@testable") || line == "@main" ? "" : Self.completed(line)
            // An import after #sourceLocation is fine, and keeps its line.
            return (index == 0 ? location(index) + "\n" : "") + left
        }
        return code.joined(separator: "\n") + "\n"
    }

    /// The block as the body of a function: its declarations come first, and functions are listed as a bundle's.
    ///
    /// - Parameter number: unique in the module.
    func fragment(_ number: Int) -> String {
        var (declarations, functions, statements) = ("", "", "")
        for (index, chunk) in chunks {
            let code = location(index) + "\n" + chunk.map(Self.completed).joined(separator: "\n") + "\n"
            switch chunk[0].prefix(while: \.isLetter) {
            case "struct", "enum", "actor": declarations += code
            case "var":
                declarations += "enum Bundle\(index) {\n" + code.replacing("\nvar ", with: "\nstatic var ") + "}\n"
            case let word where word.hasPrefix("on") && word.dropFirst(2).first?.isUppercase == true: functions += code
            default: statements += code
            }
        }
        return """
            private func block\(number)() async throws {
            \(declarations)
            @FunctionsBuilder var functions: [Function] {
            \(functions)
            }
            func statements() async throws {
            \(statements)
            }
            }

            """
    }

    /// The pieces of the block that stand at its left edge, each with the index of its first line.
    private var chunks: [(index: Int, lines: [String])] {
        var chunks: [(index: Int, lines: [String])] = []
        var depth = 0
        for (index, line) in lines.enumerated() {
            if depth == 0, !line.hasPrefix(" "), !line.hasPrefix("}"), !line.isEmpty { chunks.append((index, [])) }
            guard !chunks.isEmpty else { continue }
            chunks[chunks.count - 1].lines.append(line)
            for character in line.prefix(upTo: line.firstRange(of: " // ")?.lowerBound ?? line.endIndex) {
                if "{[(".contains(character) { depth += 1 }
                if "}])".contains(character) { depth -= 1 }
            }
        }
        return chunks
    }

    private static func completed(_ line: String) -> String {
        guard let place = line.firstRange(of: "…") else { return line }
        let isText = line[..<place.lowerBound].count { $0 == "\"" } % 2 == 1
        return isText || line[..<place.lowerBound].contains(" // ")
            ? line : line.replacing("…", with: "fatalError()")
    }

    private func location(_ index: Int) -> String { "#sourceLocation(file: \"\(page)\", line: \(line + index))" }
}
